//! Messages that are pending when an agent returns become prompts of further calls within the same turn.

use expect_test::expect;
use harn_model::{
    AgentEvent, CompositionRun, ErrorCategory, Seam, StopReason, ToolCallStatus, ToolKind,
};

use super::*;
use crate::sessions::workers::stuck_agent;

#[tokio::test]
async fn queued_message_is_the_next_prompt_of_the_same_turn() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    leg.cx.say("first").await.unwrap();
    leg.cx.flush().await.unwrap();
    stage.inject(QUEUE, "and then?").await;
    leg.finish();
    let leg = stage.next_call().await;
    assert_eq!(leg.prompt(), "and then?");
    assert_eq!(*leg.cx.turn_id(), turn);
    assert_eq!(stage.session.cancel_target(), Some(turn.clone()));
    leg.cx.say("second").await.unwrap();
    leg.finish();
    expect![[r#"
        started: go
        said: first
        pending message_queued
        outcome: accepted
        session_info
        delivered msg-3: and then?
        passed LoopExit: 1
        said: second
        ended: EndTurn
    "#]]
    .assert_eq(&stage.format_turn(&turn).await);
    assert_eq!(stage.session.cancel_target(), None);
}

#[tokio::test]
async fn agent_that_passes_no_seam_gets_steers_before_queued_messages() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    for (mode, text) in [
        (QUEUE, "q1"),
        (STEER, "s1"),
        (QUEUE, "q2"),
        (INTERRUPT, "i1"),
        (STEER, "s2"),
    ] {
        stage.inject(mode, text).await;
    }
    leg.finish();
    let mut prompts = Vec::new();
    for _ in 0..4 {
        let leg = stage.next_call().await;
        prompts.push(leg.prompt());
        leg.finish();
    }
    // A steer that arrives during a call is delivered before queued messages.
    let leg = stage.next_call().await;
    prompts.push(leg.prompt());
    stage.inject(QUEUE, "q3").await;
    stage.inject(STEER, "s3").await;
    leg.finish();
    for _ in 0..2 {
        let leg = stage.next_call().await;
        prompts.push(leg.prompt());
        leg.finish();
    }
    assert_eq!(prompts, ["s1", "i1", "s2", "q1", "q2", "s3", "q3"]);
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
    let delivered = deliveries(&stage.session).await;
    let delivered: Vec<_> = delivered.into_iter().map(|(_, text)| text).collect();
    assert_eq!(delivered, prompts);
}

#[tokio::test]
async fn agent_is_called_again_only_for_undelivered_messages() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    stage.inject(STEER, "s1").await;
    stage.inject(STEER, "s2").await;
    stage.inject(QUEUE, "q").await;
    assert_eq!(leg.pass_seam(Seam::PostToolDispatch).await, ["s1", "s2"]);
    stage.inject(STEER, "s3").await;
    leg.finish();
    let leg = stage.next_call().await;
    assert_eq!(leg.prompt(), "s3");
    assert!(leg.pass_seam(Seam::TurnStart).await.is_empty());
    leg.finish();
    let leg = stage.next_call().await;
    assert_eq!(leg.prompt(), "q");
    leg.finish();
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
    assert!(!stage.is_called());
}

#[tokio::test]
async fn turn_ends_with_the_stop_reason_of_its_last_call() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    stage.inject(QUEUE, "q").await;
    leg.finish_with(Ok(StopReason::MaxTokens));
    stage.next_call().await.finish_with(Ok(StopReason::Refusal));
    stage.assert_stopped(&turn, StopReason::Refusal).await;
}

