//! A thousand threads in one process over one connection: each waits for a decision while another thread runs
//! turns, and every turn ends once, with its whole text.

use std::{
    collections::{BTreeMap, HashSet},
    path::Path,
    process::{ExitStatus, Stdio},
};

use crate::support_stress::in_time;
use anyhow::Result;
use harn_tests::binary;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

const THREADS: usize = 1000;
/// Turns of one thread while all others wait.
const MEANWHILE: usize = 20;
/// Requests under way at once; the pipes have room for more.
const WINDOW: usize = 100;

const SCENARIO: &str = "
name: many
turns:
  - match: ^write$
    steps:
      - say: 'May I? '
      - ask:
          tool: write_file
          kind: edit
          input: {path: notes.txt}
          on_allow: [{say: 'Done.'}]
          on_reject: [{say: 'Then not.'}]
  - steps: [{say: 'Good '}, {say: 'morning.'}]
";

#[tokio::test]
async fn waiting_threads_do_not_block_another_thread() -> Result<()> {
    let folder = TempDir::with_prefix("harn-threads-")?;
    let mut client = Client::start(folder.path())?;
    client.request_all("initialize", vec![json!({})]).await;
    let made = client
        .request_all("thread.create", vec![json!({}); THREADS + 1])
        .await;
    let id = |made: &Value| made["thread"]["threadId"].as_str().unwrap().to_owned();
    let mut threads: Vec<String> = made.iter().map(id).collect();
    assert_eq!(threads.iter().collect::<HashSet<_>>().len(), THREADS + 1);
    let free = threads.pop().unwrap();

    let starts = threads.iter().map(|thread| start_params(thread, "write"));
    client.request_all("turn.start", starts.collect()).await;
    while !threads
        .iter()
        .all(|thread| client.events_of(thread).ask.is_some())
    {
        client.read_line().await;
    }
    for turn in 1..=MEANWHILE {
        client
            .request_all("turn.start", vec![start_params(&free, "greet")])
            .await;
        while client.events_of(&free).ended.len() < turn {
            client.read_line().await;
        }
    }
    assert_eq!(
        client.events_of(&free).said,
        "Good morning.".repeat(MEANWHILE)
    );
    let early = threads
        .iter()
        .filter(|thread| !client.events_of(thread).ended.is_empty());
    assert_eq!(early.count(), 0, "nobody decided yet");

    // Some are allowed, some rejected and some cancelled, in an order that no queue has.
    let (mut decisions, mut cancels) = (Vec::new(), Vec::new());
    for place in 0..THREADS {
        let thread = &threads[place * 7 % THREADS];
        let ask = client.events_of(thread).ask.clone();
        match decision_for(thread, &threads) {
            "cancelled" => cancels.push(json!({"threadId": thread})),
            decision => decisions.push(json!({"requestId": ask, "decision": decision})),
        }
    }
    client.request_all("approval.respond", decisions).await;
    client.request_all("turn.cancel", cancels).await;
    while threads
        .iter()
        .any(|thread| client.events_of(thread).ended.is_empty())
    {
        client.read_line().await;
    }

    let listed = client.request_all("thread.list", vec![json!({})]).await;
    assert_eq!(listed[0]["threads"].as_array().unwrap().len(), THREADS + 1);
    let gets = threads.iter().map(|thread| json!({"threadId": thread}));
    let got = client.request_all("thread.get", gets.collect()).await;
    for (thread, got) in threads.iter().zip(&got) {
        let told = client.events_of(thread);
        let mut again = Tale::default();
        for event in got["events"].as_array().unwrap() {
            again.record_event(event);
        }
        assert_eq!(again, *told, "{thread} is told otherwise than it was live");
        let (said, ended) = match decision_for(thread, &threads) {
            "cancelled" => ("May I? ", "cancelled"),
            "reject" => ("May I? Then not.", "completed"),
            _ => ("May I? Done.", "completed"),
        };
        assert_eq!(
            (&*told.said, &told.ended[..]),
            (said, &[ended.to_owned()][..])
        );
    }
    assert!(client.end().await?.success());
    Ok(())
}

