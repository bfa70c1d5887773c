//! The whole output of a call over HTTP.

use axum::http::header;
use harn_model::{Principal, ToolCall, ToolCallStatus, ToolCallUpdate, ToolContent};
use serde_json::{Value, json};

use super::{
    super::tests::{read_response, run_session},
    *,
};

const RUNNING: ToolCallStatus = ToolCallStatus::InProgress;

fn call(id: &str) -> AgentEvent {
    AgentEvent::ToolCall(Box::new(ToolCall::new(id, "run_command")))
}

fn update(id: &str, status: ToolCallStatus, text: Option<&str>, raw: Option<Value>) -> AgentEvent {
    let mut update = ToolCallUpdate::new(id, "run_command", status);
    update.content = text.map(|text| vec![ToolContent::text(text)]);
    update.raw_output = raw;
    AgentEvent::ToolCallUpdate(Box::new(update))
}

async fn get(hub: &Hub, query: &str) -> (u16, String) {
    read_response(respond(hub.clone(), query).await).await
}

#[tokio::test]
async fn the_last_shown_output_counts() {
    let long = "é".repeat(100_000);
    let done = ToolCallStatus::Completed;
    let (hub, id) = run_session(vec![
        call("shown"),
        update("shown", RUNNING, Some("half"), None),
        call("a/b c&d"),
        update("a/b c&d", RUNNING, None, Some(json!("first"))),
        update("shown", RUNNING, Some(&long), Some(json!({"exit": 0}))),
        update("a/b c&d", done, None, Some(json!("second"))),
        update("shown", done, None, None),
        call("raw"),
        update("raw", done, None, Some(json!({"exit": 0}))),
        call("silent"),
        update("silent", done, None, None),
    ])
    .await;
    let of = |call: &str| format!("session={id}&call={call}");
    assert_eq!(get(hub.hub(), &of("shown")).await, (200, long));
    let second = (200, "second".to_owned());
    assert_eq!(get(hub.hub(), &of("a%2Fb+c%26d")).await, second);
    let raw = (200, "{\n  \"exit\": 0\n}".to_owned());
    assert_eq!(get(hub.hub(), &of("raw")).await, raw);
    assert_eq!(get(hub.hub(), &of("silent")).await, (200, String::new()));

    // The same after the session was closed.
    hub.hub().close(&id).await;
    assert!(hub.hub().live_session(&id).is_none());
    assert_eq!(get(hub.hub(), &of("a%2Fb+c%26d")).await, second);
}

#[tokio::test]
async fn a_missing_session_or_call_is_reported() {
    let (hub, id) = run_session(vec![call("c")]).await;
    let words = |status, words: &str| (status, json!({ "error": words }).to_string());
    let none = words(404, "the session has no such tool call");
    assert_eq!(get(hub.hub(), &format!("session={id}&call=d")).await, none);
    let call = words(400, "call must be the id of a tool call");
    assert_eq!(get(hub.hub(), &format!("session={id}")).await, call);
    let session = words(400, "session must be the id of a session");
    assert_eq!(get(hub.hub(), "call=c").await, session);
    let other = hub.hub().for_principal(Principal::new("mallory"));
    let nowhere = words(404, "unknown session; /ws/sessions lists all sessions");
    let query = format!("session={id}&call=c");
    assert_eq!(get(&other, &query).await, nowhere);
    assert_eq!(get(hub.hub(), &query).await, (200, String::new()));
}

/// A browser must not make a page of ours from the output of a tool.
#[tokio::test]
async fn a_browser_runs_nothing_of_an_output() {
    let text = Some("<script>alert(1)</script>");
    let (hub, id) = run_session(vec![call("c"), update("c", RUNNING, text, None)]).await;
    let response = respond(hub.hub().clone(), &format!("session={id}&call=c"))
        .await
        .unwrap();
    let headers = response.headers();
    assert_eq!(headers[header::CONTENT_TYPE], "text/plain; charset=utf-8");
    assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
    assert_eq!(headers[header::CONTENT_SECURITY_POLICY], "sandbox");
    assert_eq!(headers[header::CACHE_CONTROL], "no-store");
}

/// The parent session knows a worker's call by the question about it.
#[test]
fn a_workers_call_is_known_by_its_question() {
    let events = harn_testkit::every_event();
    let id = "worker-1/worker-2/call-of-worker".into();
    let mut found = LoggedCall::default();
    events.iter().for_each(|envelope| found.add(envelope, &id));
    assert!(found.known && !found.ended);
}
