//! A client that reads every line in order and fails on any line that the test does not expect.
//!
//! It pulls: it reads and records a line when the test asks for it. So the test determines the order of a
//! transcript, and a test that reads nothing is a client that reads nothing.

use std::{process::ExitStatus, time::Duration};

use harn_acp::AcpConfig;
use harn_runtime::Hub;
use harn_threads::IncomingLine;
use serde_json::{Value, json};
use tokio::{process::Command, time::timeout};

use crate::{RecordDirection, Recorder, link::TestLink, must};

/// A message from the agent.
#[derive(Clone, Debug, PartialEq)]
pub enum MessageFromAgent {
    /// A response to a request of the client, or to an invalid line (`id` is null).
    Response {
        /// The id of the request.
        id: Value,
        /// The result, or the error object.
        result: Result<Value, Value>,
    },
    /// A request that the client has to answer.
    Request {
        /// The id of the request.
        id: Value,
        /// The method of the request.
        method: String,
        /// The params of the request.
        params: Value,
    },
    /// A notification of the agent.
    Notification {
        /// The method of the notification.
        method: String,
        /// The params of the notification.
        params: Value,
    },
}

/// A client that sends and receives raw JSON-RPC lines. If it is dropped with an unread message, an unanswered
/// request of the agent or an outstanding response, it fails the test.
///
/// # Panics
///
/// Every method panics and shows the transcript so far, if an unexpected message arrives, or none within the
/// client's patience.
pub struct StrictClient {
    /// `None` after the client has closed.
    link: Option<TestLink>,
    recorder: Recorder,
    patience: Duration,
    last_id: u64,
    /// The ids of the client's requests without a response.
    waiting: Vec<Value>,
    /// The ids of the agent's requests without a response.
    owed: Vec<Value>,
    /// Further checks of a message, for this wire.
    check: fn(&MessageFromAgent) -> Result<(), &'static str>,
}

impl StrictClient {
    /// Connects to an agent in this process.
    pub fn in_memory(hub: Hub, config: AcpConfig, recorder: Recorder) -> Self {
        Self::from_link(TestLink::in_memory(hub, config), recorder, |_| Ok(()))
    }

    /// Like [`StrictClient::in_memory`], but the bytes go through the line reader on a thread.
    #[must_use]
    pub fn with_line_reader(
        hub: Hub,
        config: AcpConfig,
        line_limit: usize,
        recorder: Recorder,
    ) -> Self {
        Self::from_link(
            TestLink::with_line_reader(hub, config, line_limit),
            recorder,
            |_| Ok(()),
        )
    }

    /// Starts a program and connects to its standard input and output.
    #[must_use]
    pub fn spawn(command: Command) -> Self {
        let link = must(TestLink::spawn(command), "the agent did not start");
        Self::from_link(link, Recorder::default(), |_| Ok(()))
    }

