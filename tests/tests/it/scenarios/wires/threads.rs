//! A client of the threads protocol. It folds live notifications and the events of a history in the same way.

use std::collections::HashMap;

use harn_model::SessionId;
use harn_testkit::{MessageFromAgent, TestHub, ThreadsClient};
use serde_json::{Value, json};

use crate::scenarios::{
    turns::{Ear, End, Ended, Heard},
    wire::{Answer, Enter, Wire},
};

pub(crate) struct Threads {
    client: ThreadsClient,
    ears: HashMap<String, Ear>,
}

impl Wire for Threads {
    type Talk = String;

    async fn connect(test: &TestHub) -> Self {
        let mut threads = Self {
            client: test.connect_threads(),
            ears: HashMap::new(),
        };
        let told = threads.request("initialize", json!({})).await;
        assert_eq!(told["capabilities"]["turns"], true, "{told}");
        threads
    }

    async fn begin(&mut self) -> String {
        let made = self.request("thread.create", json!({})).await;
        text(&made["thread"]["threadId"])
    }

    async fn prompt(&mut self, talk: &mut String, words: &str) {
        let input = json!([{"type": "text", "text": words}]);
        let params = json!({"threadId": talk, "input": input});
        self.request("turn.start", params).await;
    }

    async fn wait_for_turn(&mut self, talk: &mut String) -> Heard {
        loop {
            if let Some(heard) = self.ear(talk).take_news() {
                return heard;
            }
            match self.client.next().await {
                MessageFromAgent::Notification { params, .. } => self.handle_event(&params),
                other => panic!("{other:?}"),
            }
        }
    }

    async fn answer(&mut self, talk: &mut String, answer: Answer) {
        let ask = self.ear(talk).open_ask().map(str::to_owned);
        let decision = match answer {
            Answer::Once => "once",
            Answer::Always => "always",
            Answer::Reject => "reject",
        };
        let params = json!({"requestId": ask, "decision": decision});
        let done = self.request("approval.respond", params).await;
        assert_eq!(done, json!({"ok": true}));
    }

    async fn cancel(&mut self, talk: &mut String) {
        let done = self.request("turn.cancel", json!({"threadId": talk})).await;
        assert_eq!(done, json!({"ok": true}));
    }

    async fn load_turns(&mut self, talk: &mut String) -> Vec<Heard> {
        let got = self.request("thread.get", json!({"threadId": talk})).await;
        let mut ear = Ear::default();
        for event in got["events"].as_array().unwrap() {
            fold(&mut ear, event);
        }
        let past = ear.past_turns();
        self.ears.insert(talk.clone(), ear);
        past
    }

    async fn leave(self) {
        self.client.hang_up().await;
    }
}

impl Enter for Threads {
    fn talk_from_session(session: &SessionId) -> String {
        session.as_str().to_owned()
    }
}

impl Threads {
    fn ear(&mut self, thread: &str) -> &mut Ear {
        self.ears.entry(thread.to_owned()).or_default()
    }

    /// Sends a request and handles the messages before its response.
    async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.client.send_request(method, params).await;
        loop {
            match self.client.next().await {
                MessageFromAgent::Notification { params, .. } => self.handle_event(&params),
                MessageFromAgent::Response { id: of, result } if of == id => {
                    return result.unwrap();
                }
                other => panic!("{method}: {other:?}"),
            }
        }
    }

    fn handle_event(&mut self, event: &Value) {
        let thread = match &event["threadId"] {
            Value::Null => &event["item"]["threadId"],
            thread => thread,
        };
        let thread = text(thread);
        fold(self.ear(&thread), event);
    }
}

fn fold(ear: &mut Ear, event: &Value) {
    let item = &event["item"];
    match event["notification"].as_str().unwrap() {
        "turn.started" => ear.begin_turn(""),
        "turn.completed" => ear.end_turn(End::Completed),
        "turn.error" if event["status"] == "cancelled" => ear.end_turn(End::Cancelled),
        "turn.error" => ear.end_turn(End::Failed(text(&event["error"]))),
        "item.started" => match item["type"].as_str().unwrap() {
            "user_message" => {
                let parts = item["data"]["parts"].as_array().unwrap();
                let words: Vec<_> = parts.iter().map(|part| text(&part["text"])).collect();
                ear.set_prompt(&words.concat());
            }
            "tool_exec" => {
                let (call, name) = (text(&item["itemId"]), text(&item["data"]["tool"]));
                ear.set_tool(&call, &name, Ended::NotYet);
            }
            _ => {}
        },
        "item.delta" => {
            if event["type"] == "assistant_message" && event["reasoning"] != true {
                ear.append_text(&text(&event["itemId"]), &text(&event["delta"]));
            }
        }
        "item.completed" => match event["type"].as_str() {
            Some("tool_exec") => {
                let ended = match event["data"].get("error") {
                    Some(_) => Ended::Badly,
                    None => Ended::Well,
                };
                ear.set_tool(&text(&event["itemId"]), "", ended);
            }
            Some("approval") => ear.close_request(),
            // The deltas before it have the whole text.
            Some("assistant_message") | None => {}
            Some(other) => panic!("{other}: {event}"),
        },
        "approval.requested" => ear.open_request(&text(&event["requestId"])),
        "thread.created" => {}
        other => panic!("{other}: {event}"),
    }
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("no text: {value}"))
        .to_owned()
}
