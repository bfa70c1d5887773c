//! Messages and reminders that arrive while the agent is about to run tools, waits for an answer, or is idle.

use std::sync::Arc;

use harn_model::{AgentEvent, Seam, StopReason, ToolCall, ToolKind};
use harn_runtime::{AgentError, ToolOutput, TurnContext};
use harn_tests::check_transcript;
use serde_json::json;
use tokio::sync::Notify;

use super::Stage;

/// Announces tools and reports whether a seam skipped them.
async fn dispatch(cx: TurnContext, go: Arc<Notify>) -> Result<StopReason, AgentError> {
    if cx.prompt_text() != "Go" {
        return Ok(StopReason::EndTurn);
    }
    cx.say("I will look twice. ").await?;
    for (id, tool) in [("call-look", "look"), ("call-again", "look_again")] {
        let mut call = ToolCall::new(id, tool);
        call.kind = Some(ToolKind::Search);
        cx.emit(AgentEvent::ToolCall(Box::new(call))).await?;
    }
    go.notified().await;
    let before = cx.seam(Seam::PreToolDispatch).await?;
    let skipped = before.dispatch_skipped();
    for heard in before {
        cx.say(format!("Skipped: {skipped}. I heard: {}", heard.text()))
            .await?;
    }
    Ok(StopReason::EndTurn)
}

#[tokio::test]
async fn interrupt_skips_tools_about_to_run() {
    let mut stage = Stage::with_turn(dispatch).await;
    let turn = stage.begin().await;
    for _ in 0..2 {
        stage.client.expect_update_of("tool_call").await;
    }
    // A steering message does not interrupt.
    stage
        .inject("steer", "When you are done, mind b.txt.")
        .await;
    let stop = json!({"body": "The file is locked.", "mode": "interrupt_immediate"});
    stage.send_control("session/remind", stop).await;
    stage.go.notify_one();
    for _ in 0..2 {
        let update = stage.client.expect_update_of("tool_call_update").await;
        assert_eq!(update["status"], "failed");
        assert_eq!(update["_meta"]["harn"]["errorCategory"], "cancelled");
    }
    stage.client.expect_update_of("reminder_emitted").await;
    let seam = stage.client.expect_event_of("loop_checkpoint").await;
    assert_eq!(seam["dispatchSkipped"], true);
    assert_eq!(seam["skipReason"], "interrupt_immediate");
    let (updates, result) = stage.client.collect_updates_until(&turn).await;
    assert_eq!(
        updates[0]["content"]["text"],
        "Skipped: true. I heard: The file is locked."
    );
    assert_eq!(result["stopReason"], "end_turn");
    stage.client.close().await;
    check_transcript("steering-interrupt", stage.test.recorder());
}

/// Asks to write a note, then reads the messages that arrived meanwhile.
async fn write(cx: TurnContext, go: Arc<Notify>) -> Result<StopReason, AgentError> {
    if cx.prompt_text() != "Go" {
        return Ok(StopReason::EndTurn);
    }
    cx.say("I write a note. ").await?;
    go.notified().await;
    let write = cx.tool("write_file").kind(ToolKind::Edit);
    match write.title("Write notes.txt").path("notes.txt").ask().await {
        Ok(write) => write.complete(ToolOutput::default()).await?,
        Err(AgentError::Denied { .. }) => cx.say("Nobody said that I may. ").await?,
        Err(other) => return Err(other),
    }
    for heard in cx.seam(Seam::PostToolDispatch).await? {
        cx.say(format!("I heard: {}", heard.text())).await?;
    }
    Ok(StopReason::EndTurn)
}

#[tokio::test]
async fn a_message_waits_for_the_answer_to_a_question() {
    let mut stage = Stage::with_turn(write).await;
    let turn = stage.begin().await;
    let before = stage.inject("steer", "Before the question.").await;
    stage.go.notify_one();
    stage.client.expect_update_of("tool_call").await;
    let (ask, params) = stage
        .client
        .expect_request("session/request_permission")
        .await;
    assert_eq!(params["_meta"]["harn"]["pendingCount"], 1);
    let meanwhile = stage.inject("steer", "While you wait.").await;
    let outcome = json!({"outcome": "selected", "optionId": "allow_once"});
    stage
        .client
        .respond(&ask, json!({"outcome": outcome}))
        .await;
    let (updates, result) = stage.client.collect_updates_until(&turn).await;
    let delivered = updates
        .iter()
        .filter(|it| it["sessionUpdate"] == "user_message");
    let delivered: Vec<_> = delivered.map(|it| it["messageId"].clone()).collect();
    assert_eq!(delivered, [before, meanwhile]);
    assert_eq!(result["stopReason"], "end_turn");
    stage.client.close().await;
    check_transcript("steering-permission", stage.test.recorder());
}

