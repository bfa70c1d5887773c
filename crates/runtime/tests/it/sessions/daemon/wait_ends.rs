//! Waits that end without a wake-up: cancelled, closed, cut off by a crash, or dropped by the agent.

use std::time::Duration;

use harn_model::{AgentEvent, DaemonChange, Envelope, Seam, Seq, StopReason};
use harn_runtime::AgentError;

use super::*;

fn changes(events: &[Envelope]) -> Vec<DaemonChange> {
    let changes = events.iter().filter_map(|e| match e.event {
        AgentEvent::Daemon(change) => Some(change),
        _ => None,
    });
    changes.collect()
}

#[tokio::test(start_paused = true)]
async fn cancelled_wait_writes_no_wake_up_and_later_waits_work() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    let waiting = leg.start_idle_wait(&stage).await;
    let before = tokio::time::Instant::now();
    stage.session.cancel(turn.clone()).await;
    assert_eq!(waiting.await.unwrap(), Err(AgentError::Cancelled));
    stage.assert_stopped(&turn, StopReason::Cancelled).await;
    assert_eq!(before.elapsed(), Duration::ZERO);
    let events = whole_turn(&stage.session, &turn).await;
    let [DaemonChange::Idle { .. }] = changes(&events)[..] else {
        panic!("{}", format_steering_events(&events));
    };
    assert!(stage.session.view().idle.is_none());
    // Later turns run, and their waits block as before.
    let (_, leg) = stage.start_turn().await;
    let waiting = leg.start_idle_wait(&stage).await;
    stage.session.resume().await;
    assert_eq!(wait_for_wake_up(waiting).await.0, WakeReason::Resume);
}

/// New messages do not wake a cancelled agent that has not returned yet: they would be lost.
#[tokio::test(start_paused = true)]
async fn messages_between_cancel_and_end_reach_the_next_turn() {
    let world = World::new();
    let hub = world.hub(agent(async |cx: TurnContext| {
        if cx.prompt_text() == "next" {
            let came = cx.seam(Seam::TurnStart).await?;
            cx.say(texts(&came).join(", ")).await?;
            return Ok(StopReason::EndTurn);
        }
        let stopped = cx.idle().await;
        assert_eq!(stopped, Err(AgentError::Cancelled));
        // From here on the agent ignores everything.
        std::future::pending().await
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let mut from = session.subscribe(Seq::ZERO);
    collect_until(&mut from, |e| matches!(e.event, AgentEvent::Daemon(_))).await;
    session.cancel(turn.clone()).await;
    crate::sessions::reminders::remind(&session, STEER, reminder("one")).await;
    crate::sessions::steering::inject(&session, STEER, "two")
        .await
        .unwrap();
    session.resume().await;
    let events = whole_turn(&session, &turn).await;
    assert_eq!(
        changes(&events).len(),
        1,
        "{}",
        format_steering_events(&events)
    );
    let next = prompt(&session, "next").await;
    let told = format_steering_events(&whole_turn(&session, &next).await);
    assert!(told.contains("said: one, two\n"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn closing_the_session_ends_the_wait() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    let waiting = leg.start_idle_wait(&stage).await;
    stage.hub.close(stage.session.id()).await;
    assert_eq!(waiting.await.unwrap(), Err(AgentError::Cancelled));
    let session = stage.hub.open(stage.session.id(), None).await.unwrap();
    assert!(session.view().idle.is_none());
    let events = whole_turn(&session, &turn).await;
    assert_eq!(
        changes(&events).len(),
        1,
        "{}",
        format_steering_events(&events)
    );
    assert!(format_steering_events(&events).ends_with("ended stopped cancelled\n"));
}

#[tokio::test]
async fn crash_ends_the_wait_and_keeps_pending_reminders() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    stage.remind(STEER, reminder_with_ttl("old", 2)).await;
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["old"]);
    let _waiting = leg.start_idle_wait(&stage).await;
    stage.remind(QUEUE, reminder("note")).await;
    let mut revived = Revived::from_stage(&stage).await;
    let view = revived.session.view();
    assert!(view.idle.is_none() && view.open_turn.is_none());
    assert_eq!(view.pending.len(), 1);
    // The wait and the interrupted turn used up the two turns of the reminder.
    assert!(view.reminders.is_empty());
    revived.session.resume().await;
    let (turn, leg) = revived.start_turn().await;
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, [""; 0]);
    leg.finish();
    let told = format_steering_events(&whole_turn(&revived.session, &turn).await);
    assert!(told.contains("recovered\n"), "{told}");
    assert!(told.contains("injected note audit_only\n"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn dropped_wait_ends_and_affects_no_later_wait() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    let before = stage.session.last_seq();
    for _ in 0..3 {
        tokio::select! {
            _ = leg.cx.idle() => panic!("nothing came"),
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
        }
        // The next wait starts before the session has processed the drop.
    }
    leg.cx.say("awake").await.unwrap();
    // A resume while the agent is awake ends the next wait.
    stage.session.resume().await;
    let wake = leg.cx.idle().await.unwrap();
    assert_eq!(wake.reason, WakeReason::Resume);
    stage.inject(STEER, "hello").await;
    let wake = leg.cx.idle().await.unwrap();
    assert_eq!(texts(&wake.delivered), ["hello"]);
    leg.finish();
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
    let told = stage.steering_log(before).await;
    let steps = told.lines();
    let steps = steps.filter(|it| it.starts_with("idle") || it.starts_with("woke"));
    let steps: Vec<_> = steps.collect();
    let dropped = ["idle 0, pace 100", "woke watch"];
    assert_eq!(
        steps,
        [
            &dropped[..],
            &dropped,
            &dropped,
            &["woke resume", "woke message"]
        ]
        .concat(),
        "{told}"
    );
}

/// The wait is dropped before the session processes it.
#[tokio::test(start_paused = true)]
async fn wait_dropped_before_it_is_processed_writes_nothing() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    let before = stage.session.last_seq();
    {
        let mut waiting = leg.cx.idle().into_future();
        std::future::poll_fn(|cx| {
            assert!(waiting.as_mut().poll(cx).is_pending());
            std::task::Poll::Ready(())
        })
        .await;
    }
    leg.cx.flush().await.unwrap();
    assert_eq!(stage.steering_log(before).await, "");
    assert!(stage.session.view().idle.is_none());
}

#[tokio::test(start_paused = true)]
async fn agent_that_returns_cancels_its_open_wait() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    let waiting = leg.start_idle_wait(&stage).await;
    leg.finish();
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
    assert_eq!(waiting.await.unwrap(), Err(AgentError::Cancelled));
    assert!(stage.session.view().idle.is_none());
    let events = whole_turn(&stage.session, &turn).await;
    assert_eq!(
        changes(&events).len(),
        1,
        "{}",
        format_steering_events(&events)
    );
}
