//! The watchdog ends an agent that wakes again and again without activity.

use std::time::Duration;

use harn_model::{AgentEvent, DaemonChange, Envelope, Seam, Seq, StopReason, ToolKind};
use harn_runtime::AgentError;

use super::*;

fn find_watchdog_trip(events: &[Envelope]) -> Option<(u64, u64)> {
    events.iter().find_map(|e| match e.event {
        AgentEvent::Daemon(DaemonChange::WatchdogTripped {
            attempts,
            elapsed_ms,
        }) => Some((attempts, elapsed_ms)),
        _ => None,
    })
}

async fn stage_with_watchdog(limit: u64) -> Stage {
    Stage::with(|config| {
        config.clock = Arc::new(PausedClock(Instant::now()));
        config.daemon_watchdog = limit;
    })
    .await
}

const SECOND: Duration = Duration::from_secs(1);

/// Waits for one tick of a second.
async fn tick(leg: &Leg) -> Result<WakeReason, AgentError> {
    Ok(leg.cx.idle().wake_after(SECOND).await?.reason)
}

#[tokio::test(start_paused = true)]
async fn watchdog_ends_a_turn_after_idle_wakes_with_end_turn() {
    let mut stage = stage_with_watchdog(3).await;
    let (turn, leg) = stage.start_turn().await;
    leg.cx.say("hello").await.unwrap();
    tokio::time::sleep(SECOND * 10).await;
    for _ in 0..3 {
        assert_eq!(tick(&leg).await, Ok(WakeReason::Timer));
    }
    assert_eq!(tick(&leg).await, Err(AgentError::Cancelled));
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
    let events = whole_turn(&stage.session, &turn).await;
    // Three seconds since the first wait, not since the start of the turn.
    assert_eq!(find_watchdog_trip(&events), Some((3, 3000)));
    assert!(stage.session.view().idle.is_none());
    let (turn, leg) = stage.start_turn().await;
    assert_eq!(tick(&leg).await, Ok(WakeReason::Timer));
    leg.finish();
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
}

#[tokio::test(start_paused = true)]
async fn resume_does_not_count_as_activity() {
    let mut stage = stage_with_watchdog(3).await;
    let (turn, leg) = stage.start_turn().await;
    for _ in 0..3 {
        stage.session.resume().await;
        let wake = leg.cx.idle().await.unwrap();
        assert_eq!(wake.reason, WakeReason::Resume);
    }
    stage.session.resume().await;
    assert_eq!(leg.cx.idle().await, Err(AgentError::Cancelled));
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
    assert_eq!(
        find_watchdog_trip(&written_events(&stage.session, Seq::ZERO).await),
        Some((3, 0))
    );
}

#[tokio::test(start_paused = true)]
async fn agent_can_set_its_own_watchdog_limit() {
    for (own, ticks) in [(1, 1), (5, 5)] {
        let mut stage = stage_with_watchdog(3).await;
        let (turn, leg) = stage.start_turn().await;
        let wait = || leg.cx.idle().wake_after(SECOND).watchdog(own);
        for _ in 0..ticks {
            assert_eq!(wait().await.unwrap().reason, WakeReason::Timer);
        }
        assert_eq!(wait().await, Err(AgentError::Cancelled));
        stage.assert_stopped(&turn, StopReason::EndTurn).await;
        let events = written_events(&stage.session, Seq::ZERO).await;
        assert_eq!(find_watchdog_trip(&events), Some((own, own * 1000)));
    }
}

#[tokio::test(start_paused = true)]
async fn activity_or_a_delivery_resets_the_watchdog() {
    let mut stage = stage_with_watchdog(2).await;
    let (turn, leg) = stage.start_turn().await;
    let (cx, session) = (&leg.cx, &stage.session);
    let nearly = async || {
        for _ in 0..2 {
            assert_eq!(tick(&leg).await, Ok(WakeReason::Timer));
        }
    };
    nearly().await;
    cx.say("something").await.unwrap();
    nearly().await;
    cx.remind(reminder("own")).await.unwrap();
    nearly().await;
    let tool = cx
        .tool("grep")
        .kind(ToolKind::Search)
        .start()
        .await
        .unwrap();
    tool.complete(()).await.unwrap();
    nearly().await;
    // A seam delivers the message, and the agent sends nothing.
    stage.inject(STEER, "a").await;
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["a"]);
    nearly().await;
    // The wake-up delivers the reminder.
    stage.remind(STEER, reminder("b")).await;
    assert_eq!(tick(&leg).await, Ok(WakeReason::Reminder));
    nearly().await;
    // A pending message or reminder is delivered when the count is full, whatever its mode.
    stage.inject(QUEUE, "c").await;
    assert_eq!(tick(&leg).await, Ok(WakeReason::Message));
    nearly().await;
    stage.remind(INTERRUPT, reminder("d")).await;
    assert_eq!(tick(&leg).await, Ok(WakeReason::Reminder));
    nearly().await;
    assert_eq!(
        cx.idle().wake_when(async {}).await,
        Err(AgentError::Cancelled)
    );
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
    assert_eq!(
        find_watchdog_trip(&written_events(session, Seq::ZERO).await),
        Some((2, 2000))
    );
}

