//! A client of threads and turns that reads every line, in order, and accepts none it was not told to expect.

use std::{collections::VecDeque, time::Duration};

use futures::FutureExt;
use harn_runtime::Hub;
use harn_threads::{
    Disconnected, Line, Outgoing, OutgoingReceiver, ThreadsConfig, serve_connection,
};
use serde_json::{Value, json};
use tokio::{sync::mpsc, task::JoinHandle};

use crate::{Direction, Message, Recorder, TestHub, client::parse};

/// How many lines may wait for the server.
const QUEUE: usize = 64;

/// Speaks JSON-RPC lines with a server in this process. Dropped with a message unread or an answer
/// outstanding, it fails the test.
///
/// # Panics
///
/// Every method does, showing the transcript so far, when something other than what it expects comes, or
/// nothing within the client's patience.
pub struct ThreadsClient {
    /// Gone once the client has left.
    to: Option<mpsc::Sender<Line>>,
    from: OutgoingReceiver,
    lines: VecDeque<Vec<u8>>,
    serving: Option<JoinHandle<Result<(), Disconnected>>>,
    recorder: Recorder,
    patience: Duration,
    last_id: u64,
    /// Requests without an answer.
    waiting: Vec<Value>,
}

impl TestHub {
    /// A client of threads and turns, in memory; its threads work in the workspace.
    #[must_use]
    pub fn connect_threads(&self) -> ThreadsClient {
        let config = ThreadsConfig {
            alone: false,
            directory: self.workspace(),
            version: "0.0.0".to_owned(),
        };
        ThreadsClient::in_memory(self.hub().clone(), config, self.recorder().clone())
    }
}

impl ThreadsClient {
    /// A client of a server in this process.
    #[must_use]
    pub fn in_memory(hub: Hub, config: ThreadsConfig, recorder: Recorder) -> Self {
        let (to, incoming) = mpsc::channel(QUEUE);
        let (outgoing, from): (Outgoing, OutgoingReceiver) = harn_threads::outgoing();
        let serving = tokio::spawn(serve_connection(hub, config, incoming, outgoing));
        Self {
            to: Some(to),
            from,
            lines: VecDeque::new(),
            serving: Some(serving),
            recorder,
            patience: Duration::from_secs(10),
            last_id: 0,
            waiting: Vec::new(),
        }
    }

    /// What it said and heard.
    #[must_use]
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Sends what came in the place of a line, unrecorded.
    pub async fn send_line(&mut self, line: Line) {
        let Some(to) = &self.to else {
            self.fail("this client has left");
        };
        match tokio::time::timeout(self.patience, to.send(line)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => self.fail("the server does not listen any more"),
            Err(_) => self.fail("the server takes no more lines"),
        }
    }

    /// Sends text as it is.
    pub async fn send_raw(&mut self, line: &str) {
        self.recorder.line(Direction::ToAgent, line.as_bytes());
        self.send_line(Line::Text(line.to_owned())).await;
    }

    /// Sends a message as it is. If it is a request, its answer is expected.
    pub async fn send(&mut self, message: &Value) {
        if message["method"].is_string() && !message["id"].is_null() {
            self.waiting.push(message["id"].clone());
        }
        self.send_raw(&message.to_string()).await;
    }

    /// Expects an answer to this id, whatever was sent under it.
    pub fn await_answer(&mut self, id: Value) {
        self.waiting.push(id);
    }

    /// Sends a request and returns its id. Params of null are left out.
    pub async fn send_request(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = Value::from(self.last_id);
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(&message).await;
        id
    }

    /// Sends a notification.
    pub async fn notify(&mut self, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.send(&message).await;
    }

    /// The next line, whatever it is.
    pub async fn next(&mut self) -> Message {
        match self.read().await {
            Some(line) => self.claim(&line),
            None => self.fail("the server closed the connection"),
        }
    }

