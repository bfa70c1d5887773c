//! Cancelling one turn without affecting others.

use std::sync::Arc;

use harn_acp::AcpConfig;
use harn_model::{StopReason, ToolKind};
use harn_testkit::{Recorder, ScriptedAgent, StrictClient, TestHub};
use harn_tests::check_transcript;
use serde_json::json;
use tokio::sync::Notify;

use crate::golden::{existing_session_params, initialize, open, prompt};

#[tokio::test]
async fn cancel_stops_a_running_turn_and_no_later_one() {
    let agent = ScriptedAgent::new(|cx| async move {
        cx.say("Working").await?;
        if cx.prompt_text() == "slow" {
            cx.tool("look").kind(ToolKind::Search).start().await?;
            cx.cancelled().await;
            cx.say(", no longer").await?;
        }
        Ok(StopReason::EndTurn)
    });
    let test = TestHub::new(agent);
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;
    let cancel = json!({"sessionId": session});

    let id = prompt(&mut client, &session, "slow").await;
    client.expect_update_of("agent_message_chunk").await;
    client.expect_update_of("tool_call").await;
    client.notify("session/cancel", cancel.clone()).await;
    let (updates, result) = client.collect_updates_until(&id).await;
    assert_eq!(result["stopReason"], "cancelled");
    let left = updates.iter().find(|u| u["status"] == "failed").unwrap();
    assert_eq!(left["_meta"]["harn"]["errorCategory"], "cancelled");

    // No turn runs: the cancel has no effect on the next turn.
    client.notify("session/cancel", cancel).await;
    let told = client.expect_event_of("control_outcome").await;
    assert_eq!(told["reason"], "no_active_prompt");
    let id = prompt(&mut client, &session, "quick").await;
    let (_, result) = client.collect_updates_until(&id).await;
    assert_eq!(result["stopReason"], "end_turn");

    // The same with the id of the request.
    let id = prompt(&mut client, &session, "slow").await;
    client.expect_update_of("agent_message_chunk").await;
    client.expect_update_of("tool_call").await;
    let request = json!({"requestId": id});
    client.notify("$/cancel_request", request).await;
    let (_, result) = client.collect_updates_until(&id).await;
    assert_eq!(result["stopReason"], "cancelled");
    client.close().await;
    check_transcript("cancel", test.recorder());
}

#[tokio::test]
async fn cancel_request_returns_its_outcome() {
    let go = Arc::new(Notify::new());
    let told = go.clone();
    let agent = ScriptedAgent::new(move |cx| {
        let go = told.clone();
        async move {
            cx.say("Working").await?;
            cx.cancelled().await;
            go.notified().await;
            Ok(StopReason::Cancelled)
        }
    });
    let test = TestHub::new(agent);
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;
    let by = json!({"harn": {"actor": {"clientId": "desk", "role": "reviewer"}}});
    let cancel = json!({"sessionId": session, "_meta": by});
    let nothing = client.request_error("session/cancel", cancel.clone()).await;
    assert_eq!(nothing["code"], -32004);
    assert_eq!(nothing["data"]["reason"], "no_active_prompt");
    client.expect_event_of("control_outcome").await;

    let turn = prompt(&mut client, &session, "Go").await;
    client.expect_update_of("agent_message_chunk").await;
    for (status, done) in [
        ("cancelled", "accepted"),
        ("already_cancelled", "idempotent"),
    ] {
        let answer = client.request("session/cancel", cancel.clone()).await;
        assert_eq!(answer["sessionId"], session);
        assert_eq!(answer["status"], status);
        assert_eq!(answer["_meta"]["harn"]["actor"]["clientId"], "desk");
        let told = client.expect_event_of("control_outcome").await;
        assert_eq!(
            (&told["outcome"], &told["status"]),
            (&json!(status), &json!(done))
        );
    }
    go.notify_one();
    let (_, result) = client.collect_updates_until(&turn).await;
    assert_eq!(result["stopReason"], "cancelled");
    client.close().await;
    check_transcript("cancel-request", test.recorder());
}

/// Another client's turn runs. A cancel applies to the sender's own prompt.
#[tokio::test]
async fn cancel_removes_the_queued_prompt_of_its_sender() {
    let go = Arc::new(Notify::new());
    let told = go.clone();
    let agent = ScriptedAgent::new(move |cx| {
        let go = told.clone();
        async move {
            cx.say(format!("This is {}.", cx.prompt_text())).await?;
            go.notified().await;
            Ok(StopReason::EndTurn)
        }
    });
    let test = TestHub::new(agent);
    let (hub, apart) = (test.hub().clone(), Recorder::default());
    let mut other = StrictClient::in_memory(hub, AcpConfig::default(), apart);
    initialize(&mut other).await;
    let session = open(&mut other, &test).await;
    let theirs = prompt(&mut other, &session, "one").await;
    other.expect_update_of("agent_message_chunk").await;

    let mut client = test.connect();
    initialize(&mut client).await;
    let params = existing_session_params(&session, &test.workspace());
    client.request("session/resume", params).await;
    // The client that began the turn is the controller until another one takes over.
    let takeover = json!({"sessionId": session, "clientId": "two"});
    let taken = client.send_request("session/takeover", takeover).await;
    client.expect_update_of("live_session_client").await;
    client.expect_response(&taken).await;
    let mine = prompt(&mut client, &session, "two").await;
    let cancel = json!({"sessionId": session});
    let answer = client.request("session/cancel", cancel).await;
    assert_eq!(answer["status"], "cancelled");
    // At once, while the other turn still runs.
    let result = client.expect_response(&mine).await;
    assert_eq!(result["stopReason"], "cancelled");
    client.expect_event_of("control_outcome").await;
    go.notify_one();
    let (_, result) = other.collect_updates_until(&theirs).await;
    assert_eq!(result["stopReason"], "end_turn");
    client.expect_update_of("session_info_update").await;
    other.hang_up().await;
    client.close().await;
    check_transcript("cancel-queued", test.recorder());
}