#[tokio::test(start_paused = true)]
async fn watch_that_blocks_resets_the_watchdog() {
    let mut stage = stage_with_watchdog(2).await;
    let (_, leg) = stage.start_turn().await;
    for _ in 0..9 {
        let changed = tokio::time::sleep(SECOND);
        let wake = leg.cx.idle().wake_when(changed).await.unwrap();
        assert_eq!(wake.reason, WakeReason::Watch);
    }
}

#[tokio::test(start_paused = true)]
async fn watch_that_never_blocks_trips_the_watchdog() {
    let mut stage = stage_with_watchdog(2).await;
    let (turn, leg) = stage.start_turn().await;
    for _ in 0..2 {
        let wake = leg.cx.idle().wake_when(async {}).await.unwrap();
        assert_eq!(wake.reason, WakeReason::Watch);
    }
    let ended = leg.cx.idle().wake_when(async {}).await;
    assert_eq!(ended, Err(AgentError::Cancelled));
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
    let story = written_events(&stage.session, Seq::ZERO).await;
    assert_eq!(find_watchdog_trip(&story), Some((2, 0)));
}

#[tokio::test(start_paused = true)]
async fn watchdog_ends_the_turn_of_an_agent_that_does_not_return() {
    let world = World::new();
    let deaf = agent(async |cx: TurnContext| {
        if cx.prompt_text() == "next" {
            return Ok(StopReason::EndTurn);
        }
        cx.tool("grep").kind(ToolKind::Search).start().await?;
        while cx.idle().wake_after(SECOND).watchdog(1).await.is_ok() {}
        std::future::pending().await
    });
    let hub = world.hub(deaf);
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let told = format_steering_events(&whole_turn(&session, &turn).await);
    assert!(told.ends_with("ended stopped end_turn\n"), "{told}");
    // The error names the end of the turn, because no client cancelled it.
    assert!(
        told.contains("the turn ended before this tool did"),
        "{told}"
    );
    let next = prompt(&session, "next").await;
    whole_turn(&session, &next).await;
}

#[tokio::test(start_paused = true)]
async fn cancel_after_the_watchdog_tripped_cancels_the_turn() {
    let world = World::new();
    let deaf = agent(async |cx: TurnContext| {
        while cx.idle().wake_after(SECOND).watchdog(1).await.is_ok() {}
        std::future::pending().await
    });
    let hub = world.hub(deaf);
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let mut from = session.subscribe(Seq::ZERO);
    collect_until(&mut from, |e| {
        find_watchdog_trip(std::slice::from_ref(e)).is_some()
    })
    .await;
    let cancelled = session.cancel_for(Some(turn.clone()), crate::sessions::steering::host_owner());
    assert_eq!(cancelled.await.unwrap().result.as_str(), "cancelled");
    let told = format_steering_events(&whole_turn(&session, &turn).await);
    assert!(told.ends_with("ended stopped cancelled\n"), "{told}");
}

/// A turn must still answer a message that was accepted while it was ending.
#[tokio::test(start_paused = true)]
async fn message_after_the_watchdog_tripped_is_still_delivered() {
    let world = World::new();
    let deaf = agent(async |cx: TurnContext| {
        if cx.prompt_text() == "more" {
            cx.say("here again").await?;
            return Ok(StopReason::EndTurn);
        }
        while cx.idle().wake_after(SECOND).watchdog(1).await.is_ok() {}
        tokio::time::sleep(SECOND).await;
        Ok(StopReason::EndTurn)
    });
    let hub = world.hub(deaf);
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let mut from = session.subscribe(Seq::ZERO);
    collect_until(&mut from, |e| {
        find_watchdog_trip(std::slice::from_ref(e)).is_some()
    })
    .await;
    crate::sessions::steering::inject(&session, STEER, "more")
        .await
        .unwrap();
    let told = format_steering_events(&whole_turn(&session, &turn).await);
    assert!(told.contains("user: more\n"), "{told}");
    assert!(
        told.ends_with("said: here again\nended stopped end_turn\n"),
        "{told}"
    );
}

/// The limit 0 counts as 1: an agent that has not waited yet has not waited in vain.
#[tokio::test(start_paused = true)]
async fn watchdog_limit_of_zero_counts_as_one() {
    let mut stage = stage_with_watchdog(0).await;
    let (turn, leg) = stage.start_turn().await;
    let tick = async || leg.cx.idle().wake_after(SECOND).watchdog(0).await;
    assert_eq!(tick().await.unwrap().reason, WakeReason::Timer);
    assert_eq!(tick().await, Err(AgentError::Cancelled));
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
    let events = whole_turn(&stage.session, &turn).await;
    assert_eq!(find_watchdog_trip(&events), Some((1, 1000)));
}
