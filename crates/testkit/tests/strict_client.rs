//! The strict client fails a test that forgets a message.
#![allow(clippy::unwrap_used, reason = "a test says what failed by failing")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use harn_model::{StopReason, ToolKind};
use harn_testkit::{MessageFromAgent, ScriptedAgent, StrictClient, TestHub};
use serde_json::{Value, json};

/// Returns the panic message of a dropped client; empty if it does not panic.
fn complaint(client: StrictClient) -> String {
    match catch_unwind(AssertUnwindSafe(|| drop(client))) {
        Ok(()) => String::new(),
        Err(panic) => *panic.downcast::<String>().unwrap(),
    }
}

async fn open(client: &mut StrictClient, test: &TestHub) -> Value {
    let params = json!({"cwd": test.workspace(), "mcpServers": []});
    client.request("session/new", params).await["sessionId"].take()
}

async fn prompt(client: &mut StrictClient, session: &Value) -> Value {
    let blocks = json!([{"type": "text", "text": "Hello"}]);
    let params = json!({"sessionId": session, "prompt": blocks});
    client.send_request("session/prompt", params).await
}

#[tokio::test]
async fn client_that_read_everything_passes() {
    let test = TestHub::new(ScriptedAgent::silent());
    let mut client = test.connect();
    open(&mut client, &test).await;
    assert_eq!(complaint(client), "");
}

#[tokio::test]
async fn unread_line_fails_the_test() {
    let agent = ScriptedAgent::new(|cx| async move {
        // Sent together, the chunks arrive together.
        cx.say("one").await?;
        cx.say("two").await?;
        cx.cancelled().await;
        Ok(StopReason::EndTurn)
    });
    let test = TestHub::new(agent);
    let mut client = test.connect();
    let session = open(&mut client, &test).await;
    prompt(&mut client, &session).await;
    let update = client.expect_update_of("agent_message_chunk").await;
    assert_eq!(update["content"]["text"], "one");
    let complaint = complaint(client);
    assert!(
        complaint.starts_with("the test did not read the last 1 lines"),
        "{complaint}"
    );
    assert!(complaint.contains(r#""text":"two""#), "{complaint}");
}

#[tokio::test]
async fn outstanding_response_fails_the_test() {
    let test = TestHub::new(ScriptedAgent::silent());
    let mut client = test.connect();
    client.send_request("logout", Value::Null).await;
    let complaint = complaint(client);
    assert!(
        complaint.starts_with("requests that the agent did not answer: [Number(1)]"),
        "{complaint}"
    );
}

#[tokio::test]
async fn unanswered_request_fails_the_test() {
    let agent = ScriptedAgent::new(|cx| async move {
        cx.tool("write_file").kind(ToolKind::Edit).ask().await?;
        Ok(StopReason::EndTurn)
    });
    let test = TestHub::new(agent);
    let mut client = test.connect();
    let session = open(&mut client, &test).await;
    let id = prompt(&mut client, &session).await;
    client.expect_update_of("tool_call").await;
    let (ask, _) = client.expect_request("session/request_permission").await;
    client
        .notify("session/cancel", json!({"sessionId": session}))
        .await;
    // Read everything until the turn has ended.
    while !matches!(client.next().await, MessageFromAgent::Response { id: of, .. } if of == id) {}
    let complaint = complaint(client);
    assert!(
        complaint.starts_with("requests that the test did not answer"),
        "{complaint}"
    );
    assert!(complaint.contains(ask.as_str().unwrap()), "{complaint}");
}

#[tokio::test]
#[should_panic(expected = "the last line is not a session/update notification")]
async fn unexpected_line_fails_the_test() {
    let test = TestHub::new(ScriptedAgent::silent());
    let mut client = test.connect();
    client.send_request("logout", Value::Null).await;
    client.expect_update().await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "no message arrived in time")]
async fn silence_fails_the_test() {
    let test = TestHub::new(ScriptedAgent::silent());
    let mut client = test.connect();
    client.expect_update().await;
}

#[tokio::test]
async fn killed_client_is_not_checked() {
    let test = TestHub::new(ScriptedAgent::silent());
    let mut client = test.connect();
    client.send_request("logout", Value::Null).await;
    client.vanish();
}

/// `cat` is an agent that echoes every line.
#[cfg(unix)]
#[tokio::test]
async fn a_program_can_be_the_agent() {
    let mut client = StrictClient::spawn(tokio::process::Command::new("cat"));
    let id = client.send_request("ping", json!({"n": 1})).await;
    let (asked, params) = client.expect_request("ping").await;
    assert_eq!((&asked, params), (&id, json!({"n": 1})));
    client.respond(&asked, json!({"pong": true})).await;
    assert_eq!(client.expect_response(&id).await, json!({"pong": true}));
    let status = client.close().await.unwrap();
    assert!(status.success());
}