/// Returns the decision for a thread's question.
fn decision_for(thread: &str, threads: &[String]) -> &'static str {
    match threads.iter().position(|other| other == thread).unwrap() % 10 {
        0 => "cancelled",
        1 => "reject",
        _ => "once",
    }
}

fn start_params(thread: &str, words: &str) -> Value {
    json!({"threadId": thread, "input": [{"type": "text", "text": words}]})
}

/// The events of a thread, as far as this test needs them.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tale {
    ask: Option<String>,
    said: String,
    /// How each of its turns ended.
    ended: Vec<String>,
    open: bool,
}

impl Tale {
    fn record_event(&mut self, event: &Value) {
        let word = |member: &str| event[member].as_str().unwrap_or_default();
        match word("notification") {
            "turn.started" => {
                assert!(!self.open, "two turns at once: {event}");
                self.open = true;
            }
            "turn.completed" | "turn.error" => {
                assert!(self.open, "no turn to end: {event}");
                self.open = false;
                self.ended.push(word("status").to_owned());
            }
            "approval.requested" => {
                assert_eq!(self.ask, None, "asked twice");
                self.ask = Some(word("requestId").to_owned());
            }
            "thread.created" => {}
            _ => {
                assert!(self.open, "outside of a turn: {event}");
                if event["type"] == "assistant_message" {
                    self.said += word("delta");
                }
            }
        }
    }
}

/// A client on the pipes of the binary.
struct Client {
    child: Child,
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
    last_id: usize,
    answers: BTreeMap<usize, Value>,
    tales: BTreeMap<String, Tale>,
}

impl Client {
    fn start(folder: &Path) -> Result<Self> {
        let scenario = folder.join("many.yaml");
        std::fs::write(&scenario, SCENARIO)?;
        let work = folder.join("work");
        std::fs::create_dir(&work)?;
        let mut child = Command::new(binary()?)
            .args(["threads", "--engine"])
            .arg(format!("script:{}", scenario.display()))
            .arg("--cwd")
            .arg(work)
            .arg("--state-dir")
            .arg(folder.join("state"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Ok(Self {
            child,
            to,
            from: BufReader::new(from).lines(),
            last_id: 0,
            answers: BTreeMap::new(),
            tales: BTreeMap::new(),
        })
    }

    /// Sends a request for each of the params, several at once; returns the results in the order of the params.
    async fn request_all(&mut self, method: &str, params: Vec<Value>) -> Vec<Value> {
        let first = self.last_id + 1;
        for params in params {
            while self.last_id + 1 - first >= self.answers.len() + WINDOW {
                self.read_line().await;
            }
            self.last_id += 1;
            let id = self.last_id;
            let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
            let line = format!("{line}\n");
            let written = self.to.write_all(line.as_bytes());
            in_time("the server to read", written)
                .await
                .unwrap()
                .unwrap();
        }
        while self.answers.len() < self.last_id + 1 - first {
            self.read_line().await;
        }
        std::mem::take(&mut self.answers).into_values().collect()
    }

    async fn read_line(&mut self) {
        let line = in_time("a line", self.from.next_line()).await;
        let Some(line) = line.unwrap().unwrap() else {
            panic!("the server closed its side");
        };
        let mut message: Value = serde_json::from_str(&line).unwrap();
        if let Some(id) = message["id"].as_u64() {
            assert!(message.get("error").is_none(), "{message}");
            let id = usize::try_from(id).unwrap();
            let again = self.answers.insert(id, message["result"].take());
            assert_eq!(again, None, "answered twice");
            return;
        }
        let event = &message["params"];
        let within = &event["item"]["threadId"];
        let thread = event["threadId"].as_str().or(within.as_str()).unwrap();
        self.tales
            .entry(thread.to_owned())
            .or_default()
            .record_event(event);
    }

    fn events_of(&self, thread: &str) -> &Tale {
        &self.tales[thread]
    }

    /// Closes stdin and waits for the process to end.
    async fn end(mut self) -> Result<ExitStatus> {
        drop(self.to);
        while in_time("the end", self.from.next_line()).await??.is_some() {}
        Ok(in_time("the process to be gone", self.child.wait()).await??)
    }
}