    pub(crate) fn from_link(
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

    /// Sets how long the client waits for a line before it fails; the default is ten seconds.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Returns the recorder of everything that the client sent and received.
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Sends bytes unchanged, plus the end of the line.
    pub async fn send_raw(&mut self, line: impl AsRef<[u8]>) {
        let line = line.as_ref();
        self.recorder.record_line(RecordDirection::ToAgent, line);
        let bytes = [line, b"\n"].concat();
        self.deliver(async |link| link.send(&bytes).await).await;
    }

    /// Sends a line that may be too long or invalid, without recording it.
    pub async fn send_line(&mut self, line: IncomingLine) {
        self.deliver(async |link| link.send_line(line).await).await;
    }

    async fn deliver(&mut self, send: impl AsyncFnOnce(&mut TestLink) -> Result<(), String>) {
        let Some(link) = &mut self.link else {
            self.fail("this client has disconnected");
        };
        match timeout(self.patience, send(link)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.fail(&error),
            Err(_) => self.fail("the agent does not read any more lines"),
        }
    }

    /// Sends a message unchanged. If it is a request, the client expects a response.
    pub async fn send(&mut self, message: &Value) {
        if message["method"].is_string() && !message["id"].is_null() {
            self.await_answer(message["id"].clone());
        }
        self.send_raw(message.to_string()).await;
    }

    /// Expects a response to this id, whatever was sent with it.
    pub fn await_answer(&mut self, id: Value) {
        self.waiting.push(id);
    }

    /// Sends a request and returns its id. Omits params that are null.
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

    /// Answers a request of the agent with a result.
    pub async fn respond(&mut self, id: &Value, result: Value) {
        self.mark_answered(id);
        let message = json!({"jsonrpc": "2.0", "id": id, "result": result});
        self.send(&message).await;
    }

    /// Answers a request of the agent with an error.
    pub async fn respond_error(&mut self, id: &Value, code: i32, message: &str) {
        self.mark_answered(id);
        let error = json!({"code": code, "message": message});
        let message = json!({"jsonrpc": "2.0", "id": id, "error": error});
        self.send(&message).await;
    }

    /// Leaves a request of the agent unanswered, as some hosts do.
    pub fn leave_unanswered(&mut self, id: &Value) {
        self.mark_answered(id);
    }

    /// Returns the next message, whatever it is.
    pub async fn next(&mut self) -> MessageFromAgent {
        match self.read().await {
            Some(line) => self.accept_line(&line),
            None => self.fail("the agent closed the connection"),
        }
    }

    /// Sends a request and expects its result as the next line.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send_request(method, params).await;
        self.expect_response(&id).await
    }

    /// Sends a request and expects its error as the next line.
    pub async fn request_error(&mut self, method: &str, params: Value) -> Value {
        let id = self.send_request(method, params).await;
        self.expect_error(&id).await
    }

    /// Expects the result of this request as the next line.
    pub async fn expect_response(&mut self, id: &Value) -> Value {
        match self.next_answer(id).await {
            Some(Ok(result)) => result,
            _ => self.fail(&format!("the last line is not the result of request {id}")),
        }
    }

    /// Expects an error for this request as the next line; the id is null for an invalid line.
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

    /// Expects this notification as the next line and returns its params.
    pub async fn expect_notification(&mut self, expected: &str) -> Value {
        match self.next().await {
            MessageFromAgent::Notification { method, params } if method == expected => params,
            _ => self.fail(&format!("the last line is not a {expected} notification")),
        }
    }

    /// Expects a `session/update` as the next line and returns the update.
    pub async fn expect_update(&mut self) -> Value {
        let mut params = self.expect_notification("session/update").await;
        params["update"].take()
    }

    /// Expects a `session/update` with this discriminator as the next line and returns the update.
    pub async fn expect_update_of(&mut self, kind: &str) -> Value {
        let update = self.expect_update().await;
        if update["sessionUpdate"] != kind {
            self.fail(&format!("the last line is not a {kind}"));
        }
        update
    }

    /// Expects an agent event of this kind as the next line and returns its params.
    pub async fn expect_event_of(&mut self, kind: &str) -> Value {
        let params = self.expect_notification("_harn/agentEvent").await;
        if params["kind"] != kind {
            self.fail(&format!("the last line is not a {kind}"));
        }
        params
    }

    /// Expects this request of the agent as the next line and returns its id and params.
    pub async fn expect_request(&mut self, expected: &str) -> (Value, Value) {
        match self.next().await {
            MessageFromAgent::Request { id, method, params } if method == expected => (id, params),
            _ => self.fail(&format!("the last line is not a {expected} request")),
        }
    }

