//! Conversations pinned byte for byte in `fixtures/acp`: the messages between a host and the agent.
//!
//! Each test is one transcript, played over an in-memory pair with a fake clock and counted ids.

mod bridge;
mod cancel;
mod envelope;
mod handshake;
mod hitl;
mod host;
mod live;
mod mcp;
mod permission;
mod prompts;
mod reconnect;
mod refusals;
mod restart;
mod sessions;
mod settings;
mod steering;
mod tour;
mod turn;
mod workers;

use std::{fs, path::Path};

use harn_testkit::{StrictClient, TestHub, golden};
use harn_tests::{initialize_params, repository_path};
use serde_json::{Map, Value, json};

/// Every transcript; the test below fails when a file is not in this list.
const TRANSCRIPTS: &[&str] = &[
    "archive",
    "bridge-cancelled",
    "bridge-capabilities-list",
    "bridge-capabilities-operations-list",
    "bridge-capabilities-operations-object",
    "bridge-capabilities-ops-list",
    "bridge-capabilities-ops-object",
    "bridge-exec",
    "bridge-skill-match-bare",
    "bridge-skill-match-matches",
    "bridge-skill-match-skills",
    "bridge-skill-match-wrapped",
    "bridge-skills-fetch-flat",
    "bridge-skills-fetch-nested",
    "bridge-skills-list-bare",
    "bridge-skills-list-listed",
    "bridge-skills-update",
    "bridge-tools-list-bare",
    "bridge-tools-list-listed",
    "bridge-tools-list-older-names",
    "bridge-tools-list-wrapped",
    "cancel",
    "cancel-queued",
    "cancel-request",
    "close-and-delete",
    "coming-back-load",
    "coming-back-plain",
    "coming-back-question",
    "coming-back-refused",
    "commands",
    "envelope",
    "fork",
    "framing",
    "handshake",
    "handshake-other-version",
    "handshake-plain",
    "handshake-terminal-auth",
    "hitl-announced",
    "hitl-approval",
    "hitl-bridge",
    "hitl-choice",
    "hitl-form",
    "hitl-plain",
    "host",
    "host-cancelled",
    "list",
    "list-pages",
    "live-attach",
    "live-behind",
    "live-broker",
    "live-exit",
    "live-implicit",
    "live-refused",
    "live-takeover-new",
    "live-takeover-old",
    "live-unread",
    "load-after-restart",
    "mcp",
    "mcp-refused",
    "permission-allowed",
    "permission-allowed-always",
    "permission-allowed-session",
    "permission-answered-cancelled",
    "permission-cancelled",
    "permission-command",
    "permission-conflicting",
    "permission-deadline",
    "permission-disconnected",
    "permission-error",
    "permission-granted",
    "permission-granted-args",
    "permission-granted-args-denied",
    "permission-malformed",
    "permission-method-not-found",
    "permission-not-granted",
    "permission-not-offered",
    "permission-rejected",
    "permission-rejected-always",
    "permission-selected",
    "permission-unknown-option",
    "prompt-blocks",
    "queued-prompts",
    "refusals",
    "resume",
    "set-title",
    "settings",
    "split-control-sequence",
    "steering-changed",
    "steering-delivered",
    "steering-idle",
    "steering-interrupt",
    "steering-interrupt-question",
    "steering-invalid-reminders",
    "steering-owners",
    "steering-permission",
    "steering-plain",
    "steering-refusals",
    "steering-reminders",
    "tour",
    "tour-meta",
    "tour-plain",
    "turn",
    "turn-failed",
    "workers-calls",
    "workers-calls-off",
    "workers-calls-plain",
];

#[test]
fn every_file_has_its_test() {
    if golden::is_updating() {
        // The other tests are writing them.
        return;
    }
    let files = fs::read_dir(repository_path("fixtures/acp")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names
        .filter_map(|name| name.strip_suffix(".jsonl").map(str::to_owned))
        .collect();
    names.sort();
    assert_eq!(names, TRANSCRIPTS);
}

/// Sends `initialize` as a client without capabilities and without `_meta.harn`.
async fn initialize(client: &mut StrictClient) {
    client
        .request("initialize", initialize_params(&Map::new()))
        .await;
}

/// Opens a session in the workspace; returns its id. For agents without slash commands.
async fn open(client: &mut StrictClient, test: &TestHub) -> Value {
    let params = json!({"cwd": test.workspace(), "mcpServers": []});
    client.request("session/new", params).await["sessionId"].take()
}

/// Sends a prompt of text; returns the id of the request.
async fn prompt(client: &mut StrictClient, session: &Value, text: &str) -> Value {
    let blocks = json!([{"type": "text", "text": text}]);
    let params = json!({"sessionId": session, "prompt": blocks});
    client.send_request("session/prompt", params).await
}

/// Returns the params that open an existing session from `cwd`.
fn existing_session_params(session: &Value, cwd: &Path) -> Value {
    json!({"sessionId": session, "cwd": cwd, "mcpServers": []})
}
