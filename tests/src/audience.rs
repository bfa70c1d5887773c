//! A session with a controller and an observer, so that a test can compare the live updates with a replay.
//!
//! For tests with a paused clock: a timeout shows that no further message arrives.

use std::{path::Path, time::Duration};

use harn_acp::AcpConfig;
use harn_testkit::{MessageFromAgent, Recorder, StrictClient, TestHub};
use serde_json::{Map, Value, json};

use crate::initialize_params;

/// The two clients of one session, with everything the observer received.
pub struct Audience {
    test: TestHub,
    wishes: Value,
    driver: StrictClient,
    watcher: StrictClient,
    session: Value,
    seen: Vec<Value>,
}

/// The messages that three clients of one session received.
pub struct Heard {
    /// The notifications that the observer received.
    pub live: Vec<Value>,
    /// The notifications up to the response, for a client that loads the session in another process.
    pub replayed: Vec<Value>,
    /// The transcripts of the controller, the observer and the client that loaded the session.
    pub transcripts: [String; 3],
}

/// Longer than any step takes; with a paused clock it elapses at once.
const SILENCE: Duration = Duration::from_secs(30);

impl Audience {
    /// Opens a session for a controller of this profile and attaches an observer.
    pub async fn open(test: TestHub, profile: &str) -> Self {
        Self::open_with(test, &json!({"profile": profile, "hostBridge": true})).await
    }

    /// Like [`Self::open`], for clients that send these members under `clientCapabilities._meta.harn`.
    pub async fn open_with(test: TestHub, wishes: &Value) -> Self {
        let mut driver = connect(&test, wishes).await;
        let params = json!({"cwd": test.workspace(), "mcpServers": []});
        let session = driver.request("session/new", params).await["sessionId"].take();
        let mut watcher = connect(&test, wishes).await;
        let load = load(&mut watcher, &test, &session, None).await;
        let before = read_until_response(&mut watcher, &load).await;
        assert!(before.is_empty(), "a new session has a past: {before:?}");
        let mut audience = Self {
            test,
            wishes: wishes.clone(),
            driver,
            watcher,
            session,
            seen: Vec::new(),
        };
        // Every client receives the available commands when it opens a session; they are not events of the session.
        audience.read_remaining().await;
        audience.seen.clear();
        audience
    }

    /// The hub and the session id, to steer the session without a client.
    #[must_use]
    pub fn session(&self) -> (&TestHub, &str) {
        (&self.test, self.session.as_str().unwrap_or_default())
    }

    /// Sends a prompt, answers the agent's requests, and cancels when no message arrives any more, or at once
    /// if `cancel_at_once`. Returns the response to the prompt.
    pub async fn play(&mut self, text: &str, cancel_at_once: bool) -> Result<Value, Value> {
        let prompt = json!([{"type": "text", "text": text}]);
        let params = json!({"sessionId": self.session, "prompt": prompt});
        let request = self.driver.send_request("session/prompt", params).await;
        let cancel = json!({"sessionId": self.session});
        let mut cancelled = cancel_at_once;
        if cancelled {
            self.driver.notify("session/cancel", cancel.clone()).await;
        }
        let answer = loop {
            let Some(message) = next(&mut self.driver).await else {
                assert!(!cancelled, "a cancelled turn does not end");
                cancelled = true;
                self.driver.notify("session/cancel", cancel.clone()).await;
                continue;
            };
            match message {
                MessageFromAgent::Response { id, result } if id == request => break result,
                MessageFromAgent::Request { id, method, params } => {
                    self.driver
                        .respond(&id, allowing_answer(&method, &params))
                        .await;
                }
                MessageFromAgent::Notification { .. } | MessageFromAgent::Response { .. } => {}
            }
        };
        self.read_remaining().await;
        answer
    }

    /// Reads the remaining messages of both clients. The observer receives the permission requests too; they
    /// are settled by now.
    async fn read_remaining(&mut self) {
        while next(&mut self.driver).await.is_some() {}
        while let Some(message) = next(&mut self.watcher).await {
            match message {
                MessageFromAgent::Notification { method, params }
                    if method != "$/cancel_request" =>
                {
                    self.seen.push(json!({"method": method, "params": params}));
                }
                MessageFromAgent::Request { id, .. } => {
                    let cancelled = json!({"outcome": {"outcome": "cancelled"}});
                    self.watcher.respond(&id, cancelled).await;
                }
                MessageFromAgent::Notification { .. } | MessageFromAgent::Response { .. } => {}
            }
        }
    }