#[tokio::test]
async fn failed_call_ends_the_turn_and_keeps_pending_messages() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    stage.inject(QUEUE, "q1").await;
    stage.inject(QUEUE, "q2").await;
    leg.finish();
    let leg = stage.next_call().await;
    leg.finish_with(Err(AgentError::Failed("broken".to_owned())));
    let failed = TurnOutcome::Failed {
        message: AgentError::Failed("broken".to_owned()).to_string(),
    };
    assert_eq!(stage.wait_for_outcome(&turn).await, failed);
    assert_eq!(stage.pending_texts(), ["q2"]);
    assert!(!stage.is_called());
    let (turn, leg) = stage.start_turn().await;
    assert_eq!(leg.prompt(), "go");
    leg.finish();
    let leg = stage.next_call().await;
    assert_eq!(leg.prompt(), "q2");
    leg.finish();
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
}

#[tokio::test]
async fn denied_call_is_followed_by_the_next_call() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    stage.inject(QUEUE, "q").await;
    let reason = "no".to_owned();
    leg.finish_with(Err(AgentError::Denied { reason }));
    let leg = stage.next_call().await;
    assert_eq!(leg.prompt(), "q");
    leg.finish();
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
}

#[tokio::test]
async fn agent_that_returns_cancelled_is_not_called_again() {
    for said in [Ok(StopReason::Cancelled), Err(AgentError::Cancelled)] {
        let mut stage = Stage::new().await;
        let (turn, leg) = stage.start_turn().await;
        stage.inject(QUEUE, "q").await;
        stage.inject(STEER, "s").await;
        leg.finish_with(said);
        stage.assert_stopped(&turn, StopReason::Cancelled).await;
        assert_eq!(stage.pending_texts(), ["q", "s"]);
        assert!(!stage.is_called());
    }
}

#[tokio::test]
async fn open_work_of_a_call_is_settled_before_the_next_call() {
    let mut stage = Stage::with(|config| config.max_worker_depth = 1).await;
    let (turn, leg) = stage.start_turn().await;
    let cx = &leg.cx;
    let running = cx.tool("t").kind(ToolKind::Search).start().await.unwrap();
    let run = CompositionRun {
        run_id: "run".to_owned(),
        ..CompositionRun::default()
    };
    let run = AgentEvent::CompositionStart(Box::new(run));
    cx.emit(run).await.unwrap();
    let worker = cx.worker("w").task("work").agent(stuck_agent());
    worker.start().await.unwrap();
    let (asking, questioning) = (cx.clone(), cx.clone());
    let asked = tokio::spawn(async move {
        let edit = asking.tool("write_file").kind(ToolKind::Edit);
        edit.ask().await.map(|_| ())
    });
    let questioned =
        tokio::spawn(async move { questioning.question("how?").ask().await.map(|_| ()) });
    let mut from = stage.session.subscribe(Seq::ZERO);
    collect_until(&mut from, |_| {
        let open = stage.session.view().open_turn.unwrap();
        open.asks.len() == 1 && open.questions.len() == 1
    })
    .await;
    stage.inject(QUEUE, "q").await;
    let straggler = leg.cx.clone();
    leg.finish();

    let leg = stage.next_call().await;
    let view = stage.session.view();
    let open = view.open_turn.clone().unwrap();
    assert_eq!(open.id, turn);
    assert!(open.calls.is_empty(), "{:?}", open.calls);
    assert!(open.asks.is_empty(), "{:?}", open.asks);
    assert!(open.runs.is_empty(), "{:?}", open.runs);
    assert!(open.questions.is_empty(), "{:?}", open.questions);
    assert!(view.workers.values().all(|it| it.event.is_terminal()));
    assert!(stage.session.open_hitl().is_empty());
    assert_eq!(asked.await.unwrap(), Err(AgentError::Cancelled));
    assert!(questioned.await.unwrap().is_err());
    // Tasks of the previous call can no longer send events.
    assert_eq!(straggler.say("late").await, Err(AgentError::Cancelled));
    assert!(running.complete(()).await.is_err());
    stage.inject(STEER, "s").await;
    assert!(straggler.seam(Seam::TurnStart).await.is_err());
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["s"]);
    leg.finish();

    let events = whole_turn(&stage.session, &turn).await;
    let delivered = |e: &Envelope| matches!(&e.event, AgentEvent::UserMessage { .. });
    let at = events.iter().position(delivered).unwrap();
    let settled = events[..at].iter().filter_map(|e| match &e.event {
        AgentEvent::ToolCallUpdate(update) if update.status == ToolCallStatus::Failed => {
            update.error_category
        }
        _ => None,
    });
    let left = ErrorCategory::AbandonedAtLoopExit;
    assert_eq!(settled.collect::<Vec<_>>(), [left, left]);
    assert!(!format_events(&events).contains("late"));
}

