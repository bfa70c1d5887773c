//! The tour that host authors play, `fixtures/scenarios/tour.yaml`: every turn of it, in each profile. The
//! extensions in its messages are exactly those that `initialize` advertises.

use std::{collections::BTreeSet, sync::Arc};

use harn_engines::ScriptAgent;
use harn_model::{McpServerStatus, McpState, SessionId, ToolsChange};
use harn_runtime::EquipmentChange;
use harn_testkit::{FakeEquip, MessageFromAgent, StrictClient, TestHub};
use harn_tests::{check_transcript, repository_path};
use serde_json::{Value, json};

use crate::golden::{open, prompt};

type Names = BTreeSet<String>;

/// The extensions found in messages, or those that `initialize` advertises.
#[derive(Default)]
struct Seen {
    /// Extension updates, as updates of their own or inside `session_info_update`.
    extensions: Names,
    /// Kinds of events in `_harn/agentEvent`.
    kinds: Names,
    /// Fields of `_meta.harn` of tool calls and their updates.
    tool_fields: Names,
    /// Fields of `_meta.harn` of content blocks.
    content_fields: Names,
    /// Operations that the agent requested from the host.
    operations: Names,
}

impl Seen {
    fn record(&mut self, message: &MessageFromAgent) {
        match message {
            MessageFromAgent::Notification { method, params } if method == "_harn/agentEvent" => {
                self.kinds.extend(word(&params["kind"]));
            }
            MessageFromAgent::Notification { method, params } if method == "session/update" => {
                self.record_update(&params["update"]);
            }
            MessageFromAgent::Request { method, params, .. } if method == "host/call" => {
                let name = word(&params["name"]).unwrap();
                let operation = name.strip_prefix("process.").unwrap().to_owned();
                self.operations.insert(operation);
            }
            MessageFromAgent::Notification { .. }
            | MessageFromAgent::Request { .. }
            | MessageFromAgent::Response { .. } => {}
        }
    }

    fn record_update(&mut self, update: &Value) {
        let harn = &update["_meta"]["harn"];
        match word(&update["sessionUpdate"]).unwrap().as_str() {
            "tool_call" | "tool_call_update" => self.tool_fields.extend(members(harn)),
            // The carrier of an extension, or a title.
            "session_info_update" => self.extensions.extend(word(&harn["sessionUpdate"])),
            "agent_message_chunk" => {
                let content = &update["content"]["_meta"]["harn"];
                self.content_fields.extend(members(content));
            }
            "available_commands_update" => {
                self.extensions
                    .insert("available_commands_update".to_owned());
            }
            name if STANDARD.contains(&name) => {}
            other => drop(self.extensions.insert(other.to_owned())),
        }
    }

    /// Reads the extensions that the response to `initialize` advertises.
    fn from_initialize(answer: &Value) -> Self {
        let harn = &answer["agentCapabilities"]["_meta"]["harn"];
        Self {
            extensions: words(&harn["sessionUpdateExtensions"]),
            kinds: words(&harn["extensionMethods"]["_harn/agentEvent"]["kinds"]),
            tool_fields: words(&harn["toolLifecycleExtensionFields"]),
            content_fields: words(&harn["contentExtensionFields"]),
            operations: words(&harn["hostCapabilityOperations"]["process"]),
        }
    }
}

/// Updates that are not extensions. `user_message` is standard in the contract and in version 2 of ACP.
const STANDARD: [&str; 7] = [
    "agent_thought_chunk",
    "config_option_update",
    "current_mode_update",
    "plan",
    "usage_update",
    "user_message",
    "user_message_chunk",
];

fn word(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn words(list: &Value) -> Names {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(word)
        .collect()
}

fn members(object: &Value) -> impl Iterator<Item = String> {
    object
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, _)| key.clone())
}

