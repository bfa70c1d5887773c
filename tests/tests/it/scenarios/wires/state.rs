//! A page: it stores the session's document, with one socket per conversation. The document is the same live
//! and from the history.
//!
//! The document shows that a run is over and whether it failed. The timeline shows whether it was cancelled,
//! and why an earlier one failed; both must agree.

use std::collections::HashMap;

use axum::{
    Extension, Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use harn_model::{Principal, SessionId};
use harn_state::{StateConfig, routes};
use harn_testkit::TestHub;
use harn_tests::{Page, Told};
use hyper::service::Service;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use serde_json::{Value, json};
use tokio::io::DuplexStream;

use crate::scenarios::{
    turns::{Ear, End, Ended, Heard},
    wire::{Answer, Enter, Wire},
};

/// The buffer size of an in-memory stream.
const ON_THE_WAY: usize = 64 * 1024;

pub(crate) struct State {
    routes: TowerToHyperService<Router>,
    /// The client name, if it has one.
    name: Option<String>,
    sockets: HashMap<String, Socket>,
}

struct Socket {
    page: Page<DuplexStream>,
    /// The last turn that was returned: its number, and the id of its open request if it was not over.
    told: Option<News>,
}

type News = (usize, Option<String>);

impl Wire for State {
    type Talk = String;

    async fn connect(test: &TestHub) -> Self {
        let config = StateConfig::new(test.hub().clone(), test.workspace());
        let routes = routes(config).layer(Extension(Principal::owner()));
        Self {
            routes: TowerToHyperService::new(routes),
            name: None,
            sockets: HashMap::new(),
        }
    }

    async fn begin(&mut self) -> String {
        self.open(None).await
    }

    async fn prompt(&mut self, talk: &mut String, words: &str) {
        self.page(talk).submit(words).await.unwrap();
    }

    async fn wait_for_turn(&mut self, talk: &mut String) -> Heard {
        loop {
            let socket = self.sockets.get_mut(talk).unwrap();
            let news = last_settled_turn(socket.page.state());
            if news.is_some() && news != socket.told {
                socket.told = news;
                return self.read_turns(talk).await.pop().unwrap();
            }
            self.read_frame(talk).await;
        }
    }

    async fn answer(&mut self, talk: &mut String, answer: Answer) {
        let ask = self.page(talk).state()["approvals"][0].clone();
        let call = &ask["toolCallId"];
        let command = match answer {
            Answer::Once => json!({"type": "approve", "toolCallId": call}),
            Answer::Always => {
                let mut options = ask["options"].as_array().unwrap().iter();
                let always = options.find(|option| option["kind"] == "allow_always");
                let option = &always.unwrap()["id"];
                json!({"type": "approve", "toolCallId": call, "optionId": option})
            }
            Answer::Reject => json!({"type": "deny", "toolCallId": call}),
        };
        self.send_command(talk, command).await;
    }

    async fn cancel(&mut self, talk: &mut String) {
        self.send_command(talk, json!({"type": "cancel"})).await;
    }

    async fn load_turns(&mut self, talk: &mut String) -> Vec<Heard> {
        self.open(Some(talk)).await;
        let news = loop {
            if let Some(news) = last_settled_turn(self.page(talk).state()) {
                break news;
            }
            self.read_frame(talk).await;
        };
        self.sockets.get_mut(talk).unwrap().told = Some(news);
        self.read_turns(talk).await
    }

    async fn leave(self) {
        for socket in self.sockets.into_values() {
            socket.page.leave().await;
        }
    }
}

impl Enter for State {
    fn talk_from_session(session: &SessionId) -> String {
        session.as_str().to_owned()
    }
}

impl State {
    /// Sets the client name, under which the page can take control.
    pub(crate) fn with_name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Opens a session that has no messages yet.
    pub(crate) async fn enter(&mut self, session: &str) {
        self.open(Some(session)).await;
    }

    pub(crate) fn page(&mut self, talk: &str) -> &mut Page<DuplexStream> {
        &mut self.sockets.get_mut(talk).unwrap().page
    }

    pub(crate) async fn send_command(&mut self, talk: &str, command: Value) {
        self.page(talk).send(json!([command])).await.unwrap();
    }

    /// Opens a socket to this session or to a new one; returns the session id.
    async fn open(&mut self, session: Option<&str>) -> String {
        let (client, server) = tokio::io::duplex(ON_THE_WAY);
        let connection = hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(server), self.routes.clone())
            .with_upgrades();
        tokio::spawn(connection);
        let session = format!("session={}", session.unwrap_or("new"));
        let name = self.name.as_ref().map(|name| format!("client={name}"));
        let query: Vec<_> = std::iter::once(session).chain(name).collect();
        let url = format!("ws://localhost/ws?{}", query.join("&"));
        let page = Page::open(client, url).await.unwrap();
        let session = page.session().to_owned();
        let socket = Socket { page, told: None };
        self.sockets.insert(session.clone(), socket);
        session
    }

    async fn read_frame(&mut self, talk: &str) {
        match self.page(talk).next().await.unwrap() {
            Told::State | Told::Delta => {}
            other @ (Told::Error(_) | Told::Closed(_)) => panic!("{other:?}"),
        }
    }

    /// Returns all turns; the last one is over or waits for a decision.
    async fn read_turns(&mut self, talk: &str) -> Vec<Heard> {
        let ends = self.read_ends(talk).await;
        let state = self.page(talk).state();
        let mut ear = Ear::default();
        // The timeline may have more ends than the document: it is read now, and the document is as old as its
        // last frame.
        let mut ends = ends.into_iter();
        let turns = split_turns(state);
        let last = turns.len() - 1;
        for (at, turn) in turns.into_iter().enumerate() {
            let [prompt, said @ ..] = turn else {
                panic!("a turn begins with what was asked");
            };
            ear.begin_turn(text(&prompt["content"]));
            for message in said {
                fold(&mut ear, message);
            }
            if at == last && status(state) == "running" {
                ear.open_request(text(&state["approvals"][0]["id"]));
                continue;
            }
            let end = ends.next().unwrap();
            let failed = matches!(end, End::Failed(_));
            let shown = said.last().map(|message| text(&message["status"]));
            let expected = if failed { "error" } else { "complete" };
            assert_eq!(shown, Some(expected), "{end:?}: {said:?}");
            if at == last {
                let expected = if failed { "error" } else { "idle" };
                assert_eq!(status(state), expected, "{end:?}");
            }
            // The document has the reason until the next turn begins.
            match state["error"].as_str() {
                Some(shown) if at == last => ear.end_turn(End::Failed(shown.to_owned())),
                _ => ear.end_turn(end),
            }
        }
        ear.past_turns()
    }

    /// Reads the ends of the turns from the timeline.
    async fn read_ends(&self, talk: &str) -> Vec<End> {
        let (mut ends, mut after) = (Vec::new(), json!(0));
        while !after.is_null() {
            let uri = format!("/state/timeline?session={talk}&after={after}");
            let request = Request::get(uri).body(Body::empty()).unwrap();
            let answer = self.routes.call(request).await.unwrap();
            assert_eq!(answer.status(), StatusCode::OK);
            let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
            let page: Value = serde_json::from_slice(&body).unwrap();
            ends.extend(
                page["rows"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter_map(parse_end),
            );
            after = page["next"].clone();
        }
        ends
    }
}

/// The number of the last turn, if it is over or waits for a decision.
fn last_settled_turn(state: &Value) -> Option<News> {
    let turns = split_turns(state).len();
    let ask = state["approvals"][0]["id"].as_str();
    match (turns, status(state), ask) {
        (0, ..) | (_, "running", None) => None,
        (_, "running", Some(ask)) => Some((turns, Some(ask.to_owned()))),
        _ => Some((turns, None)),
    }
}

/// Splits the messages by turn. Omits queued prompts; no scenario steers a running turn.
fn split_turns(state: &Value) -> Vec<&[Value]> {
    let messages = state["messages"].as_array().unwrap();
    let pending = |it: &Value| it["role"] == "user" && it["status"] == "pending";
    let settled = messages.iter().position(pending);
    let messages = &messages[..settled.unwrap_or(messages.len())];
    let turns = messages.chunk_by(|_, next| next["role"] != "user");
    turns.collect()
}

fn fold(ear: &mut Ear, message: &Value) {
    assert_eq!(message["role"], "assistant", "{message}");
    let said = text(&message["content"]);
    // An agent may call tools without any text.
    if !said.is_empty() {
        ear.append_text(text(&message["id"]), said);
    }
    for call in message["toolCalls"].as_array().unwrap() {
        let ended = match text(&call["status"]) {
            "running" => Ended::NotYet,
            "complete" => Ended::Well,
            "error" => Ended::Badly,
            other => panic!("{other}: {call}"),
        };
        ear.set_tool(text(&call["id"]), text(&call["name"]), ended);
    }
}

/// Returns the end of a turn if the row shows one.
fn parse_end(row: &Value) -> Option<End> {
    let title = text(&row["title"]);
    if row["kind"] != "session" {
        None
    } else if title == "The turn ended" {
        Some(End::Completed)
    } else if title == "The turn was cancelled" {
        Some(End::Cancelled)
    } else if title.starts_with("The turn failed: ") {
        Some(End::Failed(text(&row["text"]).to_owned()))
    } else if title.starts_with("Recovered after a crash: ") && row["turn"].is_string() {
        Some(End::Failed(title.to_owned()))
    } else {
        None
    }
}

fn status(state: &Value) -> &str {
    text(&state["status"])
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}