#[tokio::test]
async fn interrupt_withdraws_a_permission_request() {
    let mut stage = Stage::with_turn(write).await;
    let turn = stage.begin().await;
    stage.go.notify_one();
    stage.client.expect_update_of("tool_call").await;
    let (ask, params) = stage
        .client
        .expect_request("session/request_permission")
        .await;
    assert_eq!(params["_meta"]["harn"].get("pendingCount"), None);
    let stop = json!({"body": "Write nothing today.", "mode": "interrupt"});
    stage.send_control("session/remind", stop).await;
    let request = stage.client.expect_notification("$/cancel_request").await;
    assert_eq!(request["requestId"], ask);
    stage.client.respond_error(&ask, -32800, "cancelled").await;
    let (updates, result) = stage.client.collect_updates_until(&turn).await;
    let failed = updates.iter().find(|it| it["status"] == "failed");
    assert!(failed.is_some(), "{updates:?}");
    let said = updates.last().unwrap();
    assert!(said["content"]["text"].is_string() || said["title"].is_string());
    assert_eq!(result["stopReason"], "end_turn");
    stage.client.close().await;
    check_transcript("steering-interrupt-question", stage.test.recorder());
}

/// Stays idle, and reports the reason each time it wakes.
async fn stay(cx: TurnContext, _: Arc<Notify>) -> Result<StopReason, AgentError> {
    cx.say("I stay. ").await?;
    loop {
        let wake = cx.idle().await?;
        let heard: Vec<_> = wake.delivered.messages().collect();
        cx.say(format!("{:?}: {}. ", wake.reason, heard.join(", ")))
            .await?;
        if heard.iter().any(|it| it == "Go home") {
            return Ok(StopReason::EndTurn);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn idle_agent_wakes_on_resume_and_messages() {
    let mut stage = Stage::with_turn(stay).await;
    let turn = stage.begin().await;
    for backoff in [100, 500] {
        loop {
            let message = stage.client.next().await;
            let harn_testkit::MessageFromAgent::Notification { method, params } = message else {
                panic!("{message:?}");
            };
            if method == "agent/idle" {
                assert_eq!(params["backoff_ms"], backoff);
                break;
            }
        }
    }
    let params = stage.session_params(json!({}));
    let answer = stage.client.request("agent/resume", params).await;
    assert_eq!(answer, json!({}));
    expect_wake(&mut stage, "Resume").await;
    stage.client.notify("agent/resume", json!({})).await;
    expect_wake(&mut stage, "Resume").await;
    stage.inject("queue", "More work").await;
    expect_wake(&mut stage, "Message").await;
    stage.inject("steer", "Go home").await;
    let (updates, result) = stage.client.collect_updates_until(&turn).await;
    assert_eq!(updates[0]["content"][0]["text"], "Go home");
    assert_eq!(result["stopReason"], "end_turn");
    stage.client.close().await;
    check_transcript("steering-idle", stage.test.recorder());
}

/// Expects that the agent wakes for this reason and becomes idle again.
async fn expect_wake(stage: &mut Stage, why: &str) {
    loop {
        let message = stage.client.next().await;
        let harn_testkit::MessageFromAgent::Notification { method, params } = message else {
            panic!("{message:?}");
        };
        let text = params["update"]["content"]["text"].as_str();
        if text.is_some_and(|text| text.starts_with(why)) {
            break;
        }
        assert_ne!(method, "agent/idle", "it goes on first");
    }
    loop {
        let message = stage.client.next().await;
        let harn_testkit::MessageFromAgent::Notification { method, .. } = message else {
            panic!("{message:?}");
        };
        if method == "agent/idle" {
            break;
        }
    }
}
