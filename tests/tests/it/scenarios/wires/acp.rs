//! An ACP client. It has event ids, so that the history shows how turns ended.

use std::collections::HashMap;

use harn_model::SessionId;
use harn_testkit::{MessageFromAgent, StrictClient, TestHub};
use harn_tests::initialize_params;
use serde_json::{Map, Value, json};

use crate::scenarios::{
    agent_hub::PATIENCE,
    turns::{Ear, End, Ended, Heard},
    wire::{Answer, Enter, Wire},
};

pub(crate) struct Acp {
    client: StrictClient,
    cwd: Value,
    ears: HashMap<String, Ear>,
    /// Our prompts without a response: the id of the request, and its session.
    prompts: Vec<(Value, String)>,
    /// Permission requests without a response, by the text of their id: the id and the options.
    asks: HashMap<String, (Value, Value)>,
}

impl Wire for Acp {
    type Talk = String;

    async fn connect(test: &TestHub) -> Self {
        let mut client = test.connect().with_patience(PATIENCE);
        let wishes = Map::from_iter([("eventIds".to_owned(), json!(true))]);
        client
            .request("initialize", initialize_params(&wishes))
            .await;
        Self {
            client,
            cwd: json!(test.workspace()),
            ears: HashMap::new(),
            prompts: Vec::new(),
            asks: HashMap::new(),
        }
    }

    async fn begin(&mut self) -> String {
        let params = json!({"cwd": self.cwd, "mcpServers": []});
        let made = self.request("session/new", params).await;
        made["sessionId"].as_str().unwrap().to_owned()
    }

    async fn prompt(&mut self, talk: &mut String, words: &str) {
        let blocks = json!([{"type": "text", "text": words}]);
        let params = json!({"sessionId": talk, "prompt": blocks});
        let id = self.client.send_request("session/prompt", params).await;
        self.prompts.push((id, talk.clone()));
        self.ear(talk).begin_turn(words);
    }

    async fn wait_for_turn(&mut self, talk: &mut String) -> Heard {
        loop {
            let waits = self.prompts.iter().any(|(_, session)| session == talk);
            let ear = self.ear(talk);
            // Our own turn ends with the response to its prompt.
            if (ear.last_end().is_none() || !waits)
                && let Some(heard) = ear.take_news()
            {
                return heard;
            }
            let message = self.client.next().await;
            self.handle_message(message).await;
        }
    }

    async fn answer(&mut self, talk: &mut String, answer: Answer) {
        let ask = self.ear(talk).open_ask().map(str::to_owned);
        let (id, options) = self.asks.remove(&ask.unwrap()).unwrap();
        let kind = match answer {
            Answer::Once => "allow_once",
            Answer::Always => "allow_always",
            Answer::Reject => "reject_once",
        };
        let mut options = options.as_array().unwrap().iter();
        let option = options.find(|option| option["kind"] == kind).unwrap();
        let outcome = json!({"outcome": "selected", "optionId": option["optionId"]});
        self.client.respond(&id, json!({"outcome": outcome})).await;
        self.ear(talk).close_request();
    }

    async fn cancel(&mut self, talk: &mut String) {
        let params = json!({"sessionId": talk});
        self.client.notify("session/cancel", params).await;
    }

    async fn load_turns(&mut self, talk: &mut String) -> Vec<Heard> {
        let params = json!({"sessionId": talk, "cwd": self.cwd, "mcpServers": []});
        self.request("session/load", params).await;
        // The server sends an open request after the replay.
        while !self.ear(talk).is_settled() {
            let message = self.client.next().await;
            self.handle_message(message).await;
        }
        self.ear(talk).past_turns()
    }

    async fn leave(self) {
        self.client.hang_up().await;
    }
}

impl Enter for Acp {
    fn talk_from_session(session: &SessionId) -> String {
        session.as_str().to_owned()
    }
}

impl Acp {
    fn ear(&mut self, session: &str) -> &mut Ear {
        self.ears.entry(session.to_owned()).or_default()
    }

    /// Sends a request and handles the messages before its response.
    async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.client.send_request(method, params).await;
        loop {
            match self.client.next().await {
                MessageFromAgent::Response { id: of, result } if of == id => {
                    return result.unwrap();
                }
                other => self.handle_message(other).await,
            }
        }
    }

    async fn handle_message(&mut self, message: MessageFromAgent) {
        match message {
            MessageFromAgent::Response { id, result } => {
                let at = self.prompts.iter().position(|(prompt, _)| *prompt == id);
                let (_, session) = self.prompts.remove(at.unwrap());
                let end = match result {
                    Ok(result) => parse_end(&result["stopReason"], &Value::Null),
                    Err(error) => parse_end(&Value::Null, &error["message"]),
                };
                let told = self.ear(&session).last_end();
                assert_eq!(told, Some(&end), "the event and the answer differ");
            }
            MessageFromAgent::Request { id, method, params } => {
                assert_eq!(method, "session/request_permission");
                let (key, session) = (id.to_string(), params["sessionId"].as_str().unwrap());
                self.ear(session).open_request(&key);
                self.asks.insert(key, (id, params["options"].clone()));
            }
            MessageFromAgent::Notification { method, params } => match method.as_str() {
                "$/cancel_request" => {
                    // Another client answered, or the request is void: a withdrawn request gets a response too.
                    if let Some((id, _)) = self.asks.remove(&params["requestId"].to_string()) {
                        let cancelled = json!({"outcome": {"outcome": "cancelled"}});
                        self.client.respond(&id, cancelled).await;
                    }
                }
                "session/update" => self.handle_update(&params),
                "_harn/agentEvent" if params["kind"] == "turn_ended" => {
                    let end = parse_end(&params["stopReason"], &params["error"]);
                    self.ear(params["sessionId"].as_str().unwrap())
                        .end_turn(end);
                }
                "_harn/agentEvent" => {}
                other => panic!("{other}: {params}"),
            },
        }
    }

    fn handle_update(&mut self, params: &Value) {
        let update = &params["update"];
        let word = |member: &str| update[member].as_str().unwrap_or_default();
        let text = update["content"]["text"].as_str().unwrap_or_default();
        let ear = self.ear(params["sessionId"].as_str().unwrap());
        match word("sessionUpdate") {
            "user_message_chunk" => ear.begin_turn(text),
            "agent_message_chunk" => ear.append_text(word("messageId"), text),
            // The agent sets no titles, so the title of a call is the name of its tool.
            "tool_call" | "tool_call_update" => {
                let ended = match word("status") {
                    "completed" => Ended::Well,
                    "failed" => Ended::Badly,
                    _ => Ended::NotYet,
                };
                ear.set_tool(word("toolCallId"), word("title"), ended);
            }
            _ => {}
        }
    }
}

fn parse_end(stop_reason: &Value, error: &Value) -> End {
    match (stop_reason.as_str(), error.as_str()) {
        (Some("end_turn"), None) => End::Completed,
        (Some("cancelled"), None) => End::Cancelled,
        (None, Some(error)) => End::Failed(error.to_owned()),
        other => panic!("no end: {other:?}"),
    }
}
