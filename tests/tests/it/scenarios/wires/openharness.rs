//! An OpenHarness Shell that calls the routes directly. It stores its prompts and the ids of its runs: the
//! protocol has no history except the repeated response of a run.

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode, header},
};
use harn_model::Principal;
use harn_openharness::{OpenHarnessConfig, PATHS, routes};
use harn_testkit::TestHub;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::scenarios::{
    turns::{Ear, End, Ended, Heard},
    wire::{Answer, Wire},
};

pub(crate) struct OpenHarness {
    routes: TowerToHyperService<Router>,
}

/// A conversation and its runs.
pub(crate) struct Talk {
    name: String,
    /// The prompts, each with the id of its run once it is known.
    runs: Vec<(String, Option<Value>)>,
    /// The continuation of the next request.
    continuation: Value,
    response: Option<JoinHandle<Value>>,
    ear: Ear,
}

/// Makes names of conversations and requests unique across all tests of the process.
static NAMED: AtomicUsize = AtomicUsize::new(0);

impl Wire for OpenHarness {
    type Talk = Talk;

    async fn connect(test: &TestHub) -> Self {
        let config = OpenHarnessConfig::new(test.hub().clone(), test.workspace());
        Self {
            routes: TowerToHyperService::new(routes(config)),
        }
    }

    async fn begin(&mut self) -> Talk {
        Talk {
            name: unique_name("talk"),
            runs: Vec::new(),
            continuation: Value::Null,
            response: None,
            ear: Ear::default(),
        }
    }

    async fn prompt(&mut self, talk: &mut Talk, words: &str) {
        talk.runs.push((words.to_owned(), None));
        talk.ear.begin_turn(words);
        self.post(talk, json!({"user_intent": words}));
    }

    async fn wait_for_turn(&mut self, talk: &mut Talk) -> Heard {
        loop {
            if let Some(heard) = talk.ear.take_news() {
                return heard;
            }
            if talk.response.is_none() {
                self.continue_run(talk, Value::Null);
            }
            Self::read_response(talk).await;
        }
    }

    async fn answer(&mut self, talk: &mut Talk, answer: Answer) {
        let decision = match answer {
            Answer::Once => "once",
            Answer::Always => "always",
            Answer::Reject => "reject",
        };
        let approval = json!({"id": talk.ear.open_ask(), "decision": decision});
        talk.ear.close_request();
        self.continue_run(talk, json!({"approval": approval}));
    }

    async fn cancel(&mut self, talk: &mut Talk) {
        // A run has no id until its request is answered; the server answers before the run ends.
        if talk.response.is_some() {
            Self::read_response(talk).await;
        }
        self.continue_run(talk, json!({"cancel": true}));
    }

    async fn load_turns(&mut self, talk: &mut Talk) -> Vec<Heard> {
        talk.ear = Ear::default();
        for at in 0..talk.runs.len() {
            let (words, run) = talk.runs[at].clone();
            talk.ear.begin_turn(&words);
            talk.continuation = json!({"run_id": run});
            self.continue_run(talk, Value::Null);
            Self::read_response(talk).await;
        }
        talk.ear.past_turns()
    }

    async fn leave(self) {}
}

impl OpenHarness {
    /// Sends a request that continues the run, with this extension `dev.harn`.
    fn continue_run(&self, talk: &mut Talk, ours: Value) {
        let mut context = json!({"continuation": talk.continuation});
        if !ours.is_null() {
            context["extensions"] = json!({"dev.harn": ours});
        }
        self.post(talk, context);
    }

    fn post(&self, talk: &mut Talk, mut context: Value) {
        context["session_id"] = json!(talk.name);
        let (id, correlation) = (unique_name("req"), unique_name("corr"));
        let message = json!({
            "protocol_version": "1.0.0",
            "request_id": id,
            "correlation_id": correlation,
            "request": {"context": context},
        });
        let mut request = Request::post(PATHS[0])
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(message.to_string()))
            .unwrap();
        request.extensions_mut().insert(Principal::owner());
        let answered = self.routes.call(request);
        let answer = async move {
            let answer = answered.await.unwrap();
            assert_eq!(answer.status(), StatusCode::OK);
            let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
            let mut answer: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(answer["request_id"], id, "{answer}");
            assert_eq!(answer["correlation_id"], correlation, "{answer}");
            answer["response"].take()
        };
        assert!(talk.response.is_none(), "one request at a time");
        talk.response = Some(tokio::spawn(answer));
    }

    /// Waits for the response to the pending request.
    async fn read_response(talk: &mut Talk) {
        let response = talk.response.take().unwrap().await.unwrap();
        let run = &response["extensions"]["dev.harn"];
        assert!(!run.is_null(), "it tells of no run: {response}");
        talk.continuation = response["continuation"].clone();
        let run_id = &talk.continuation["run_id"];
        if let Some((_, name @ None)) = talk.runs.last_mut() {
            *name = Some(run_id.clone());
        }
        // As far as the response shows the order: calls, messages, requests.
        for call in run["calls"].as_array().unwrap() {
            let ended = match text(&call["status"]) {
                "completed" => Ended::Well,
                "failed" => Ended::Badly,
                _ => Ended::NotYet,
            };
            talk.ear
                .set_tool(text(&call["id"]), text(&call["tool"]), ended);
        }
        for directive in response["action_directives"].as_array().unwrap() {
            let payload = &directive["payload"];
            match text(&directive["action_type"]) {
                "render_message" => talk
                    .ear
                    .append_text(&unique_name("said"), text(&payload["text"])),
                "request_approval" => talk.ear.open_request(text(&payload["id"])),
                "noop" => {}
                other => panic!("{other}: {directive}"),
            }
        }
        let error = &response["error"];
        match (text(&run["state"]), text(&response["status"])) {
            ("running" | "parked", "success") => {}
            ("ended", "success") => talk.ear.end_turn(End::Completed),
            ("ended", "error") if error["code"] == "run_cancelled" => {
                talk.ear.end_turn(End::Cancelled);
            }
            ("failed" | "interrupted", "error") => {
                talk.ear
                    .end_turn(End::Failed(text(&error["message"]).to_owned()));
            }
            other => panic!("{other:?}: {response}"),
        }
    }
}

fn unique_name(what: &str) -> String {
    format!("{what}-{}", NAMED.fetch_add(1, Ordering::Relaxed))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}
