//! The lines to check, each with its kind.

use std::{collections::HashMap, fs};

use harn_journal::{JsonlStore, META_VERSION, SessionMeta, Store};
use harn_model::SessionId;
use harn_testkit::{FakeClock, MessageFromAgent, RecordDirection, ScriptedAgent, TestHub};
use harn_tests::{initialize_params, repository_path};
use serde_json::{Map, Value, json};

/// A line to the client.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) what: What,
    /// The params, result or error.
    pub(crate) value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Update,
    AgentEvent,
    Notification(String),
    /// A request of the agent.
    Request(String),
    /// A result for a request of this method.
    Response(String),
    Error,
}

/// A fixture of a single message: its name, its profile, and the message.
pub(crate) struct Single {
    pub(crate) name: String,
    pub(crate) profile: &'static str,
    pub(crate) message: Value,
    pub(crate) line: Line,
}

/// Returns every fixture of a single message.
pub(crate) fn read_single_messages() -> Vec<Single> {
    let mut singles = Vec::new();
    for file in fs::read_dir(repository_path("fixtures/acp")).unwrap() {
        let path = file.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap();
        let Some(name) = file.strip_suffix(".json") else {
            continue;
        };
        // This file has copies of the others.
        if name == "session_update_extensions" {
            continue;
        }
        let message: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        // A response does not have the method of its request; the name of the file does.
        let asked = match name.split('.').next().unwrap() {
            "initialize-result" | "initialize-result-host-bridge" => "initialize",
            "session_new-result" | "session_new-result-mcp" => "session/new",
            "session_prompt-result" => "session/prompt",
            _ => "",
        };
        let request = json!({"id": message["id"], "method": asked});
        let conversation = [(false, request), (true, message.clone())];
        let line = lines(conversation.into_iter()).remove(0);
        let profile = match name.rsplit_once('.') {
            Some((_, "meta")) => "meta",
            Some((_, "acp")) => "acp",
            Some(_) => panic!("{name}: no such profile"),
            None => "harn",
        };
        singles.push(Single {
            name: name.to_owned(),
            profile,
            message,
            line,
        });
    }
    assert!(singles.len() > 150);
    singles.sort_by(|a, b| a.name.cmp(&b.name));
    singles
}

/// Returns the lines to the client of every transcript.
pub(crate) fn read_transcripts() -> Vec<(String, Vec<Line>)> {
    let mut transcripts = Vec::new();
    for file in fs::read_dir(repository_path("fixtures/acp")).unwrap() {
        let path = file.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let text = fs::read_to_string(&path).unwrap();
            let entries = text
                .lines()
                .map(|line| serde_json::from_str::<Value>(line).unwrap());
            let messages = entries.filter_map(|mut entry| {
                let to_client = entry["to"] == "client";
                Some((to_client, entry.get_mut("message")?.take()))
            });
            transcripts.push((name, lines(messages)));
        }
    }
    assert!(transcripts.len() > 20);
    transcripts.sort_by(|a, b| a.0.cmp(&b.0));
    transcripts
}

/// Returns the lines to the client of a conversation; the flag of each message is whether it was sent to the
/// client.
pub(crate) fn lines(messages: impl Iterator<Item = (bool, Value)>) -> Vec<Line> {
    let mut asked: HashMap<String, String> = HashMap::new();
    let mut lines = Vec::new();
    for (to_client, mut message) in messages {
        let method = message["method"].as_str().map(str::to_owned);
        let id = message.get("id").map(Value::to_string);
        if !to_client {
            if let (Some(id), Some(method)) = (id, method) {
                asked.insert(id, method);
            }
            continue;
        }
        let (what, part) = match (method, id) {
            (Some(method), Some(_)) => (What::Request(method), "params"),
            (Some(method), None) => {
                let what = match method.as_str() {
                    "session/update" => What::Update,
                    "_harn/agentEvent" => What::AgentEvent,
                    _ => What::Notification(method),
                };
                (what, "params")
            }
            (None, Some(_)) if message.get("error").is_some() => (What::Error, "error"),
            (None, Some(id)) => (What::Response(asked[&id].clone()), "result"),
            (None, None) => panic!("{message}"),
        };
        let value = message[part].take();
        lines.push(Line { what, value });
    }
    lines
}

/// Returns the page about the extensions and its examples: updates, params of agent events and of a permission
/// request, and whole requests.
pub(crate) fn read_page_examples() -> (String, Vec<Line>) {
    let page = fs::read_to_string(repository_path("docs/acp-extensions.md")).unwrap();
    let blocks = page.split("```json\n").skip(1);
    let examples = blocks.flat_map(|block| block.split("```").next().unwrap().lines());
    let lines = examples.map(|example| {
        let value: Value = serde_json::from_str(example).unwrap();
        let has = |member: &str| value.get(member).is_some();
        let (what, value) = if has("sessionUpdate") {
            (What::Update, json!({"sessionId": "s", "update": value}))
        } else if has("kind") {
            (What::AgentEvent, value)
        } else if has("options") {
            (
                What::Request("session/request_permission".to_owned()),
                value,
            )
        } else {
            let method = value["method"].as_str().unwrap().to_owned();
            (What::Request(method), value["params"].clone())
        };
        Line { what, value }
    });
    let lines = lines.collect();
    (page, lines)
}

/// Returns the lines for a client of this profile that loads a session with every event.
pub(crate) async fn replay_every_event(profile: &str) -> Vec<Line> {
    let test = TestHub::new(ScriptedAgent::silent());
    let id = SessionId::from("everything");
    let meta = SessionMeta {
        v: META_VERSION,
        thread_id: id.clone(),
        title: String::new(),
        directory: test.workspace(),
        additional_directories: Vec::new(),
        created: FakeClock::START,
        parent: None,
        worker: None,
        principal: None,
        failed: false,
        archived: false,
    };
    drop(JsonlStore::new(test.state_dir()).create(meta).unwrap());
    let events = repository_path("fixtures/journal/every-event.jsonl");
    fs::copy(events, test.log_path(&id)).unwrap();

    let mut client = test.connect();
    let wishes = Map::from_iter([("profile".to_owned(), json!(profile))]);
    client
        .request("initialize", initialize_params(&wishes))
        .await;
    let params = json!({"sessionId": "everything", "cwd": test.workspace(), "mcpServers": []});
    let load = client.send_request("session/load", params).await;
    while !matches!(client.next().await, MessageFromAgent::Response { id, .. } if id == load) {}
    // This update follows the response.
    client.expect_update_of("available_commands_update").await;
    client.close().await;

    let to = |direction, to_client| {
        let lines = test.recorder().lines(direction).into_iter();
        lines.map(move |line| (to_client, serde_json::from_str(&line).unwrap()))
    };
    lines(to(RecordDirection::ToAgent, false).chain(to(RecordDirection::ToClient, true)))
}
