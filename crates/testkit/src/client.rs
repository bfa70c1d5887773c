//! A client that reads every line, in order, and accepts none it was not told to expect.
//!
//! It pulls: a line is read, and recorded, when the test asks for it, so a transcript is the order the
//! test gave and a test that reads nothing is a client that reads nothing.

use std::{process::ExitStatus, time::Duration};

use harn_acp::AcpConfig;
use harn_runtime::Hub;
use harn_threads::IncomingLine;
use serde_json::{Value, json};
use tokio::{process::Command, time::timeout};

use crate::{RecordDirection, Recorder, link::TestLink, must};

/// A line from the agent.
#[derive(Clone, Debug, PartialEq)]
pub enum MessageFromAgent {
    /// An answer to a request of ours, or to a line that was none (`id` is null).
    Response {
        /// Which request.
        id: Value,
        /// The result, or the error object.
        result: Result<Value, Value>,
    },
    /// A request we have to answer.
    Request {
        /// Its id.
        id: Value,
        /// What is asked.
        method: String,
        /// With what.
        params: Value,
    },
    /// A notification.
    Notification {
        /// What it is.
        method: String,
        /// With what.
        params: Value,
    },
}

/// Speaks raw JSON-RPC lines. Dropped with a message unread, a request of the agent unanswered or an
/// answer outstanding, it fails the test.
///
/// # Panics
///
/// Every method does, showing the transcript so far, when something other than what it expects comes,
/// or nothing within the client's patience.
pub struct StrictClient {
    /// Gone once the client has left.
    link: Option<TestLink>,
    recorder: Recorder,
    patience: Duration,
    last_id: u64,
    /// Requests of ours without an answer.
    waiting: Vec<Value>,
    /// Requests of the agent without an answer.
    owed: Vec<Value>,
    /// What else is wrong with a message on this wire.
    check: fn(&MessageFromAgent) -> Result<(), &'static str>,
}

impl StrictClient {
    /// A client of an agent in this process.
    #[must_use]
    pub fn in_memory(hub: Hub, config: AcpConfig, recorder: Recorder) -> Self {
        Self::over(TestLink::in_memory(hub, config), recorder, |_| Ok(()))
    }

    /// The same, its bytes going through the line reader on a thread.
    #[must_use]
    pub fn framed(hub: Hub, config: AcpConfig, line_limit: usize, recorder: Recorder) -> Self {
        Self::over(TestLink::framed(hub, config, line_limit), recorder, |_| {
            Ok(())
        })
    }

    /// A client of a program, over its standard input and output.
    #[must_use]
    pub fn spawn(command: Command) -> Self {
        let link = must(TestLink::spawn(command), "the agent did not start");
        Self::over(link, Recorder::default(), |_| Ok(()))
    }

    pub(crate) fn over(
        link: TestLink,
        recorder: Recorder,
        check: fn(&MessageFromAgent) -> Result<(), &'static str>,
    ) -> Self {
        Self {
            link: Some(link),
            recorder,
            patience: Duration::from_secs(10),
            last_id: 0,
            waiting: Vec::new(),
            owed: Vec::new(),
            check,
        }
    }

    /// How long it waits for a line before it gives up; ten seconds unless told.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// What it said and heard.
    #[must_use]
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Sends bytes as they are, plus the end of the line.
    pub async fn send_raw(&mut self, line: impl AsRef<[u8]>) {
        let line = line.as_ref();
        self.recorder.line(RecordDirection::ToAgent, line);
        let bytes = [line, b"\n"].concat();
        self.deliver(async |link| link.send(&bytes).await).await;
    }

    /// Sends what came in the place of a line, unrecorded.
    pub async fn send_line(&mut self, line: IncomingLine) {
        self.deliver(async |link| link.send_line(line).await).await;
    }

    async fn deliver(&mut self, send: impl AsyncFnOnce(&mut TestLink) -> Result<(), String>) {
        let Some(link) = &mut self.link else {
            self.fail("this client has left");
        };
        match timeout(self.patience, send(link)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.fail(&error),
            Err(_) => self.fail("the agent takes no more lines"),
        }
    }

