//! Helpers of the stress tests: random numbers from a seed that a failing test prints, and the real binary as a
//! process that can be killed at any byte. Knows no scenario and asserts nothing about content.

use std::{
    future::Future,
    hash::{BuildHasher, RandomState},
    path::Path,
    process::Stdio,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use harn_testkit::{StrictClient, TestHub};
use harn_tests::{binary, initialize_params};
use serde_json::{Map, Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{Child, ChildStdin, ChildStdout, Command},
};

/// Only turns a hang into a failure: no test here measures time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Waits with a time limit.
pub(crate) async fn in_time<T>(what: &str, work: impl Future<Output = T>) -> Result<T> {
    let done = tokio::time::timeout(PATIENCE, work).await;
    done.with_context(|| format!("gave up waiting for {what}"))
}

/// Random numbers from the seed in `HARN_SEED`, or from a new seed. A failing test prints its seed.
pub(crate) struct Dice {
    seed: u64,
    state: u64,
}

impl Dice {
    pub(crate) fn new() -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "a test has no composition root that could hand it in"
        )]
        let given = std::env::var("HARN_SEED").ok();
        let given = given.and_then(|word| word.parse().ok());
        let seed = given.unwrap_or_else(|| RandomState::new().hash_one(0));
        Self { seed, state: seed }
    }

    /// Returns a number below `end`, which is not zero.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        // SplitMix64: short, and good enough to choose a moment.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        usize::try_from(z % end as u64).unwrap_or(0)
    }
}

impl Drop for Dice {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to see this again: HARN_SEED={}", self.seed);
        }
    }
}

/// The agent as a separate process.
pub(crate) struct Process {
    child: Child,
    to: ChildStdin,
    from: ChildStdout,
    /// The bytes that were read; may end in part of a line.
    read: Vec<u8>,
    /// How many of these bytes were returned as lines.
    taken: usize,
    last_id: u64,
}

impl Process {
    /// Returns its process id.
    pub(crate) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Starts `harn-serve acp` on a scenario and initializes the connection.
    pub(crate) async fn start(scenario: &Path, state_dir: &Path) -> Result<Self> {
        let mut child = Command::new(binary()?)
            .args(["acp", "--engine"])
            .arg(format!("script:{}", scenario.display()))
            .arg("--state-dir")
            .arg(state_dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let to = child.stdin.take().context("no stdin")?;
        let from = child.stdout.take().context("no stdout")?;
        let mut process = Self {
            child,
            to,
            from,
            read: Vec::new(),
            taken: 0,
            last_id: 0,
        };
        let hello = json!({"protocolVersion": 1, "clientCapabilities": {}});
        process.request("initialize", hello).await?;
        Ok(process)
    }

    /// Sends a request without waiting for a response.
    pub(crate) async fn send(&mut self, method: &str, params: Value) -> Result<Value> {
        self.last_id += 1;
        let id = Value::from(self.last_id);
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let line = format!("{line}\n");
        in_time("the agent to read", self.to.write_all(line.as_bytes())).await??;
        Ok(id)
    }

    /// Answers a request of the agent.
    pub(crate) async fn answer(&mut self, id: &Value, result: Value) -> Result<()> {
        let line = json!({"jsonrpc": "2.0", "id": id, "result": result});
        let line = format!("{line}\n");
        Ok(in_time("the agent to read", self.to.write_all(line.as_bytes())).await??)
    }

    /// Sends a request; returns the messages before its response, and its result.
    pub(crate) async fn request(
        &mut self,
        method: &str,
        params: Value,
    ) -> Result<(Vec<Value>, Value)> {
        let id = self.send(method, params).await?;
        let mut before = Vec::new();
        loop {
            let mut message = self.next_message().await?;
            if message.get("method").is_none() && message["id"] == id {
                ensure!(message.get("error").is_none(), "{method}: {message}");
                return Ok((before, message["result"].take()));
            }
            before.push(message);
        }
    }

    /// Returns the next line.
    pub(crate) async fn next_message(&mut self) -> Result<Value> {
        loop {
            let rest = &self.read[self.taken..];
            if let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
                self.taken += end + 1;
                return Ok(serde_json::from_slice(&rest[..end])?);
            }
            if self.read_more().await? == 0 {
                bail!("the agent closed its side");
            }
        }
    }

    /// Reads until at least this many whole lines are available and not yet returned.
    pub(crate) async fn read_lines(&mut self, lines: usize) -> Result<()> {
        let (mut seen, mut counted) = (0, self.taken);
        loop {
            let new = &self.read[counted..];
            seen += new.iter().filter(|&&byte| byte == b'\n').count();
            counted = self.read.len();
            if seen >= lines {
                return Ok(());
            }
            if self.read_more().await? == 0 {
                bail!("the agent closed its side after {seen} lines");
            }
        }
    }

    async fn read_more(&mut self) -> Result<usize> {
        let read = self.from.read_buf(&mut self.read);
        Ok(in_time("a line", read).await??)
    }

    /// Kills the process with SIGKILL. Returns the remaining whole lines, including those in the pipe.
    pub(crate) async fn kill(mut self) -> Result<Vec<Value>> {
        self.child.start_kill()?;
        while self.read_more().await? > 0 {}
        in_time("the process to be gone", self.child.wait()).await??;
        let lines = self.read[self.taken..].split_inclusive(|&byte| byte == b'\n');
        let whole = lines.filter(|line| line.ends_with(b"\n"));
        whole
            .map(|line| Ok(serde_json::from_slice(line)?))
            .collect()
    }

    /// Closes stdin and waits for the process to end with success.
    pub(crate) async fn end(mut self) -> Result<()> {
        drop(self.to);
        while in_time("the end", self.from.read_buf(&mut self.read)).await?? > 0 {}
        let status = in_time("the process to be gone", self.child.wait()).await??;
        ensure!(status.success(), "{status}");
        Ok(())
    }
}

/// Returns an initialized client of the hub.
pub(crate) async fn connect_and_initialize(test: &TestHub) -> StrictClient {
    let mut client = test.connect().with_patience(PATIENCE);
    client
        .request("initialize", initialize_params(&Map::new()))
        .await;
    client
}

/// Returns the params that create a session.
pub(crate) fn new_session_params(test: &TestHub) -> Value {
    json!({"cwd": test.workspace(), "mcpServers": []})
}

/// Returns the params that open an existing session.
pub(crate) fn load_params(test: &TestHub, session: &str) -> Value {
    json!({"sessionId": session, "cwd": test.workspace(), "mcpServers": []})
}

/// Creates a session of an agent without slash commands; returns its id.
pub(crate) async fn open(client: &mut StrictClient, test: &TestHub) -> String {
    let made = client
        .request("session/new", new_session_params(test))
        .await;
    made["sessionId"].as_str().unwrap_or_default().to_owned()
}

/// Returns the params of a text prompt.
pub(crate) fn text_prompt(session: &str, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}

/// Returns the name of an update.
pub(crate) fn kind(update: &Value) -> &str {
    update["sessionUpdate"].as_str().unwrap_or_default()
}
