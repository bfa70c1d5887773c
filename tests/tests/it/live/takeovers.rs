//! Control changes while a turn streams: no client misses a line or receives it twice, and one client at a time
//! receives the questions.

use std::collections::BTreeSet;

use harn_model::{StopReason, ToolKind};
use harn_runtime::{AgentError, TurnContext};
use harn_testkit::{MessageFromAgent, ScriptedAgent, StrictClient, TestHub};
use serde_json::{Value, json};

use crate::live::connect;

const CHUNKS: usize = 400;

/// Sends chunks, and asks for permission in between.
async fn stream_and_ask(cx: TurnContext) -> Result<StopReason, AgentError> {
    for n in 0..CHUNKS {
        cx.say(format!("{n} ")).await?;
        if n % 100 == 50 {
            let tool = cx.tool("write_file").kind(ToolKind::Edit).path("notes.md");
            match tool.ask().await {
                Ok(tool) => tool.complete(()).await?,
                Err(AgentError::Denied { .. }) => {}
                Err(other) => return Err(other),
            }
        }
    }
    Ok(StopReason::EndTurn)
}

/// The messages that one client has received.
#[derive(Default)]
struct Heard {
    ids: Vec<String>,
    text: String,
    controllers: Vec<Value>,
    answered: BTreeSet<String>,
    done: bool,
}

/// A client that reads everything, answers all questions, and takes control now and then.
struct Person {
    name: String,
    client: StrictClient,
    session: Value,
    heard: Heard,
    waiting: usize,
}

impl Person {
    async fn attach(test: &TestHub, name: &str, session: &Value) -> Self {
        let mut client = connect(test).await;
        let params = json!({"sessionId": session, "clientId": name, "lastEventId": "0"});
        client.send_request("session/attach", params).await;
        Self {
            name: name.to_owned(),
            client,
            session: session.clone(),
            heard: Heard::default(),
            waiting: 1,
        }
    }

    async fn take_over(&mut self) {
        let params = json!({"sessionId": self.session, "clientId": self.name});
        self.client.send_request("session/takeover", params).await;
        self.waiting += 1;
    }

    async fn read_line(&mut self) {
        match self.client.next().await {
            MessageFromAgent::Notification { method, params } => {
                if method == "$/cancel_request" {
                    return;
                }
                if let Some(id) = params["_meta"]["harn"]["eventId"].as_str() {
                    self.heard.ids.push(id.to_owned());
                }
                let update = &params["update"];
                if update["sessionUpdate"] == "agent_message_chunk" {
                    self.heard.text += update["content"]["text"].as_str().unwrap();
                }
                if update["sessionUpdate"] == "live_session_client" {
                    let state = &update["_meta"]["harn"]["state"];
                    self.heard
                        .controllers
                        .push(state["active_controller_id"].clone());
                }
                self.heard.done |= params["kind"] == "turn_ended";
            }
            MessageFromAgent::Request { id, params, .. } => {
                let call = params["toolCall"]["toolCallId"].as_str().unwrap();
                self.heard.answered.insert(call.to_owned());
                let allow = json!({"outcome": {"outcome": "selected", "optionId": "allow_once"}});
                self.client.respond(&id, allow).await;
            }
            MessageFromAgent::Response { result, .. } => {
                result.unwrap();
                self.waiting -= 1;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_client_receives_each_line_once_during_takeovers() {
    let test = TestHub::new(ScriptedAgent::new(stream_and_ask));
    let mut editor = connect(&test).await;
    let params = json!({"cwd": test.workspace(), "mcpServers": []});
    let session = editor.request("session/new", params).await["sessionId"].take();
    let blocks = json!([{"type": "text", "text": "Count."}]);
    let params = json!({"sessionId": session, "prompt": blocks});
    editor.send_request("session/prompt", params).await;
    let mut people = Vec::new();
    for name in ["ada", "ben", "cy"] {
        people.push(Person::attach(&test, name, &session).await);
    }
    let each = people.into_iter().enumerate().map(|(at, mut person)| {
        tokio::spawn(async move {
            // The clients take over out of step with each other, until the turn has ended.
            let mut lines = 0;
            while !person.heard.done || person.waiting > 0 {
                person.read_line().await;
                lines += 1;
                if lines % (11 + 4 * at) == 0 && !person.heard.done {
                    person.take_over().await;
                }
            }
            person
        })
    });
    let each: Vec<_> = each.collect();
    let mut people = Vec::new();
    for person in each {
        people.push(person.await.unwrap());
    }
    let whole: String = (0..CHUNKS).map(|n| format!("{n} ")).collect();
    for person in &people {
        assert_eq!(person.heard.text, whole, "{}", person.name);
        let ids = &person.heard.ids;
        let unique: BTreeSet<_> = ids.iter().collect();
        assert_eq!(
            unique.len(),
            ids.len(),
            "{} heard a line twice",
            person.name
        );
    }
    let controllers = |person: &Person| person.heard.controllers.clone();
    let fewest = people
        .iter()
        .map(|p| p.heard.controllers.len())
        .min()
        .unwrap();
    assert!(fewest > 10, "control hardly moved");
    for pair in people.windows(2) {
        assert_eq!(
            controllers(&pair[0])[..fewest],
            controllers(&pair[1])[..fewest]
        );
    }
    let answered: BTreeSet<_> = people.iter().flat_map(|p| &p.heard.answered).collect();
    assert!(!answered.is_empty());
    for person in people {
        person.client.vanish();
    }
    editor.vanish();
}