    /// Sends a message as it is. If it is a request, its answer is expected.
    pub async fn send(&mut self, message: &Value) {
        if message["method"].is_string() && !message["id"].is_null() {
            self.await_answer(message["id"].clone());
        }
        self.send_raw(message.to_string()).await;
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

    /// Answers a request of the agent.
    pub async fn respond(&mut self, id: &Value, result: Value) {
        self.settle(id);
        let message = json!({"jsonrpc": "2.0", "id": id, "result": result});
        self.send(&message).await;
    }

    /// Answers a request of the agent with an error.
    pub async fn respond_error(&mut self, id: &Value, code: i32, message: &str) {
        self.settle(id);
        let error = json!({"code": code, "message": message});
        let message = json!({"jsonrpc": "2.0", "id": id, "error": error});
        self.send(&message).await;
    }

    /// Never answers a request of the agent, as some hosts do.
    pub fn leave_unanswered(&mut self, id: &Value) {
        self.settle(id);
    }

    /// The next line, whatever it is.
    pub async fn next(&mut self) -> MessageFromAgent {
        match self.read().await {
            Some(line) => self.claim(&line),
            None => self.fail("the agent closed the connection"),
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
        match self.next_answer(id).await {
            Some(Ok(result)) => result,
            _ => self.fail(&format!("the last line is not the result of request {id}")),
        }
    }

    /// The next line is an error answering this request; an id of null is for a line that was none.
    pub async fn expect_error(&mut self, id: &Value) -> Value {
        match self.next_answer(id).await {
            Some(Err(error)) => error,
            _ => self.fail(&format!("the last line is not an error for request {id}")),
        }
    }

    async fn next_answer(&mut self, id: &Value) -> Option<Result<Value, Value>> {
        match self.next().await {
            MessageFromAgent::Response { id: of, result } if of == *id => Some(result),
            _ => None,
        }
    }

    /// The next line is this notification; returns its params.
    pub async fn expect_notification(&mut self, expected: &str) -> Value {
        match self.next().await {
            MessageFromAgent::Notification { method, params } if method == expected => params,
            _ => self.fail(&format!("the last line is not a {expected} notification")),
        }
    }

    /// The next line is a `session/update`; returns the update.
    pub async fn expect_update(&mut self) -> Value {
        let mut params = self.expect_notification("session/update").await;
        params["update"].take()
    }

    /// The next line is a `session/update` with this discriminator; returns the update.
    pub async fn expect_update_of(&mut self, kind: &str) -> Value {
        let update = self.expect_update().await;
        if update["sessionUpdate"] != kind {
            self.fail(&format!("the last line is not a {kind}"));
        }
        update
    }

    /// The next line is an agent event of this kind; returns its params.
    pub async fn expect_event_of(&mut self, kind: &str) -> Value {
        let params = self.expect_notification("_harn/agentEvent").await;
        if params["kind"] != kind {
            self.fail(&format!("the last line is not a {kind}"));
        }
        params
    }

    /// The next line is this request of the agent; returns its id and params.
    pub async fn expect_request(&mut self, expected: &str) -> (Value, Value) {
        match self.next().await {
            MessageFromAgent::Request { id, method, params } if method == expected => (id, params),
            _ => self.fail(&format!("the last line is not a {expected} request")),
        }
    }

    /// Everything up to the answer to this request must be updates or agent events; returns the updates
    /// and the result.
    pub async fn updates_until(&mut self, id: &Value) -> (Vec<Value>, Value) {
        let mut updates = Vec::new();
        loop {
            match self.next().await {
                MessageFromAgent::Notification { method, mut params }
                    if method == "session/update" =>
                {
                    updates.push(params["update"].take());
                }
                MessageFromAgent::Notification { method, .. } if method == "_harn/agentEvent" => {}
                MessageFromAgent::Response {
                    id: of,
                    result: Ok(result),
                } if of == *id => {
                    return (updates, result);
                }
                _ => self.fail("the last line is neither an update nor the expected result"),
            }
        }
    }

    /// Leaves: no more input, then everything the agent still says must have been expected, and its
    /// side must end. A process returns its status.
    pub async fn close(mut self) -> Option<ExitStatus> {
        self.end_input();
        if self.read().await.is_some() {
            self.fail("the last line came after the client had left, and nobody expected it");
        }
        self.check_settled();
        self.ended().await
    }

    /// Leaves in the middle: no more input, the rest of the output goes unread, what is open stays open.
    /// The agent's side must end all the same.
    pub async fn hang_up(mut self) -> Option<ExitStatus> {
        self.end_input();
        while self.read().await.is_some() {}
        self.ended().await
    }

    /// Leaves like a client that was killed: nothing is checked.
    pub fn vanish(mut self) {
        self.link = None;
    }

    pub(crate) fn end_input(&mut self) {
        if let Some(link) = &mut self.link {
            link.close();
        }
    }

    pub(crate) async fn ended(&mut self) -> Option<ExitStatus> {
        let link = self.link.take()?;
        match timeout(self.patience, link.ended()).await {
            Ok(Ok(status)) => status,
            Ok(Err(error)) => self.fail(&error),
            Err(_) => self.fail("the agent's side of the connection did not end"),
        }
    }

    pub(crate) async fn read(&mut self) -> Option<Vec<u8>> {
        loop {
            let Some(link) = &mut self.link else {
                self.fail("this client has left");
            };
            let line = match timeout(self.patience, link.recv()).await {
                Ok(Ok(line)) => line?,
                Ok(Err(error)) => self.fail(&error),
                Err(_) => self.fail("nothing came"),
            };
            self.recorder.line(RecordDirection::ToClient, &line);
            if !is_given(&line) {
                return Some(line);
            }
        }
    }

    /// Reads a line as a message and keeps account of who owes whom an answer.
    pub(crate) fn claim(&mut self, line: &[u8]) -> MessageFromAgent {
        let checked = parse(line).and_then(|message| (self.check)(&message).map(|()| message));
        let message = checked.unwrap_or_else(|problem| self.fail(problem));
        match &message {
            MessageFromAgent::Response {
                id: Value::Null, ..
            }
            | MessageFromAgent::Notification { .. } => {}
            MessageFromAgent::Response { id, .. } => {
                let Some(at) = self.waiting.iter().position(|waiting| waiting == id) else {
                    self.fail("the last line answers nothing that was asked");
                };
                self.waiting.remove(at);
            }
            MessageFromAgent::Request { id, .. } => {
                self.recorder.number_request(id);
                if self.owed.contains(id) {
                    self.fail("the id of the last line is in use already");
                }
                self.owed.push(id.clone());
            }
        }
        message
    }

    fn settle(&mut self, id: &Value) {
        match self.owed.iter().position(|owed| owed == id) {
            Some(at) => {
                self.owed.remove(at);
            }
            None => self.fail(&format!("the agent did not ask {id}, or it was answered")),
        }
    }

    pub(crate) fn check_settled(&self) {
        if !self.waiting.is_empty() {
            self.fail(&format!("requests without an answer: {:?}", self.waiting));
        }
        if !self.owed.is_empty() {
            self.fail(&format!("requests nobody answered: {:?}", self.owed));
        }
    }

    #[track_caller]
    pub(crate) fn fail(&self, problem: &str) -> ! {
        let transcript = self.recorder.transcript();
        panic!("{problem}\n\nThe transcript so far:\n{transcript}");
    }
}

impl Drop for StrictClient {
    fn drop(&mut self) {
        let Some(mut link) = self.link.take() else {
            return;
        };
        if std::thread::panicking() {
            return;
        }
        let mut unread = link.unread();
        unread.retain(|line| !is_given(line));
        for line in &unread {
            self.recorder.line(RecordDirection::ToClient, line);
        }
        if !unread.is_empty() {
            self.fail(&format!("nobody read the last {} lines", unread.len()));
        }
        self.check_settled();
    }
}

/// Whether this is the one line that the opening of every session brings, whatever its agent: the commands,
/// where the agent has none of its own. It is recorded, and no test has to expect it.
fn is_given(line: &[u8]) -> bool {
    let Ok(line) = serde_json::from_slice::<Value>(line) else {
        return false;
    };
    let update = &line["params"]["update"];
    let commands = update["availableCommands"].as_array();
    update["sessionUpdate"] == "available_commands_update"
        && commands.is_some_and(|all| matches!(&all[..], [one] if one["name"] == "permissions"))
}

fn parse(line: &[u8]) -> Result<MessageFromAgent, &'static str> {
    let Ok(Value::Object(mut members)) = serde_json::from_slice(line) else {
        return Err("the last line is no JSON object");
    };
    if members.remove("jsonrpc") != Some(Value::from("2.0")) {
        return Err("the last line does not say that it is JSON-RPC 2.0");
    }
    let mut take = |name: &str| members.remove(name);
    let parts = (take("id"), take("method"), take("result"), take("error"));
    let params = take("params").unwrap_or_default();
    let message = match parts {
        (Some(id), None, Some(result), None) => MessageFromAgent::Response {
            id,
            result: Ok(result),
        },
        (Some(id), None, None, Some(error)) => MessageFromAgent::Response {
            id,
            result: Err(error),
        },
        (Some(id), Some(Value::String(method)), None, None) => {
            MessageFromAgent::Request { id, method, params }
        }
        (None, Some(Value::String(method)), None, None) => {
            MessageFromAgent::Notification { method, params }
        }
        _ => return Err("the last line is neither request, notification nor answer"),
    };
    if !members.is_empty() {
        return Err("the last line has members JSON-RPC does not know");
    }
    Ok(message)
}
