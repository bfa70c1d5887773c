//! Which workers receive a reminder: those that start while it is in force or pending, and running ones.

use harn_model::{ReminderPropagation, ReminderSource, Seam, StopReason};
use harn_runtime::{Agent, TurnContext, Worker};
use tokio::sync::mpsc;

use super::*;

fn reminder_with_propagation(id: &str, propagate: ReminderPropagation) -> SystemReminder {
    SystemReminder {
        propagate,
        ..reminder(id)
    }
}

const EVERY: [(&str, ReminderPropagation); 3] = [
    ("none", ReminderPropagation::None),
    ("session", ReminderPropagation::Session),
    ("all", ReminderPropagation::All),
];

/// A worker whose agent the test plays, with the calls of that agent.
struct Crew {
    worker: Worker,
    legs: mpsc::Receiver<Leg>,
    session: Controller,
}

impl Crew {
    /// Starts a worker whose agent the test plays, and returns its first call.
    async fn start_worker(hub: &Hub, leg: &Leg) -> (Self, Leg) {
        let (agent, mut legs) = played_agent();
        let worker = start(&leg.cx, agent).await;
        let first = legs.recv().await.unwrap();
        let session = hub.live_session(worker.session_id()).unwrap();
        let crew = Self {
            worker,
            legs,
            session,
        };
        (crew, first)
    }
}

async fn start(cx: &TurnContext, agent: std::sync::Arc<dyn Agent>) -> Worker {
    let worker = cx.worker("w").task("t").agent(agent).retriggerable();
    worker.start().await.unwrap()
}

/// Waits until the session has written this line.
async fn wait_for_line(session: &Controller, line: &str) {
    let wanted = line.to_owned() + "\n";
    let is_it = |e: &Envelope| format_steering_events(std::slice::from_ref(e)) == wanted;
    collect_until(&mut session.subscribe(Seq::ZERO), is_it).await;
}

#[tokio::test]
async fn worker_starts_with_reminders_in_force_and_pending() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    for (id, propagate) in EVERY {
        stage
            .remind(STEER, reminder_with_propagation(id, propagate))
            .await;
    }
    leg.pass_seam(Seam::TurnStart).await;
    stage.remind(STEER, reminder("waits")).await;
    stage.remind(INTERRUPT, reminder("interrupts")).await;
    stage.remind(QUEUE, reminder("note")).await;
    leg.cx.remind(reminder("own")).await.unwrap();
    leg.cx.flush().await.unwrap();
    let (child, below) = Crew::start_worker(&stage.hub, &leg).await;
    let mine = ["session", "all", "own", "waits", "interrupts"];
    assert_eq!(below.pass_seam(Seam::TurnStart).await, mine);
    let inherited = below.cx.reminders().await.unwrap();
    for it in &inherited {
        assert_eq!(it.source, ReminderSource::Inherited);
        let origin = it.originating_agent_id.as_deref();
        assert_eq!(origin, Some(stage.session.id().as_str()));
    }
    // The next level receives only reminders for all, with the id of the session they come from.
    let (grandchild, deepest) = Crew::start_worker(&stage.hub, &below).await;
    assert_eq!(deepest.pass_seam(Seam::TurnStart).await, ["all"]);
    let inherited = deepest.cx.reminders().await.unwrap();
    let origin = inherited[0].originating_agent_id.as_deref();
    assert_eq!(origin, Some(stage.session.id().as_str()));
    // Each was rendered once per session, without a control operation.
    let events = written_events(&child.session, Seq::ZERO).await;
    assert_eq!(emitted_ids(&events), mine);
    assert!(!format_steering_events(&events).contains("queued"));
    assert_eq!(
        emitted_ids(&written_events(&grandchild.session, Seq::ZERO).await),
        ["all"]
    );
}

