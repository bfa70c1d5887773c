//! The watchdog ends an agent that wakes again and again without activity.

use std::time::Duration;

use harn_model::{AgentEvent, DaemonChange, Envelope, Seam, Seq, StopReason, ToolKind};
use harn_runtime::AgentError;

use super::*;

fn tripped(events: &[Envelope]) -> Option<(u64, u64)> {
    events.iter().find_map(|e| match e.event {
        AgentEvent::Daemon(DaemonChange::WatchdogTripped {
            attempts,
            elapsed_ms,
        }) => Some((attempts, elapsed_ms)),
        _ => None,
    })
}

async fn limited(limit: u64) -> Stage {
    Stage::with(|config| {
        config.clock = Arc::new(PausedClock(Instant::now()));
        config.daemon_watchdog = limit;
    })
    .await
}

const SECOND: Duration = Duration::from_secs(1);

/// Waits for one tick of a second.
async fn tick(leg: &Leg) -> Result<WakeReason, AgentError> {
    Ok(leg.cx.idle().every(SECOND).await?.reason)
}

#[tokio::test(start_paused = true)]
async fn it_ends_a_turn_after_so_many_wakes_for_nothing_and_the_turn_ends_well() {
    let mut stage = limited(3).await;
    let (turn, leg) = stage.go().await;
    leg.cx.say("hello").await.unwrap();
    tokio::time::sleep(SECOND * 10).await;
    for _ in 0..3 {
        assert_eq!(tick(&leg).await, Ok(WakeReason::Timer));
    }
    assert_eq!(tick(&leg).await, Err(AgentError::Cancelled));
    stage.stopped(&turn, StopReason::EndTurn).await;
    let events = whole_turn(&stage.session, &turn).await;
    // Three seconds since the first wait, not since the start of the turn.
    assert_eq!(tripped(&events), Some((3, 3000)));
    assert!(stage.session.view().idle.is_none());
    let (turn, leg) = stage.go().await;
    assert_eq!(tick(&leg).await, Ok(WakeReason::Timer));
    leg.ends();
    stage.stopped(&turn, StopReason::EndTurn).await;
}

#[tokio::test(start_paused = true)]
async fn being_wanted_awake_is_nothing_either() {
    let mut stage = limited(3).await;
    let (turn, leg) = stage.go().await;
    for _ in 0..3 {
        stage.session.resume().await;
        let wake = leg.cx.idle().await.unwrap();
        assert_eq!(wake.reason, WakeReason::Resume);
    }
    stage.session.resume().await;
    assert_eq!(leg.cx.idle().await, Err(AgentError::Cancelled));
    stage.stopped(&turn, StopReason::EndTurn).await;
    assert_eq!(
        tripped(&written(&stage.session, Seq::ZERO).await),
        Some((3, 0))
    );
}

#[tokio::test(start_paused = true)]
async fn an_agent_may_say_how_often_itself() {
    for (own, ticks) in [(1, 1), (5, 5)] {
        let mut stage = limited(3).await;
        let (turn, leg) = stage.go().await;
        let wait = || leg.cx.idle().every(SECOND).watchdog(own);
        for _ in 0..ticks {
            assert_eq!(wait().await.unwrap().reason, WakeReason::Timer);
        }
        assert_eq!(wait().await, Err(AgentError::Cancelled));
        stage.stopped(&turn, StopReason::EndTurn).await;
        let events = written(&stage.session, Seq::ZERO).await;
        assert_eq!(tripped(&events), Some((own, own * 1000)));
    }
}

#[tokio::test(start_paused = true)]
async fn anything_that_is_done_or_given_begins_the_count_again() {
    let mut stage = limited(2).await;
    let (turn, leg) = stage.go().await;
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
    assert_eq!(leg.seam(Seam::TurnStart).await, ["a"]);
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
    assert_eq!(cx.idle().until(async {}).await, Err(AgentError::Cancelled));
    stage.stopped(&turn, StopReason::EndTurn).await;
    assert_eq!(tripped(&written(session, Seq::ZERO).await), Some((2, 2000)));
}