#[tokio::test]
async fn title_comes_from_the_prompt_and_not_from_a_message() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    stage.inject(QUEUE, "another thing").await;
    leg.finish();
    stage.next_call().await.finish();
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
    assert_eq!(stage.session.view().title.as_deref(), Some("go"));
}

#[tokio::test]
async fn iterations_are_counted_across_the_calls_of_a_turn() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    leg.pass_seam(Seam::TurnStart).await;
    stage.inject(QUEUE, "q").await;
    leg.finish();
    let leg = stage.next_call().await;
    leg.pass_seam(Seam::TurnStart).await;
    leg.finish();
    let events = whole_turn(&stage.session, &turn).await;
    let passed = events.iter().filter_map(|e| match &e.event {
        AgentEvent::LoopCheckpoint(passed) => Some((passed.seam, passed.iteration)),
        _ => None,
    });
    let expected = [
        (Seam::TurnStart, 1),
        (Seam::LoopExit, 1),
        (Seam::TurnStart, 2),
    ];
    assert_eq!(passed.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn queued_slash_command_runs_as_a_command() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    stage.inject(QUEUE, "/permissions").await;
    stage.inject(QUEUE, "after").await;
    leg.finish();
    let leg = stage.next_call().await;
    assert_eq!(leg.prompt(), "after");
    leg.finish();
    let told = stage.format_turn(&turn).await;
    let said = told.split("/permissions\n").nth(1).unwrap();
    assert!(said.contains("said: "), "{told}");
}

#[tokio::test]
async fn prompt_waits_for_all_calls_of_the_turn_before_it() {
    let mut stage = Stage::new().await;
    let (first, leg) = stage.start_turn().await;
    let second = prompt(&stage.session, "second").await;
    stage.inject(QUEUE, "q").await;
    leg.finish();
    let leg = stage.next_call().await;
    assert_eq!((leg.prompt().as_str(), leg.cx.turn_id()), ("q", &first));
    leg.finish();
    let leg = stage.next_call().await;
    assert_eq!(
        (leg.prompt().as_str(), leg.cx.turn_id()),
        ("second", &second)
    );
    leg.finish();
    stage.assert_stopped(&second, StopReason::EndTurn).await;
}

/// Only a host owner may give a command of the session; from others the agent receives it as text.
#[tokio::test]
async fn message_is_a_command_only_from_a_host_owner() {
    for mode in [STEER, QUEUE] {
        let mut stage = Stage::new().await;
        let (turn, leg) = stage.start_turn().await;
        let content = || vec![ContentBlock::text("/permissions")];
        let (session, anybody) = (&stage.session, person("ann"));
        let injected = session.inject(mode, content(), anybody, |_| ());
        injected.await.unwrap();
        let injected = session.inject(mode, content(), host_owner(), |_| ());
        injected.await.unwrap();
        leg.finish();
        let leg = stage.next_call().await;
        assert_eq!(leg.prompt(), "/permissions");
        leg.cx.say("not mine").await.unwrap();
        leg.finish();
        let told = stage.format_turn(&turn).await;
        assert!(!stage.is_called(), "{told}");
        assert_eq!(told.matches("said: ").count(), 2, "{told}");
        assert_eq!(told.matches("delivered ").count(), 2, "{told}");
    }
}