#[tokio::test]
async fn running_worker_receives_a_reminder_with_its_mode() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    let (child, below) = Crew::start_worker(&stage.hub, &leg).await;
    let (grandchild, deepest) = Crew::start_worker(&stage.hub, &below).await;
    for (id, propagate) in EVERY {
        stage
            .remind(INTERRUPT, reminder_with_propagation(id, propagate))
            .await;
    }
    stage
        .remind(
            QUEUE,
            reminder_with_propagation("note", ReminderPropagation::All),
        )
        .await;
    stage
        .remind(
            STEER,
            reminder_with_propagation("later", ReminderPropagation::All),
        )
        .await;
    wait_for_line(&child.session, "queued later").await;
    wait_for_line(&grandchild.session, "queued later").await;
    assert_eq!(
        below.pass_seam(Seam::PreToolDispatch).await,
        ["session", "all"]
    );
    assert_eq!(below.pass_seam(Seam::TurnStart).await, ["later"]);
    assert_eq!(deepest.pass_seam(Seam::TurnStart).await, ["all", "later"]);
    for leg in [&below, &deepest] {
        for it in leg.cx.reminders().await.unwrap() {
            assert_eq!(it.source, ReminderSource::Inherited);
            let origin = it.originating_agent_id.as_deref();
            assert_eq!(origin, Some(stage.session.id().as_str()));
        }
    }
    // The session above still has all of them.
    assert_eq!(
        leg.pass_seam(Seam::TurnStart).await,
        ["none", "session", "all", "later"]
    );
}

#[tokio::test]
async fn reminder_of_the_agent_reaches_its_workers() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    let (child, below) = Crew::start_worker(&stage.hub, &leg).await;
    for (id, propagate) in EVERY {
        leg.cx
            .remind(reminder_with_propagation(id, propagate))
            .await
            .unwrap();
    }
    wait_for_line(&child.session, "queued all").await;
    assert_eq!(below.pass_seam(Seam::TurnStart).await, ["session", "all"]);
}

#[tokio::test]
async fn revoked_reminder_is_revoked_in_workers() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    let (child, below) = Crew::start_worker(&stage.hub, &leg).await;
    let (grandchild, deepest) = Crew::start_worker(&stage.hub, &below).await;
    // A reminder with the same id that does not come from above stays.
    remind(&grandchild.session, STEER, reminder("none")).await;
    for (id, propagate) in EVERY {
        stage
            .remind(STEER, reminder_with_propagation(id, propagate))
            .await;
    }
    wait_for_line(&child.session, "queued all").await;
    wait_for_line(&grandchild.session, "queued all").await;
    // `all` is in force in the middle session and pending below it.
    assert_eq!(below.pass_seam(Seam::TurnStart).await, ["session", "all"]);
    for (id, _) in EVERY {
        stage
            .session
            .revoke_reminder(id, host_owner())
            .await
            .unwrap();
    }
    wait_for_line(&grandchild.session, "revoked all").await;
    assert_eq!(deepest.pass_seam(Seam::TurnStart).await, ["none"]);
    wait_for_line(&child.session, "expired all cleared").await;
    assert_eq!(below.reminders_in_force().await, [""; 0]);
    // No control operation failed.
    let events = written_events(&child.session, Seq::ZERO).await;
    let outcomes = events.iter().filter_map(|e| match &e.event {
        AgentEvent::ControlOutcome(outcome) => Some(outcome.result),
        _ => None,
    });
    assert!(outcomes.into_iter().all(|it| it.as_str() == "accepted"));
}

/// Many reminders on several threads, each revoked at once: none remains below.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn worker_receives_reminder_changes_in_order() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    let (child, below) = Crew::start_worker(&stage.hub, &leg).await;
    for i in 0..100 {
        stage.remind(STEER, reminder(&format!("gone-{i}"))).await;
        let id = format!("gone-{i}");
        stage
            .session
            .revoke_reminder(&id, host_owner())
            .await
            .unwrap();
        stage
            .remind(STEER, reminder_with_key(&format!("kept-{i}"), "k"))
            .await;
    }
    wait_for_line(&child.session, "queued kept-99").await;
    assert_eq!(below.pass_seam(Seam::TurnStart).await, ["kept-99"]);
}