    /// Reads up to the response to this request, expects only updates and agent events before it, and returns the
    /// updates and the result.
    pub async fn collect_updates_until(&mut self, id: &Value) -> (Vec<Value>, Value) {
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

    /// Closes the input, expects no further line and waits until the agent's side ends. Returns the status of a
    /// process.
    pub async fn close(mut self) -> Option<ExitStatus> {
        self.end_input();
        if self.read().await.is_some() {
            self.fail("unexpected last line after the client closed its input");
        }
        self.check_all_answered();
        self.wait_until_ended().await
    }

    /// Closes in the middle: ends the input, discards the remaining output and leaves requests open. The agent's
    /// side must still end.
    pub async fn hang_up(mut self) -> Option<ExitStatus> {
        self.end_input();
        while self.read().await.is_some() {}
        self.wait_until_ended().await
    }

    /// Disconnects like a client that was killed: checks nothing.
    pub fn vanish(mut self) {
        self.link = None;
    }

    pub(crate) fn end_input(&mut self) {
        if let Some(link) = &mut self.link {
            link.close();
        }
    }

    pub(crate) async fn wait_until_ended(&mut self) -> Option<ExitStatus> {
        let link = self.link.take()?;
        match timeout(self.patience, link.wait_until_ended()).await {
            Ok(Ok(status)) => status,
            Ok(Err(error)) => self.fail(&error),
            Err(_) => self.fail("the agent's side of the connection did not end"),
        }
    }

    pub(crate) async fn read(&mut self) -> Option<Vec<u8>> {
        loop {
            let Some(link) = &mut self.link else {
                self.fail("this client has disconnected");
            };
            let line = match timeout(self.patience, link.recv()).await {
                Ok(Ok(line)) => line?,
                Ok(Err(error)) => self.fail(&error),
                Err(_) => self.fail("no message arrived in time"),
            };
            self.recorder.record_line(RecordDirection::ToClient, &line);
            if !is_default_commands_update(&line) {
                return Some(line);
            }
        }
    }

    /// Parses a line as a message and updates the lists of open requests.
    pub(crate) fn accept_line(&mut self, line: &[u8]) -> MessageFromAgent {
        let checked = parse(line).and_then(|message| (self.check)(&message).map(|()| message));
        let message = checked.unwrap_or_else(|problem| self.fail(problem));
        match &message {
            MessageFromAgent::Response {
                id: Value::Null, ..
            }
            | MessageFromAgent::Notification { .. } => {}
            MessageFromAgent::Response { id, .. } => {
                let Some(at) = self.waiting.iter().position(|waiting| waiting == id) else {
                    self.fail("the last line answers no open request");
                };
                self.waiting.remove(at);
            }
            MessageFromAgent::Request { id, .. } => {
                self.recorder.number_request(id);
                if self.owed.contains(id) {
                    self.fail("the id of the last line is already in use");
                }
                self.owed.push(id.clone());
            }
        }
        message
    }

    fn mark_answered(&mut self, id: &Value) {
        match self.owed.iter().position(|owed| owed == id) {
            Some(at) => {
                self.owed.remove(at);
            }
            None => self.fail(&format!("the agent did not ask {id}, or it was answered")),
        }
    }

    pub(crate) fn check_all_answered(&self) {
        if !self.waiting.is_empty() {
            self.fail(&format!(
                "requests that the agent did not answer: {:?}",
                self.waiting
            ));
        }
        if !self.owed.is_empty() {
            self.fail(&format!(
                "requests that the test did not answer: {:?}",
                self.owed
            ));
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
        let mut unread = link.take_unread();
        unread.retain(|line| !is_default_commands_update(line));
        for line in &unread {
            self.recorder.record_line(RecordDirection::ToClient, line);
        }
        if !unread.is_empty() {
            self.fail(&format!(
                "the test did not read the last {} lines",
                unread.len()
            ));
        }
        self.check_all_answered();
    }
}

/// Returns whether this is the line that every opened session sends if its agent has no commands: the list with
/// the runtime's own command. It is recorded, and no test has to expect it.
fn is_default_commands_update(line: &[u8]) -> bool {
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
        return Err("the last line is not a JSON object");
    };
    if members.remove("jsonrpc") != Some(Value::from("2.0")) {
        return Err("the last line lacks `jsonrpc` with the value 2.0");
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
        return Err("the last line has members that JSON-RPC does not define");
    }
    Ok(message)
}