/// Plays every turn of the tour, then closes the session.
async fn play_tour(profile: &str, name: &str) {
    let scenario = repository_path("fixtures/scenarios/tour.yaml");
    let equip = FakeEquip::default();
    let shared = Arc::new(equip.clone());
    let test = TestHub::builder(ScriptAgent::load(scenario).unwrap())
        .config(move |config| config.equip = shared.clone())
        .build();
    let mut client = test.connect();
    let harn = json!({"profile": profile, "hostBridge": true});
    let hello = json!({
        "protocolVersion": 1,
        "clientCapabilities": {"_meta": {"harn": harn}},
        "clientInfo": {"name": "strict", "version": "0.0.0"},
    });
    let answer = client.request("initialize", hello).await;
    let mut seen = Seen::default();
    let session = open(&mut client, &test).await;
    seen.record_update(&client.expect_update_of("available_commands_update").await);
    for text in [
        "Look around",
        "/everything",
        "/host",
        "/delegate",
        "/write",
        "/wait",
        "/slow",
        "/fail",
    ] {
        if text == "/host" {
            connect_mcp_server(&equip, &session).await;
        }
        let id = prompt(&mut client, &session, text).await;
        play(&mut client, &session, &id, &mut seen).await;
    }
    let id = client
        .send_request("session/close", json!({"sessionId": session}))
        .await;
    play(&mut client, &session, &id, &mut seen).await;
    client.close().await;
    check_transcript(name, test.recorder());

    if profile == "acp" {
        // This update is part of ACP, and a plain client receives no list of extensions.
        seen.extensions.remove("available_commands_update");
    }
    let mut advertised = Seen::from_initialize(&answer);
    // A scenario runs its commands itself; the transcript `bridge-exec` shows this operation.
    advertised.operations.remove("exec");
    assert_eq!(seen.extensions, advertised.extensions, "{profile}: updates");
    assert_eq!(
        seen.kinds, advertised.kinds,
        "{profile}: kinds of agent events"
    );
    assert_eq!(
        seen.tool_fields, advertised.tool_fields,
        "{profile}: fields of tool calls"
    );
    assert_eq!(
        seen.content_fields, advertised.content_fields,
        "{profile}: fields of content"
    );
    assert_eq!(
        seen.operations, advertised.operations,
        "{profile}: operations of the host"
    );
}

/// Connects an MCP server with one tool. The session's equipment reports this, not the agent.
async fn connect_mcp_server(equip: &FakeEquip, session: &Value) {
    let session = SessionId::from(session.as_str().unwrap());
    let issues = McpServerStatus {
        name: "issues".to_owned(),
        state: McpState::Ready,
        tools: Some(1),
        error: None,
    };
    equip.set_servers(&session, vec![issues]).await;
    let change = ToolsChange {
        added: vec!["close_ticket".to_owned()],
        total: 1,
        ..ToolsChange::default()
    };
    let change = EquipmentChange::Tools(change);
    equip.send_change(&session, change).await;
}

/// Answers the agent's requests, and cancels a turn that does not end otherwise.
async fn play(client: &mut StrictClient, session: &Value, request: &Value, seen: &mut Seen) {
    loop {
        let message = client.next().await;
        seen.record(&message);
        match message {
            MessageFromAgent::Response { id, .. } if id == *request => return,
            MessageFromAgent::Request { id, method, params } => {
                let answer = match method.as_str() {
                    "builtin_call" => json!(4),
                    "host/call" => operation_answer(&params["name"]),
                    "session/request_permission" => {
                        json!({"outcome": {"outcome": "selected", "optionId": "allow_once"}})
                    }
                    _ => panic!("{method}"),
                };
                client.respond(&id, answer).await;
            }
            MessageFromAgent::Notification { params, .. } => {
                if params["update"]["content"]["text"] == "working" {
                    let cancel = json!({"sessionId": session});
                    client.notify("session/cancel", cancel).await;
                }
            }
            other @ MessageFromAgent::Response { .. } => panic!("{other:?}"),
        }
    }
}

/// The answer of a host with one shell.
fn operation_answer(name: &Value) -> Value {
    let shell = json!({
        "id": "zsh", "label": "zsh", "path": "/bin/zsh", "platform": "linux", "available": true,
        "supports_login": true, "supports_interactive": true, "default_args": ["-c"],
        "login_args": ["-l", "-c"], "source": "host",
    });
    match name.as_str() {
        Some("process.list_shells") => json!({"shells": [shell], "default_shell_id": "zsh"}),
        Some("process.shell_invocation") => json!({
            "program": "/bin/zsh", "args": ["-c", "ls"], "command_arg_index": 1, "shell": shell,
        }),
        _ => shell,
    }
}

#[tokio::test(start_paused = true)]
async fn harn_profile_shows_the_advertised_extensions() {
    play_tour("harn", "tour").await;
}

#[tokio::test(start_paused = true)]
async fn meta_profile_shows_the_advertised_extensions() {
    play_tour("meta", "tour-meta").await;
}

#[tokio::test(start_paused = true)]
async fn acp_profile_shows_the_advertised_extensions() {
    play_tour("acp", "tour-plain").await;
}