#[tokio::test]
async fn second_cycle_receives_only_new_reminders() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    stage.remind(STEER, reminder_with_key("one", "k")).await;
    stage.remind(STEER, reminder("stays")).await;
    leg.pass_seam(Seam::TurnStart).await;
    let (mut child, below) = Crew::start_worker(&stage.hub, &leg).await;
    assert_eq!(below.pass_seam(Seam::TurnStart).await, ["one", "stays"]);
    stage.remind(STEER, reminder("live")).await;
    wait_for_line(&child.session, "queued live").await;
    below.finish();
    child.worker.wait_until_finished().await;
    // It replaces a reminder that the worker had.
    stage.remind(STEER, reminder_with_key("two", "k")).await;
    stage.remind(QUEUE, reminder("note")).await;
    leg.pass_seam(Seam::TurnStart).await;
    child.worker.trigger("again").await.unwrap();
    let below = child.legs.recv().await.unwrap();
    let session = stage.hub.live_session(child.worker.session_id()).unwrap();
    assert_eq!(below.pass_seam(Seam::TurnStart).await, ["live", "two"]);
    assert_eq!(below.reminders_in_force().await, ["stays", "live", "two"]);
    let events = written_events(&session, Seq::ZERO).await;
    assert_eq!(emitted_ids(&events), ["one", "stays", "live", "two"]);
    let told = format_steering_events(&events);
    assert!(
        told.contains("deduped one by two\ninherited two\n"),
        "{told}"
    );
}

/// A worker's session that a client only opened is not running.
#[tokio::test]
async fn waiting_worker_receives_reminders_with_its_next_trigger() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    let (mut child, below) = Crew::start_worker(&stage.hub, &leg).await;
    below.finish();
    child.worker.wait_until_finished().await;
    let looked_at = stage
        .hub
        .open(child.worker.session_id(), None)
        .await
        .unwrap();
    stage.remind(STEER, reminder("one")).await;
    // A reminder that had been sent there would be visible after this change.
    looked_at
        .set_mode(harn_runtime::READ_ONLY_MODE)
        .await
        .unwrap();
    assert!(looked_at.view().pending.is_empty());
    child.worker.trigger("again").await.unwrap();
    let below = child.legs.recv().await.unwrap();
    assert_eq!(below.pass_seam(Seam::TurnStart).await, ["one"]);
    below.finish();
    assert_eq!(
        child.worker.wait_until_finished().await.stop_reason,
        Some(StopReason::EndTurn)
    );
}

#[tokio::test]
async fn revoke_reaches_only_reminders_that_came_from_the_session() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    let (child, below) = Crew::start_worker(&stage.hub, &leg).await;
    // The worker's own reminder, and one from elsewhere, with the same ids.
    below.cx.remind(reminder("own")).await.unwrap();
    let elsewhere = SystemReminder {
        source: ReminderSource::Inherited,
        originating_agent_id: Some("elsewhere".to_owned()),
        ..reminder("elsewhere")
    };
    remind(&child.session, STEER, elsewhere).await;
    assert_eq!(below.pass_seam(Seam::TurnStart).await, ["own", "elsewhere"]);
    for id in ["own", "elsewhere", "mine"] {
        stage.remind(STEER, reminder(id)).await;
    }
    wait_for_line(&child.session, "queued mine").await;
    assert_eq!(below.pass_seam(Seam::TurnStart).await, ["mine"]);
    for id in ["own", "elsewhere", "mine"] {
        stage
            .session
            .revoke_reminder(id, host_owner())
            .await
            .unwrap();
    }
    wait_for_line(&child.session, "expired mine cleared").await;
    assert_eq!(below.reminders_in_force().await, ["own", "elsewhere"]);
    assert_eq!(child.worker.session_id(), child.session.id());
}