#[tokio::test(start_paused = true)]
async fn what_it_watches_is_not_nothing() {
    let mut stage = limited(2).await;
    let (_, leg) = stage.go().await;
    for _ in 0..9 {
        let changed = tokio::time::sleep(SECOND);
        let wake = leg.cx.idle().until(changed).await.unwrap();
        assert_eq!(wake.reason, WakeReason::Watch);
    }
}

#[tokio::test(start_paused = true)]
async fn what_never_makes_it_wait_is_nothing() {
    let mut stage = limited(2).await;
    let (turn, leg) = stage.go().await;
    for _ in 0..2 {
        let wake = leg.cx.idle().until(async {}).await.unwrap();
        assert_eq!(wake.reason, WakeReason::Watch);
    }
    let ended = leg.cx.idle().until(async {}).await;
    assert_eq!(ended, Err(AgentError::Cancelled));
    stage.stopped(&turn, StopReason::EndTurn).await;
    let story = written(&stage.session, Seq::ZERO).await;
    assert_eq!(tripped(&story), Some((2, 0)));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_listen_is_settled_in_time_and_its_turn_still_ends_well() {
    let world = World::new();
    let deaf = agent(async |cx: TurnContext| {
        if cx.prompt_text() == "next" {
            return Ok(StopReason::EndTurn);
        }
        cx.tool("grep").kind(ToolKind::Search).start().await?;
        while cx.idle().every(SECOND).watchdog(1).await.is_ok() {}
        std::future::pending().await
    });
    let hub = world.hub(deaf);
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let told = story(&whole_turn(&session, &turn).await);
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
async fn cancelled_on_its_way_out_it_is_cancelled() {
    let world = World::new();
    let deaf = agent(async |cx: TurnContext| {
        while cx.idle().every(SECOND).watchdog(1).await.is_ok() {}
        std::future::pending().await
    });
    let hub = world.hub(deaf);
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let mut from = session.subscribe(Seq::ZERO);
    until(&mut from, |e| tripped(std::slice::from_ref(e)).is_some()).await;
    let cancelled = session.cancel_for(Some(turn.clone()), crate::sessions::steering::host());
    assert_eq!(cancelled.await.unwrap().result.as_str(), "cancelled");
    let told = story(&whole_turn(&session, &turn).await);
    assert!(told.ends_with("ended stopped cancelled\n"), "{told}");
}

/// A turn must still answer a message that was accepted while it was ending.
#[tokio::test(start_paused = true)]
async fn a_message_that_comes_too_late_to_save_it_is_delivered_all_the_same() {
    let world = World::new();
    let deaf = agent(async |cx: TurnContext| {
        if cx.prompt_text() == "more" {
            cx.say("here again").await?;
            return Ok(StopReason::EndTurn);
        }
        while cx.idle().every(SECOND).watchdog(1).await.is_ok() {}
        tokio::time::sleep(SECOND).await;
        Ok(StopReason::EndTurn)
    });
    let hub = world.hub(deaf);
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let mut from = session.subscribe(Seq::ZERO);
    until(&mut from, |e| tripped(std::slice::from_ref(e)).is_some()).await;
    crate::sessions::steering::inject(&session, STEER, "more")
        .await
        .unwrap();
    let told = story(&whole_turn(&session, &turn).await);
    assert!(told.contains("user: more\n"), "{told}");
    assert!(
        told.ends_with("said: here again\nended stopped end_turn\n"),
        "{told}"
    );
}

/// The limit 0 counts as 1: an agent that has not waited yet has not waited in vain.
#[tokio::test(start_paused = true)]
async fn none_at_all_is_one() {
    let mut stage = limited(0).await;
    let (turn, leg) = stage.go().await;
    let tick = async || leg.cx.idle().every(SECOND).watchdog(0).await;
    assert_eq!(tick().await.unwrap().reason, WakeReason::Timer);
    assert_eq!(tick().await, Err(AgentError::Cancelled));
    stage.stopped(&turn, StopReason::EndTurn).await;
    let events = whole_turn(&stage.session, &turn).await;
    assert_eq!(tripped(&events), Some((1, 1000)));
}
