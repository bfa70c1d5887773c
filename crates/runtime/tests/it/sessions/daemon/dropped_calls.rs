//! Seam and idle calls that the agent drops, like the branches of a `select!`: nothing delivered to them is lost.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::Poll,
};

use harn_model::{AgentEvent, Envelope, Seam, Seq, StopReason, ToolKind};

use super::*;

/// Polls a call once and asserts that it is pending.
async fn poll_pending<F: Future + ?Sized>(mut look: Pin<&mut F>) {
    poll_fn(|cx| {
        assert!(look.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
}

/// Waits until the session has written this line.
async fn wait_for_line(stage: &Stage, line: &str) {
    let wanted = line.to_owned() + "\n";
    let is_it = |e: &Envelope| format_steering_events(std::slice::from_ref(e)) == wanted;
    collect_until(&mut stage.session.subscribe(Seq::ZERO), is_it).await;
}

#[tokio::test]
async fn next_seam_returns_the_delivery_of_a_dropped_seam_call() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    stage.inject(STEER, "one").await;
    stage.remind(STEER, reminder("two")).await;
    {
        let mut look = pin!(leg.cx.seam(Seam::TurnStart));
        poll_pending(look.as_mut()).await;
        wait_for_line(&stage, "turn_start 1: 2").await;
    }
    stage.inject(STEER, "three").await;
    assert_eq!(leg.pass_seam(Seam::PreToolDispatch).await, ["one", "two"]);
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["three"]);
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, [""; 0]);
}

/// The call is dropped while the session writes the events that must be on disk before the delivery.
#[tokio::test]
async fn next_seam_returns_a_delivery_that_was_in_progress() {
    let mut stage = Stage::new().await;
    stage.remind(INTERRUPT, reminder("one")).await;
    let (_, leg) = stage.start_turn().await;
    let tool = leg.cx.tool("write_file").kind(ToolKind::Edit);
    let asking = tokio::spawn(tool.path("a.txt").ask());
    let is_ask = |e: &Envelope| matches!(e.event, AgentEvent::PermissionAsked(_));
    collect_until(&mut stage.session.subscribe(Seq::ZERO), is_ask).await;
    let mut look = Box::pin(leg.cx.seam(Seam::PreToolDispatch));
    poll_pending(look.as_mut()).await;
    let asks = || stage.session.view().open_turn.unwrap().asks;
    while !asks().is_empty() {
        tokio::task::yield_now().await;
    }
    drop(look);
    wait_for_line(&stage, "pre_tool_dispatch 0: 1, skipped").await;
    assert!(asking.await.unwrap().is_err());
    assert_eq!(leg.pass_seam(Seam::TurnEnd).await, ["one"]);
}

#[tokio::test]
async fn wait_that_the_session_never_saw_writes_no_event() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    {
        let mut wait = leg.cx.idle().into_future();
        poll_pending(wait.as_mut()).await;
        wait_for_line(&stage, "daemon_idle_pre 0: 0").await;
        poll_pending(wait.as_mut()).await;
    }
    leg.cx.say("gone on").await.unwrap();
    wait_for_line(&stage, "said: gone on").await;
    let told = stage.steering_log(Seq::ZERO).await;
    assert!(
        !told.contains("\nidle ") && !told.contains("woke"),
        "{told}"
    );
}

#[tokio::test]
async fn next_wait_returns_the_delivery_of_a_dropped_wait() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    stage.inject(INTERRUPT, "one").await;
    {
        let mut wait = leg.cx.idle().into_future();
        poll_pending(wait.as_mut()).await;
        wait_for_line(&stage, "daemon_idle_pre 0: 1").await;
        poll_pending(wait.as_mut()).await;
        wait_for_line(&stage, "woke message").await;
    }
    let wake = leg.cx.idle().await.unwrap();
    assert_eq!(wake.reason, WakeReason::Message);
    assert_eq!(texts(&wake.delivered), ["one"]);
    let told = stage.steering_log(Seq::ZERO).await;
    assert_eq!(told.matches("user: one\n").count(), 1, "{told}");
    // The session wrote no idle state in between either.
    assert!(!told.contains("\nidle "), "{told}");
}

#[tokio::test]
async fn agent_that_drops_a_delivery_is_called_again_with_it() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    for text in ["one", "two"] {
        stage.inject(STEER, text).await;
    }
    stage.inject(QUEUE, "three").await;
    {
        let mut look = pin!(leg.cx.seam(Seam::TurnEnd));
        poll_pending(look.as_mut()).await;
        wait_for_line(&stage, "turn_end 0: 2").await;
    }
    leg.finish();
    let leg = stage.next_call().await;
    assert_eq!(leg.prompt(), "one");
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["two"]);
    leg.finish();
    let leg = stage.next_call().await;
    assert_eq!(leg.prompt(), "three");
    leg.finish();
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
    let told = stage.steering_log(Seq::ZERO).await;
    for text in ["one", "two", "three"] {
        let line = format!("user: {text}\n");
        assert_eq!(told.matches(&line).count(), 1, "{told}");
    }
}
