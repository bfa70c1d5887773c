//! The backoff that idle events report, and the cost of waiting.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use harn_model::{AgentEvent, DaemonChange, Seq};

use super::*;

/// Returns the backoff of every wait so far.
async fn collect_backoffs(stage: &Stage) -> Vec<u64> {
    let events = written_events(&stage.session, Seq::ZERO).await;
    let paces = events.iter().filter_map(|e| match e.event {
        AgentEvent::Daemon(DaemonChange::Idle { backoff_ms, .. }) => Some(backoff_ms),
        _ => None,
    });
    paces.collect()
}

fn with_timer(ms: u64) -> impl for<'a> FnOnce(IdleWait<'a>) -> IdleWait<'a> + Send + 'static {
    move |idle| idle.wake_after(Duration::from_millis(ms))
}

#[tokio::test(start_paused = true)]
async fn wait_without_activity_continues_the_backoff() {
    let mut stage = stage_with_paused_clock().await;
    let (_, leg) = stage.start_turn().await;
    // The steps are 100, 500, 1000, 2000, …: each wait starts with the step in which the last one ended.
    for (ms, pace) in [
        (99, 100),
        (50, 100),
        (100, 100),
        (499, 500),
        (500, 500),
        (1000, 1000),
        (10_000, 2000),
        (1, 2000),
    ] {
        wait_for_wake_up(leg.start_wait(with_timer(ms))).await;
        assert_eq!(
            collect_backoffs(&stage).await.last(),
            Some(&pace),
            "after {ms}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn time_between_waits_does_not_change_the_backoff() {
    let mut stage = stage_with_paused_clock().await;
    let (_, leg) = stage.start_turn().await;
    wait_for_wake_up(leg.start_wait(with_timer(10))).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    wait_for_wake_up(leg.start_wait(with_timer(10))).await;
    assert_eq!(collect_backoffs(&stage).await, [100, 100]);
}

#[tokio::test(start_paused = true)]
async fn activity_resets_the_backoff() {
    let mut stage = stage_with_paused_clock().await;
    let (_, leg) = stage.start_turn().await;
    let slow = async || {
        wait_for_wake_up(leg.start_wait(with_timer(60_000))).await;
        let before = collect_backoffs(&stage).await.len();
        wait_for_wake_up(leg.start_wait(with_timer(1))).await;
        assert_eq!(collect_backoffs(&stage).await[before..], [2000]);
    };
    let expect_first = async |what: &str| {
        wait_for_wake_up(leg.start_wait(with_timer(1))).await;
        assert_eq!(collect_backoffs(&stage).await.last(), Some(&100), "{what}");
    };
    slow().await;
    leg.cx.say("something").await.unwrap();
    expect_first("what it said").await;
    slow().await;
    leg.cx.remind(reminder("own")).await.unwrap();
    expect_first("what it reminded itself of").await;
    slow().await;
    stage.session.resume().await;
    wait_for_wake_up(leg.start_wait(with_timer(60_000))).await;
    expect_first("a resume").await;
    slow().await;
    stage.inject(STEER, "hello").await;
    wait_for_wake_up(leg.start_wait(with_timer(60_000))).await;
    expect_first("a message").await;
    slow().await;
    // A seam delivers the message in between, not the wake-up.
    stage.inject(STEER, "hello").await;
    assert_eq!(leg.pass_seam(harn_model::Seam::TurnStart).await, ["hello"]);
    expect_first("a message at a seam").await;
    slow().await;
    wait_for_wake_up(leg.start_wait(|idle| idle.wake_when(async {}))).await;
    expect_first("what it watches").await;
}

/// With no timer scheduled, the auto-advancing clock moves to the end of the test's own hour in one step: the
/// thread parks as often as without a waiting agent.
#[test]
fn waiting_agent_schedules_no_timer() {
    let nobody = count_parks_in_an_hour(|_| None);
    let waiting = count_parks_in_an_hour(|leg| Some(leg.start_wait(|idle| idle)));
    let ticking = count_parks_in_an_hour(|leg| Some(leg.start_wait(with_timer(1_000_000))));
    assert_eq!(waiting, nobody);
    // A wait with its own timer changes the count.
    assert!(ticking > nobody, "{ticking} {nobody}");
}

/// Counts how often the thread parks in an hour in which only `wait` runs.
fn count_parks_in_an_hour(wait: impl FnOnce(&Leg) -> Option<Waiting>) -> usize {
    let parked = Arc::new(AtomicUsize::new(0));
    let counted = parked.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .on_thread_park(move || {
            counted.fetch_add(1, Ordering::SeqCst);
        })
        .build()
        .unwrap();
    runtime.block_on(async move {
        let mut stage = stage_with_paused_clock().await;
        let (_, leg) = stage.start_turn().await;
        let waiting = wait(&leg);
        // The work before the wait finishes first.
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(stage.session.view().idle.is_some(), waiting.is_some());
        let before = parked.load(Ordering::SeqCst);
        tokio::time::sleep(Duration::from_secs(3600)).await;
        parked.load(Ordering::SeqCst) - before
    })
}
