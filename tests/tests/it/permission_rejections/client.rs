//! A client that answers every question in one way, offers its files, terminals and tools or not, serves the
//! requests to a host, and counts them.

use std::{fs, process::Command, time::Duration};

use harn_model::SessionId;
use harn_testkit::{MessageFromAgent, StrictClient, TestHub};
use serde_json::{Value, json};

use crate::permission_rejections::workspace::Place;

/// How the client answers questions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stance {
    Allows,
    /// Allows with these arguments instead.
    Rewrites(Value),
    Rejects,
    RejectsForGood,
    Refuses,
    Cancels,
    Fails,
    KnowsNoQuestions,
    Babbles,
    Leaves,
    Waits,
}

impl Stance {
    /// All stances that must prevent every change.
    pub(crate) const REFUSING: [Self; 9] = [
        Self::Rejects,
        Self::RejectsForGood,
        Self::Refuses,
        Self::Cancels,
        Self::Fails,
        Self::KnowsNoQuestions,
        Self::Babbles,
        Self::Leaves,
        Self::Waits,
    ];
}

/// What happened at the client.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// How many questions it received.
    pub(crate) asked: usize,
    /// The requests to it as a host, other than reads.
    pub(crate) done: Vec<String>,
    /// The response to the prompt, unless the client left.
    pub(crate) stopped: Option<Result<Value, Value>>,
}

/// A client that answers every question in one way.
pub(crate) struct Person<'p> {
    pub(crate) stance: Stance,
    pub(crate) hosts: bool,
    pub(crate) mode: Option<&'static str>,
    pub(crate) place: &'p Place,
    /// Runs before each answer.
    pub(crate) meanwhile: fn(&Place),
}

/// The deadline of a question.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

