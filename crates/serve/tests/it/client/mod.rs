//! A small ACP client over the pipes of a child process. Every wait ends, with an answer or a failure.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

/// Long enough for a busy machine; a passing test never waits this long.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running agent, with its pipes.
pub(crate) struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Receiver<String>,
    next_id: u64,
    /// The updates received so far.
    pub(crate) updates: Vec<Value>,
    /// The permission requests received so far.
    pub(crate) asked: Vec<Value>,
    /// The option that answers permission requests.
    pub(crate) answer: &'static str,
}

impl Agent {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = read_lines(child.stdout.take().unwrap());
        let stderr = read_lines(child.stderr.take().unwrap());
        Self {
            stdin: child.stdin.take(),
            child,
            lines,
            stderr,
            next_id: 1,
            updates: Vec::new(),
            asked: Vec::new(),
            answer: "allow_once",
        }
    }

    /// Starts the built binary with these arguments.
    pub(crate) fn harn_serve(args: &[&str]) -> Self {
        Self::start(Command::new(env!("CARGO_BIN_EXE_harn-serve")).args(args))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn write(&mut self, message: &Value) {
        self.write_line(&message.to_string());
    }

    pub(crate) fn write_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Sends a request and returns its id.
    pub(crate) fn send(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Returns the next line of stdout.
    pub(crate) fn next_line(&mut self) -> String {
        self.lines.recv_timeout(PATIENCE).unwrap_or_else(|error| {
            let said: Vec<_> = self.stderr.try_iter().collect();
            panic!("{error}; its stderr: {said:#?}");
        })
    }

    /// Returns the next message. Answers permission requests.
    pub(crate) fn next(&mut self) -> Value {
        let line = self.next_line();
        let message: Value = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("not a message: {error}: {line}"));
        match message["method"].as_str() {
            Some("session/update") => self.updates.push(message["params"]["update"].clone()),
            Some("session/request_permission") => {
                self.asked.push(message["params"].clone());
                let outcome = json!({"outcome": "selected", "optionId": self.answer});
                let result = json!({"outcome": outcome});
                self.write(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
            }
            _ => {}
        }
        message
    }

    /// Reads up to the answer to a request.
    pub(crate) fn read_answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.next();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// Sends a request and reads up to the answer, which must not be an error.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let mut answer = self.read_answer(id);
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].take()
    }

    /// Initializes the connection and opens a session in `cwd`.
    pub(crate) fn open(&mut self, cwd: &Path) -> String {
        self.request("initialize", json!({"protocolVersion": 1}));
        let new = self.request("session/new", json!({"cwd": cwd, "mcpServers": []}));
        new["sessionId"].as_str().unwrap().to_owned()
    }

    /// Sends a prompt and returns its id.
    pub(crate) fn prompt(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{"type": "text", "text": text}]);
        let params = json!({"sessionId": session, "prompt": prompt});
        self.send("session/prompt", params)
    }

    /// Returns the agent's text so far.
    pub(crate) fn agent_text(&self) -> String {
        let chunks = self.updates.iter();
        let chunks = chunks.filter(|update| update["sessionUpdate"] == "agent_message_chunk");
        chunks
            .filter_map(|chunk| chunk["content"]["text"].as_str())
            .collect()
    }

    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits for the process to end. The limit is a second; a busy machine gets a few.
    pub(crate) fn wait_for_exit(&mut self) -> ExitStatus {
        for _ in 0..500 {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("still running five seconds after it was told to end");
    }

    /// Closes stdin, waits for the end, and returns the rest of stdout and all of stderr.
    pub(crate) fn end(mut self) -> (ExitStatus, Vec<String>, Vec<String>) {
        self.close_stdin();
        let status = self.wait_for_exit();
        (
            status,
            remaining_lines(&self.lines),
            remaining_lines(&self.stderr),
        )
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // Both fail only when the process has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns all further lines, up to the end of the stream.
fn remaining_lines(lines: &Receiver<String>) -> Vec<String> {
    let mut rest = Vec::new();
    loop {
        match lines.recv_timeout(PATIENCE) {
            Ok(line) => rest.push(line),
            Err(RecvTimeoutError::Disconnected) => return rest,
            Err(RecvTimeoutError::Timeout) => panic!("the stream does not end"),
        }
    }
}

/// Reads a stream on a thread, at most 64 lines ahead of the test.
fn read_lines(stream: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = mpsc::sync_channel(64);
    thread::spawn(move || {
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
