//! Interrupts: open questions about calls are withdrawn, and calls that have not started are skipped.

use expect_test::expect;
use harn_model::{
    AgentEvent, Decision, Envelope, GrantScope, PermissionOption, PermissionOptionKind,
    ReminderPropagation, Seam, StopReason, ToolCallStatus, ToolCallUpdate, ToolKind,
};
use harn_runtime::{AgentError, Question, TurnContext};

use super::*;

fn is_ask(e: &Envelope) -> bool {
    matches!(e.event, AgentEvent::PermissionAsked(_))
}

/// Asks to write a file and completes the call if it is allowed.
async fn write(cx: TurnContext) -> Result<(), AgentError> {
    let tool = cx.tool("write_file").kind(ToolKind::Edit).path("a.txt");
    tool.ask().await?.complete(()).await
}

#[tokio::test]
async fn interrupt_withdraws_open_questions_and_the_turn_continues() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    let asking = tokio::spawn(write(leg.cx.clone()));
    let mut from = stage.session.subscribe(Seq::ZERO);
    let asked = collect_until(&mut from, is_ask).await;
    let ask = asked.iter().find_map(|e| match &e.event {
        AgentEvent::PermissionAsked(ask) => Some(ask.ask_id.clone()),
        _ => None,
    });
    // Reminders and messages in other modes leave the question open.
    stage.remind(STEER, reminder("patient")).await;
    stage.remind(QUEUE, reminder("note")).await;
    stage.inject(STEER, "hello").await;
    assert_eq!(stage.session.view().open_turn.unwrap().asks.len(), 1);
    stage.remind(INTERRUPT, reminder("stop")).await;
    let reason = "a reminder interrupted before an answer arrived".to_owned();
    assert_eq!(asking.await.unwrap(), Err(AgentError::Denied { reason }));
    // This answer is too late.
    let option_id = "allow_once".to_owned();
    let allowed = Decision::Allowed {
        option_id,
        args: None,
    };
    stage.session.answer(ask.unwrap(), allowed).await;
    assert_eq!(
        leg.pass_seam(Seam::PostToolDispatch).await,
        ["patient", "hello", "stop"]
    );
    leg.cx.say("gone on").await.unwrap();
    leg.finish();
    let events = whole_turn(&stage.session, &turn).await;
    expect![[r#"
        turn: go
        call call-1
        asked call-1
        queued patient
        queued note
        queued "hello"
        queued stop
        resolved cancelled
        call-1 failed a reminder interrupted before an answer arrived
        injected patient finish_step
        user: hello
        injected stop interrupt_immediate
        emitted patient
        emitted stop
        post_tool_dispatch 0: 3
        said: gone on
        injected note audit_only
        loop_exit 0: 1
        ended stopped end_turn
    "#]]
    .assert_eq(&format_steering_events(&events));
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
}

/// A later question is denied too: no client is asked until the agent passes a seam.
#[tokio::test]
async fn questions_before_the_next_seam_are_denied_after_an_interrupt() {
    let mut stage = Stage::new().await;
    // A reminder from before the turn does not interrupt it.
    stage.remind(INTERRUPT, reminder("before")).await;
    let (_turn, leg) = stage.start_turn().await;
    let asking = tokio::spawn(write(leg.cx.clone()));
    let mut from = stage.session.subscribe(Seq::ZERO);
    collect_until(&mut from, is_ask).await;
    stage.remind(INTERRUPT, reminder("stop")).await;
    let denied = || {
        let reason = "a reminder interrupted before an answer arrived".to_owned();
        Err(AgentError::Denied { reason })
    };
    assert_eq!(asking.await.unwrap(), denied());
    for _ in 0..2 {
        assert_eq!(write(leg.cx.clone()).await, denied());
    }
    assert!(stage.session.view().open_turn.unwrap().asks.is_empty());
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["before", "stop"]);
    let mut from = stage.session.subscribe_from_now();
    let asking = tokio::spawn(write(leg.cx.clone()));
    collect_until(&mut from, is_ask).await;
    assert_eq!(stage.session.view().open_turn.unwrap().asks.len(), 1);
    // A revoked reminder no longer interrupts.
    let id = stage.remind(INTERRUPT, reminder("again")).await;
    assert_eq!(asking.await.unwrap(), denied());
    let revoked = stage.session.revoke_reminder(&id, host_owner()).await;
    revoked.unwrap();
    let mut from = stage.session.subscribe_from_now();
    let _asking = tokio::spawn(write(leg.cx.clone()));
    collect_until(&mut from, is_ask).await;
    assert_eq!(stage.session.view().open_turn.unwrap().asks.len(), 1);
}