impl Person<'_> {
    /// Opens a session and sends a prompt; returns what happened up to the end of the turn.
    pub(crate) async fn prompt(&self, test: &TestHub, text: &str) -> Seen {
        let mut client = test.connect().with_patience(DEADLINE * 10);
        client.request("initialize", self.initialize_params()).await;
        let params = json!({"cwd": self.place.workspace, "mcpServers": []});
        let session = client.request("session/new", params).await["sessionId"].take();
        let id = SessionId::from(session.as_str().unwrap());
        if let Some(mode) = self.mode {
            let params = json!({"sessionId": session, "modeId": mode});
            let set = client.send_request("session/set_mode", params).await;
            client.collect_updates_until(&set).await;
        }
        let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
        let prompt = client.send_request("session/prompt", params).await;
        self.attend(test, client, &id, &prompt).await
    }

    fn initialize_params(&self) -> Value {
        let capabilities = match self.hosts {
            true => json!({
                "fs": {"readTextFile": true, "writeTextFile": true},
                "terminal": true,
                "_meta": {"harn": {"profile": "harn", "hostBridge": true}},
            }),
            false => json!({"_meta": {"harn": {"profile": "harn"}}}),
        };
        json!({"protocolVersion": 1, "clientCapabilities": capabilities})
    }

    async fn attend(
        &self,
        test: &TestHub,
        mut client: StrictClient,
        session: &SessionId,
        prompt: &Value,
    ) -> Seen {
        let mut seen = Seen::default();
        loop {
            match client.next().await {
                MessageFromAgent::Request { id, method, params }
                    if method == "session/request_permission" =>
                {
                    seen.asked += 1;
                    (self.meanwhile)(self.place);
                    if self.stance == Stance::Leaves {
                        client.hang_up().await;
                        wait_until_settled(test, session).await;
                        return seen;
                    }
                    self.answer(&mut client, &id, &params).await;
                }
                MessageFromAgent::Request { id, method, params } => {
                    let done = self.serve(&method, &params, &mut seen);
                    match done {
                        Some(result) => client.respond(&id, result).await,
                        None => client.respond_error(&id, -32603, "there is none").await,
                    }
                }
                MessageFromAgent::Response { id, result } if id == *prompt => {
                    seen.stopped = Some(result);
                    client.hang_up().await;
                    return seen;
                }
                MessageFromAgent::Response { .. } | MessageFromAgent::Notification { .. } => {}
            }
        }
    }

    async fn answer(&self, client: &mut StrictClient, id: &Value, params: &Value) {
        let chosen = |kind: &str| {
            let options = params["options"].as_array().unwrap().iter();
            let mut fitting = options.filter(|option| option["kind"] == kind);
            // Not every call can be rejected for good.
            let option = fitting
                .next()
                .map_or("reject_once", |o| o["optionId"].as_str().unwrap());
            json!({"outcome": {"outcome": "selected", "optionId": option}})
        };
        match &self.stance {
            Stance::Allows => client.respond(id, chosen("allow_once")).await,
            Stance::Rewrites(args) => {
                client
                    .respond(id, json!({"granted": true, "args": args}))
                    .await
            }
            Stance::Rejects => client.respond(id, chosen("reject_once")).await,
            Stance::RejectsForGood => client.respond(id, chosen("reject_always")).await,
            Stance::Refuses => client.respond(id, json!({"granted": false})).await,
            Stance::Cancels => {
                client
                    .respond(id, json!({"outcome": {"outcome": "cancelled"}}))
                    .await;
            }
            Stance::Fails => client.respond_error(id, -32603, "no window").await,
            Stance::KnowsNoQuestions => client.respond_error(id, -32601, "Method not found").await,
            Stance::Babbles => client.respond(id, json!({"outcome": "allow_once"})).await,
            Stance::Leaves | Stance::Waits => {}
        }
    }

    /// Serves a request to the host.
    fn serve(&self, method: &str, params: &Value, seen: &mut Seen) -> Option<Value> {
        let path = params["path"].as_str().unwrap_or_default();
        if method == "fs/read_text_file" {
            return fs::read_to_string(path)
                .ok()
                .map(|content| json!({"content": content}));
        }
        seen.done.push(method.to_owned());
        match method {
            "fs/write_text_file" => {
                fs::create_dir_all(std::path::Path::new(path).parent()?).ok()?;
                fs::write(path, params["content"].as_str()?).ok()?;
                Some(json!({}))
            }
            "terminal/create" => {
                let args = params["args"].as_array()?.iter().filter_map(Value::as_str);
                let mut command = Command::new(params["command"].as_str()?);
                command.args(args).current_dir(params["cwd"].as_str()?);
                command.output().ok()?;
                Some(json!({"terminalId": "t1"}))
            }
            "terminal/wait_for_exit" => Some(json!({"exitCode": 0})),
            "terminal/output" => Some(json!({"output": "", "truncated": false})),
            "terminal/release" => Some(json!({})),
            // The tools of the host change the workspace.
            "builtin_call" => {
                fs::write(self.place.workspace.join("by-the-host"), "x").ok()?;
                Some(json!({"ok": true}))
            }
            "host/call" => {
                fs::write(self.place.workspace.join("by-the-host"), "x").ok()?;
                None
            }
            _ => panic!("asked for {method}"),
        }
    }
}

/// Waits until a session without clients has ended its turn.
async fn wait_until_settled(test: &TestHub, session: &SessionId) {
    let session = test.hub().live_session(session).unwrap();
    for _ in 0..1000 {
        if session.view().open_turn.is_none() {
            return;
        }
        tokio::time::sleep(DEADLINE).await;
    }
    panic!("the turn does not end");
}

/// Loads the session in another process and returns its updates. Fails if the client receives a question.
pub(crate) async fn load(test: &TestHub, session: &str, place: &Place) -> Vec<Value> {
    let test = test.start_second();
    let mut client = test.connect().with_patience(DEADLINE * 10);
    let capabilities = json!({"_meta": {"harn": {"profile": "harn"}}});
    let hello = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
    client.request("initialize", hello).await;
    let params = json!({"sessionId": session, "cwd": place.workspace, "mcpServers": []});
    let id = client.send_request("session/load", params).await;
    let (updates, _) = client.collect_updates_until(&id).await;
    let list = client.send_request("session/list", json!({})).await;
    // A question after the load would arrive before this response and fail the test.
    client.collect_updates_until(&list).await;
    client.hang_up().await;
    test.hub().shutdown().await;
    updates
}
