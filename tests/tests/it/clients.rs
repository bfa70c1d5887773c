//! `fixtures/clients`: the lines that real clients send to steer a turn, replayed against the binary. The lines
//! to the agent come from those clients and are input; the answers are ours and pinned.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, sync_channel},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use harn_testkit::golden;
use harn_tests::{REPAIR, binary, repository_path};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Only turns a hang into a failure: no test here measures time.
const PATIENCE: Duration = Duration::from_secs(60);

const TO_AGENT: &str = "{\"to\":\"agent\",\"message\":";

#[test]
fn agent_shell() -> Result<()> {
    replay("agent-shell")
}

#[test]
fn odd_envelopes() -> Result<()> {
    replay("odd-envelopes")
}

#[test]
fn python_sdk() -> Result<()> {
    replay("python-sdk")
}

#[test]
fn rust_sdk() -> Result<()> {
    replay("rust-sdk")
}

#[test]
fn typescript_sdk() -> Result<()> {
    replay("typescript-sdk")
}

/// Sends the lines of a file one by one, each after the previous line has had its effect.
fn replay(name: &str) -> Result<()> {
    let path = repository_path("fixtures/clients").join(format!("{name}.jsonl"));
    let file = std::fs::read_to_string(&path)?;
    let mut agent = Agent::start()?;
    for line in file.lines().filter(|line| line.starts_with(TO_AGENT)) {
        agent.told.push_str(line);
        agent.told.push('\n');
        let line = line.strip_prefix(TO_AGENT).unwrap_or_default();
        agent.send(line.strip_suffix('}').context("a line is cut short")?)?;
    }
    golden::check(&path, &agent.end()?, REPAIR);
    Ok(())
}

/// The running program, and the part of the conversation that the fixture pins.
struct Agent {
    process: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
    /// Values that differ in each run (ids, folders), with the names that replace them in the files.
    names: Vec<(String, String)>,
    /// The ids of prompts without an answer.
    prompts: Vec<Value>,
    told: String,
    _folders: [TempDir; 2],
}

impl Agent {
    fn start() -> Result<Self> {
        let folders = [TempDir::new()?, TempDir::new()?];
        let [workspace, state] = &folders;
        let scenario = repository_path("peers/steer.yaml").canonicalize()?;
        let mut process = Command::new(binary()?)
            .args(["acp", "--engine"])
            .arg(format!("script:{}", scenario.display()))
            .arg("--state-dir")
            .arg(state.path())
            // The user's own rules would decide before the lines do.
            .env("XDG_CONFIG_HOME", state.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = process.stdin.take().context("no stdin")?;
        let stdout = process.stdout.take().context("no stdout")?;
        let (line, lines) = sync_channel(64);
        std::thread::spawn(move || {
            let mut came = BufReader::new(stdout).lines().map_while(Result::ok);
            came.try_for_each(|it| line.send(it))
        });
        let workspace = workspace.path().canonicalize()?.display().to_string();
        Ok(Self {
            process,
            stdin,
            lines,
            names: vec![(workspace, "/workspace".to_owned())],
            prompts: Vec::new(),
            told: String::new(),
            _folders: folders,
        })
    }

    /// Sends a line, and reads as far as the next line requires.
    fn send(&mut self, line: &str) -> Result<()> {
        let real = |line: String, (real, name): &(String, String)| line.replace(name, real);
        let line = self.names.iter().fold(line.to_owned(), real);
        writeln!(self.stdin, "{line}")?;
        self.stdin.flush()?;
        let message: Value = serde_json::from_str(&line)?;
        match (message["method"].as_str(), message.get("id")) {
            // The turns of the scenario stop at a question or to wait.
            (Some("session/prompt"), Some(id)) => {
                self.prompts.push(id.clone());
                self.read_until(|it| {
                    it["method"] == "session/request_permission"
                        || it["params"]["update"]["content"]["text"] == "Ready."
                })
            }
            (Some(_), Some(id)) => {
                let id = id.clone();
                self.read_until(|it| it.get("method").is_none() && it["id"] == id)
            }
            (Some("agent/resume"), None) => {
                self.read_until(|it| it["params"]["update"]["content"]["text"] == "\nAwake.")
            }
            (Some("session/cancel"), None) | (None, Some(_)) => self.wait_for_prompts(),
            _ => Ok(()),
        }
    }

    /// Reads until no prompt is open.
    fn wait_for_prompts(&mut self) -> Result<()> {
        while let Some(id) = self.prompts.last().cloned() {
            self.read_until(|it| it.get("method").is_none() && it["id"] == id)?;
        }
        Ok(())
    }

    fn read_until(&mut self, wanted: impl Fn(&Value) -> bool) -> Result<()> {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.context("gave up waiting for the agent")?;
            let message = serde_json::from_str(&line)?;
            self.record_message(&message)?;
            if wanted(&message) {
                return Ok(());
            }
        }
    }

    /// Names the new ids in a message, and records the message if it is a response or announces a delivery.
    fn record_message(&mut self, message: &Value) -> Result<()> {
        let (result, update) = (&message["result"], &message["params"]["update"]);
        self.name_id("session", &result["sessionId"]);
        self.name_id("message", &result["messageId"]);
        self.name_id("reminder", &result["reminderId"]);
        for row in result["injections"].as_array().into_iter().flatten() {
            let kind = if row["kind"] == "user" {
                "message"
            } else {
                "reminder"
            };
            self.name_id(kind, &row["id"]);
        }
        if message["method"] == "session/request_permission" {
            self.name_id("agent", &message["id"]);
        }
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        let delivery = kind.starts_with("user_message");
        if delivery {
            self.name_id("message", &update["messageId"]);
        }
        if message.get("method").is_some() && !delivery {
            return Ok(());
        }
        self.prompts.retain(|id| *id != message["id"]);
        let entry = json!({"to": "client", "message": shorten_result(message.clone())});
        let line = serde_json::to_string(&entry)?;
        let named = |line: String, (real, name): &(String, String)| line.replace(real, name);
        self.told += &self.names.iter().fold(line, named);
        self.told.push('\n');
        Ok(())
    }

    /// Gives a new id a numbered name.
    fn name_id(&mut self, kind: &str, id: &Value) {
        let Some(id) = id.as_str() else { return };
        if self.names.iter().all(|(real, _)| real != id) {
            let of_kind = self.names.iter().filter(|(_, name)| name.starts_with(kind));
            let name = format!("{kind}-{}", of_kind.count() + 1);
            self.names.push((id.to_owned(), name));
        }
    }

    /// Ends the program and returns the conversation.
    fn end(mut self) -> Result<String> {
        self.wait_for_prompts()?;
        drop(self.stdin);
        let status = self.process.wait()?;
        ensure!(status.success(), "the agent ended with {status}");
        Ok(self.told)
    }
}

/// Keeps only some fields of the results of `initialize` and `session/new`; `fixtures/acp` has them whole.
fn shorten_result(mut message: Value) -> Value {
    let result = message.get_mut("result").and_then(Value::as_object_mut);
    if let Some(result) = result
        && ["agentCapabilities", "modes"]
            .iter()
            .any(|long| result.contains_key(*long))
    {
        result.retain(|key, _| ["protocolVersion", "sessionId", "_meta"].contains(&key.as_str()));
    }
    message
}