#[tokio::test]
async fn interrupt_skips_announced_calls_but_no_running_call() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    let cx = &leg.cx;
    let running = cx
        .tool("grep")
        .kind(ToolKind::Search)
        .start()
        .await
        .unwrap();
    for id in ["a", "b"] {
        let call = harn_model::ToolCall::new(id, "later");
        cx.emit(AgentEvent::ToolCall(Box::new(call))).await.unwrap();
    }
    // A reminder in another mode skips nothing.
    stage.remind(STEER, reminder("patient")).await;
    let passed = cx.seam(Seam::PreToolDispatch).await.unwrap();
    assert!(passed.is_empty() && !passed.dispatch_skipped());
    stage.remind(INTERRUPT, reminder("stop")).await;
    let before = stage.session.last_seq();
    let passed = cx.seam(Seam::PreToolDispatch).await.unwrap();
    assert_eq!(texts(&passed), ["stop"]);
    assert!(passed.dispatch_skipped());
    // Only once: the next batch runs.
    let passed = cx.seam(Seam::PreToolDispatch).await.unwrap();
    assert!(passed.is_empty() && !passed.dispatch_skipped());
    running.complete(()).await.unwrap();
    leg.finish();
    whole_turn(&stage.session, &turn).await;
    expect![[r#"
        a failed skipped: a reminder interrupted before this tool ran
        b failed skipped: a reminder interrupted before this tool ran
        injected stop interrupt_immediate
        emitted stop
        pre_tool_dispatch 0: 1, skipped
        pre_tool_dispatch 0: 0
        call-1 completed
        injected patient finish_step
        turn_end 0: 1
        ended stopped end_turn
    "#]]
    .assert_eq(&stage.steering_log(before).await);
}

#[tokio::test]
async fn only_the_seam_before_tool_dispatch_skips_calls() {
    for seam in [Seam::TurnStart, Seam::PostToolDispatch, Seam::TurnEnd] {
        let mut stage = Stage::new().await;
        let (_, leg) = stage.start_turn().await;
        let call = AgentEvent::ToolCall(Box::new(harn_model::ToolCall::new("a", "later")));
        leg.cx.emit(call).await.unwrap();
        stage.remind(INTERRUPT, reminder("stop")).await;
        let passed = leg.cx.seam(seam).await.unwrap();
        assert_eq!(texts(&passed), ["stop"]);
        assert!(!passed.dispatch_skipped());
        assert_eq!(stage.session.view().open_turn.unwrap().calls.len(), 1);
    }
}

/// A question that was sent after the reminder was accepted, about a call that is now skipped, must not be
/// answered with a permission to run it.
#[tokio::test]
async fn question_about_a_skipped_call_is_denied() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    stage.remind(INTERRUPT, reminder("stop")).await;
    let asking = tokio::spawn(write(leg.cx.clone()));
    let mut from = stage.session.subscribe(Seq::ZERO);
    collect_until(&mut from, is_ask).await;
    let passed = leg.cx.seam(Seam::PreToolDispatch).await.unwrap();
    assert!(passed.dispatch_skipped());
    let open = stage.session.view().open_turn.unwrap();
    assert!(open.calls.is_empty() && open.asks.is_empty(), "{open:?}");
    let denied = asking.await.unwrap();
    assert!(
        matches!(denied, Err(AgentError::Denied { .. })),
        "{denied:?}"
    );
}

/// Returns an agent whose worker `depth` levels down asks to write a file; each level reports the result as text.
fn nested_agent(depth: usize) -> std::sync::Arc<dyn harn_runtime::Agent> {
    agent(move |cx: TurnContext| async move {
        let text = match depth {
            0 => format!("{:?}", write(cx.clone()).await),
            _ => {
                let worker = cx.worker("w").task("write").agent(nested_agent(depth - 1));
                worker.start().await?.wait_until_finished().await.text
            }
        };
        cx.say(text).await?;
        Ok(StopReason::EndTurn)
    })
}

/// Interrupts a session while its worker `depth` levels down has an open question.
async fn interrupt_worker_question(
    depth: usize,
    propagate: ReminderPropagation,
) -> (World, Controller, TurnId) {
    let world = World::new();
    let hub = world.hub(nested_agent(depth));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    collect_until(&mut session.subscribe(Seq::ZERO), is_ask).await;
    let stop = SystemReminder {
        propagate,
        ..reminder("stop")
    };
    remind(&session, INTERRUPT, stop).await;
    (world, session, turn)
}