    /// The notifications that the observer received so far.
    #[must_use]
    pub fn observer_notifications(&self) -> &[Value] {
        &self.seen
    }

    /// Loads the session after this event id and returns the replayed notifications.
    pub async fn load_after(&self, last: Option<&str>) -> Vec<Value> {
        let mut reader = connect(&self.test, &self.wishes).await;
        let load = load(&mut reader, &self.test, &self.session, last).await;
        let shown = read_until_response(&mut reader, &load).await;
        while next(&mut reader).await.is_some() {}
        reader.close().await;
        shown
    }

    /// Closes the session and loads it in another process.
    pub async fn end(self) -> Heard {
        self.end_with(|_| ()).await
    }

    /// Like [`Self::end`], but changes the session's log before it is loaded.
    pub async fn end_with(mut self, tamper: impl FnOnce(&Path)) -> Heard {
        let params = json!({"sessionId": self.session});
        let close = self.driver.send_request("session/close", params).await;
        read_until_response(&mut self.driver, &close).await;
        self.read_remaining().await;
        let mut transcripts = vec![self.driver.recorder().transcript()];
        transcripts.push(self.watcher.recorder().transcript());
        self.driver.close().await;
        self.watcher.close().await;
        self.test.hub().shutdown().await;
        let id = self.session.as_str().unwrap_or_default();
        tamper(&self.test.log_path(&id.into()));
        self.test = self.test.start_second();
        let mut reader = connect(&self.test, &self.wishes).await;
        let load = load(&mut reader, &self.test, &self.session, None).await;
        let replayed = read_until_response(&mut reader, &load).await;
        while next(&mut reader).await.is_some() {}
        let transcript = reader.recorder().transcript();
        reader.close().await;
        let [drove, watched] = <[_; 2]>::try_from(transcripts).unwrap_or_default();
        Heard {
            live: self.seen,
            replayed,
            transcripts: [drove, watched, transcript],
        }
    }
}

/// Connects a client that records its own transcript.
async fn connect(test: &TestHub, wishes: &Value) -> StrictClient {
    let (hub, recorder) = (test.hub().clone(), Recorder::default());
    let mut client =
        StrictClient::in_memory(hub, AcpConfig::default(), recorder).with_patience(SILENCE * 100);
    let wishes = wishes.as_object().map_or_else(Map::new, Clone::clone);
    client
        .request("initialize", initialize_params(&wishes))
        .await;
    client
}

async fn load(
    client: &mut StrictClient,
    test: &TestHub,
    session: &Value,
    last: Option<&str>,
) -> Value {
    let mut params = json!({"sessionId": session, "cwd": test.workspace(), "mcpServers": []});
    if let Some(last) = last {
        params["lastEventId"] = last.into();
    }
    client.send_request("session/load", params).await
}

/// Returns the next message, or `None` when no more arrive. Skips idle notifications: they are sent live only.
async fn next(client: &mut StrictClient) -> Option<MessageFromAgent> {
    let something = async {
        loop {
            match client.next().await {
                MessageFromAgent::Notification { method, params }
                    if is_idle_notification(&method, &params) => {}
                other => return other,
            }
        }
    };
    tokio::time::timeout(SILENCE, something).await.ok()
}

fn is_idle_notification(method: &str, params: &Value) -> bool {
    method == "agent/idle" || params["kind"] == "agent_idle"
}

/// Returns the notifications before the response to this request.
async fn read_until_response(client: &mut StrictClient, request: &Value) -> Vec<Value> {
    let mut before = Vec::new();
    loop {
        match client.next().await {
            MessageFromAgent::Response { id, result: Ok(_) } if id == *request => return before,
            MessageFromAgent::Notification { method, params } => {
                before.push(json!({"method": method, "params": params}));
            }
            other => panic!("{other:?}"),
        }
    }
}

/// The answer of a client that allows every request.
fn allowing_answer(method: &str, params: &Value) -> Value {
    match method {
        "session/request_permission" => {
            let options = params["options"].as_array().into_iter().flatten();
            let mut allowing = options.filter(|option| option["kind"] == "allow_once");
            let option = allowing
                .next()
                .map_or(&Value::Null, |option| &option["optionId"]);
            json!({"outcome": {"outcome": "selected", "optionId": option}})
        }
        "host/call" => json!({"shells": [], "default_shell_id": null}),
        _ => json!(4),
    }
}