    /// Sends a request; the next line is its result.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send_request(method, params).await;
        self.expect_response(&id).await
    }

    /// Sends a request; the next line is its error.
    pub async fn request_error(&mut self, method: &str, params: Value) -> Value {
        let id = self.send_request(method, params).await;
        self.expect_error(&id).await
    }

    /// The next line is the result of this request.
    pub async fn expect_response(&mut self, id: &Value) -> Value {
        match self.next().await {
            Message::Response {
                id: of,
                result: Ok(result),
            } if of == *id => result,
            _ => self.fail(&format!("the last line is not the result of request {id}")),
        }
    }

    /// The next line is an error answering this request; an id of null is for a line that was none.
    pub async fn expect_error(&mut self, id: &Value) -> Value {
        match self.next().await {
            Message::Response {
                id: of,
                result: Err(error),
            } if of == *id => error,
            _ => self.fail(&format!("the last line is not an error for request {id}")),
        }
    }

    /// The next line is this notification; returns its params.
    pub async fn expect(&mut self, expected: &str) -> Value {
        match self.next().await {
            Message::Notification { method, params } if method == expected => params,
            _ => self.fail(&format!("the last line is not a {expected}")),
        }
    }

    /// The next line is an `item.started` of this type; returns the item.
    pub async fn expect_item(&mut self, kind: &str) -> Value {
        let mut params = self.expect("item.started").await;
        if params["item"]["type"] != kind {
            self.fail(&format!("the last line does not start a {kind}"));
        }
        params["item"].take()
    }

    /// Everything up to the end of the turn that runs must be notifications; returns them, the end last.
    pub async fn until_turn_ends(&mut self) -> Vec<Value> {
        let mut told = Vec::new();
        loop {
            match self.next().await {
                Message::Notification { method, params } => {
                    told.push(params);
                    if method == "turn.completed" || method == "turn.error" {
                        return told;
                    }
                }
                Message::Response { .. } | Message::Request { .. } => {
                    self.fail("the last line is no notification");
                }
            }
        }
    }

    /// Creates a thread in the workspace; returns its id.
    pub async fn create(&mut self) -> String {
        let id = self.send_request("thread.create", json!({})).await;
        let created = self.expect("thread.created").await;
        let answer = self.expect_response(&id).await;
        if answer["thread"]["threadId"] != created["threadId"] {
            self.fail("another thread was created than was told of");
        }
        created["threadId"].as_str().unwrap_or_default().to_owned()
    }

    /// Starts a turn with text, up to its answer; returns the turn's id.
    pub async fn start(&mut self, thread: &str, text: &str) -> String {
        let input = json!([{"type": "text", "text": text}]);
        let params = json!({"threadId": thread, "input": input});
        let id = self.send_request("turn.start", params).await;
        let started = self.expect("turn.started").await;
        let answer = self.expect_response(&id).await;
        if answer["turnId"] != started["turnId"] {
            self.fail("another turn was started than was told of");
        }
        started["turnId"].as_str().unwrap_or_default().to_owned()
    }

    /// The same, and what it said at first has come back.
    pub async fn start_turn(&mut self, thread: &str, text: &str) -> String {
        let turn = self.start(thread, text).await;
        self.expect_item("user_message").await;
        self.expect("item.completed").await;
        turn
    }

    /// Leaves: no more input, then everything the server still says must have been expected, and its side
    /// must end.
    pub async fn close(mut self) {
        self.to = None;
        if self.read().await.is_some() {
            self.fail("the last line came after the client had left, and nobody expected it");
        }
        self.check_settled();
        self.ended().await;
    }

    /// Leaves without another word, and reads to the end all the same; returns what came.
    pub async fn hang_up(mut self) -> Vec<Message> {
        self.to = None;
        let mut rest = Vec::new();
        while let Some(line) = self.read().await {
            rest.push(self.claim(&line));
        }
        self.check_settled();
        self.ended().await;
        rest
    }

    async fn ended(&mut self) {
        let Some(serving) = self.serving.take() else {
            return;
        };
        match tokio::time::timeout(self.patience, serving).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => self.fail(&error.to_string()),
            Ok(Err(error)) => self.fail(&error.to_string()),
            Err(_) => self.fail("the server's side of the connection did not end"),
        }
    }

    async fn read(&mut self) -> Option<Vec<u8>> {
        while self.lines.is_empty() {
            match tokio::time::timeout(self.patience, self.from.recv()).await {
                Ok(Some(bytes)) => self.lines.extend(split(&bytes)),
                Ok(None) => return None,
                Err(_) => self.fail("nothing came"),
            }
        }
        let line = self.lines.pop_front()?;
        self.recorder.line(Direction::ToClient, &line);
        Some(line)
    }

    /// Reads a line as a message and keeps account of who owes us an answer.
    fn claim(&mut self, line: &[u8]) -> Message {
        let message = match parse(line) {
            Ok(message) => message,
            Err(problem) => self.fail(problem),
        };
        match &message {
            Message::Response {
                id: Value::Null, ..
            } => {}
            Message::Response { id, .. } => {
                let Some(at) = self.waiting.iter().position(|waiting| waiting == id) else {
                    self.fail("the last line answers nothing that was asked");
                };
                self.waiting.remove(at);
            }
            Message::Notification { method, params } => {
                if params["notification"] != method.as_str() {
                    self.fail("the params of the last line do not repeat its method");
                }
            }
            Message::Request { .. } => self.fail("the server asks nothing on this wire"),
        }
        message
    }

    fn check_settled(&self) {
        if !self.waiting.is_empty() {
            self.fail(&format!("requests without an answer: {:?}", self.waiting));
        }
    }

    #[track_caller]
    fn fail(&self, problem: &str) -> ! {
        let transcript = self.recorder.transcript();
        panic!("{problem}\n\nThe transcript so far:\n{transcript}");
    }
}

fn split(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    let lines = bytes.split_inclusive(|&byte| byte == b'\n');
    lines.map(|line| line.strip_suffix(b"\n").unwrap_or(line).to_vec())
}

impl Drop for ThreadsClient {
    fn drop(&mut self) {
        if self.to.take().is_none() || std::thread::panicking() {
            return;
        }
        while let Some(Some(bytes)) = self.from.recv().now_or_never() {
            self.lines.extend(split(&bytes));
        }
        for line in &self.lines {
            self.recorder.line(Direction::ToClient, line);
        }
        if !self.lines.is_empty() {
            self.fail(&format!("nobody read the last {} lines", self.lines.len()));
        }
        self.check_settled();
    }
}