#[tokio::test]
async fn workers_that_receive_the_interrupt_withdraw_their_questions() {
    for (depth, propagate) in [
        (1, ReminderPropagation::Session),
        (1, ReminderPropagation::All),
        (2, ReminderPropagation::All),
    ] {
        let (_world, session, turn) = interrupt_worker_question(depth, propagate).await;
        let told = format_steering_events(&whole_turn(&session, &turn).await);
        let what = format!("{depth} deep, {propagate:?}: {told}");
        assert_eq!(told.matches("asked ").count(), 1, "{what}");
        assert_eq!(told.matches("resolved cancelled\n").count(), 1, "{what}");
        assert!(
            told.contains("said: Err(Denied { reason: \"a reminder interrupted"),
            "{what}"
        );
        assert!(told.ends_with("ended stopped end_turn\n"), "{what}");
    }
}

#[tokio::test]
async fn questions_of_workers_without_the_interrupt_stay_open() {
    for (depth, propagate) in [
        (1, ReminderPropagation::None),
        (2, ReminderPropagation::None),
        (2, ReminderPropagation::Session),
    ] {
        let (_world, session, turn) = interrupt_worker_question(depth, propagate).await;
        let asks = session.view().open_turn.unwrap().asks;
        assert_eq!(asks.len(), 1, "{depth} deep, {propagate:?}");
        let option_id = "allow_once".to_owned();
        let allowed = Decision::Allowed {
            option_id,
            args: None,
        };
        let ask = asks.into_keys().next().unwrap();
        session.answer(ask, allowed).await;
        let told = format_steering_events(&whole_turn(&session, &turn).await);
        assert!(told.contains("resolved allowed"), "{told}");
        assert!(told.contains("said: Ok(())"), "{told}");
    }
}

#[tokio::test]
async fn interrupting_message_withdraws_questions() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    let asking = tokio::spawn(write(leg.cx.clone()));
    collect_until(&mut stage.session.subscribe(Seq::ZERO), is_ask).await;
    stage.inject(INTERRUPT, "stop").await;
    let reason = "a message interrupted before an answer arrived".to_owned();
    assert_eq!(asking.await.unwrap(), Err(AgentError::Denied { reason }));
    assert_eq!(leg.pass_seam(Seam::PreToolDispatch).await, ["stop"]);
    leg.finish();
    let told = format_steering_events(&whole_turn(&stage.session, &turn).await);
    assert_eq!(told.matches("resolved cancelled\n").count(), 1, "{told}");
}

/// One task of the agent has an allowed call that has not started; another task passes a seam.
#[tokio::test]
async fn allowed_call_is_not_skipped() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    let cx = leg.cx.clone();
    let call = harn_model::ToolCall::new("allowed", "write_file");
    for id in ["allowed", "later"] {
        let call = harn_model::ToolCall::new(id, "write_file");
        cx.emit(AgentEvent::ToolCall(Box::new(call))).await.unwrap();
    }
    let asker = cx.clone();
    let options = vec![PermissionOption {
        option_id: "allow_once".to_owned(),
        name: "Allow".to_owned(),
        kind: PermissionOptionKind::AllowOnce,
        scope: GrantScope::Once,
    }];
    let question = Question {
        tool_call: call,
        options,
    };
    let asking = tokio::spawn(async move { asker.ask(question).await });
    let events = collect_until(&mut stage.session.subscribe(Seq::ZERO), is_ask).await;
    let ask = events.iter().find_map(|e| match &e.event {
        AgentEvent::PermissionAsked(ask) => Some(ask.ask_id.clone()),
        _ => None,
    });
    let option_id = "allow_once".to_owned();
    let allowed = Decision::Allowed {
        option_id,
        args: None,
    };
    stage.session.answer(ask.unwrap(), allowed.clone()).await;
    assert_eq!(asking.await.unwrap(), Ok(allowed));
    stage.remind(INTERRUPT, reminder("stop")).await;
    let looking = cx.clone();
    let looking = tokio::spawn(async move { looking.seam(Seam::PreToolDispatch).await });
    let passed = looking.await.unwrap().unwrap();
    assert!(passed.dispatch_skipped());
    let open = stage.session.view().open_turn.unwrap();
    let open: Vec<_> = open.calls.keys().map(ToString::to_string).collect();
    assert_eq!(open, ["allowed"]);
    for status in [ToolCallStatus::InProgress, ToolCallStatus::Completed] {
        let update = ToolCallUpdate::new("allowed", "write_file", status);
        let update = AgentEvent::ToolCallUpdate(Box::new(update));
        cx.emit(update).await.unwrap();
    }
    leg.finish();
    let told = format_steering_events(&whole_turn(&stage.session, &turn).await);
    assert!(told.contains("allowed completed\n"), "{told}");
    assert!(told.contains("later failed skipped"), "{told}");
    assert!(!told.contains("allowed failed"), "{told}");
}
