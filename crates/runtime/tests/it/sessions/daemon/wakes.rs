//! What wakes an agent, what the wake-up delivers, and in which order.

use std::time::Duration;

use expect_test::expect;
use harn_model::{Seam, Seq, StopReason, SystemReminder};
use tokio::sync::oneshot;

use super::*;

fn of(reason: WakeReason, texts: &[&str]) -> (WakeReason, Vec<String>) {
    (reason, texts.iter().map(|it| (*it).to_owned()).collect())
}

#[tokio::test(start_paused = true)]
async fn each_wake_reason_wakes_the_agent_once_with_its_deliveries() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.go().await;
    assert_eq!(leg.seam(Seam::TurnStart).await, [""; 0]);

    let waiting = leg.is_idle(&stage).await;
    stage.inject(STEER, "steer").await;
    assert_eq!(woke(waiting).await, of(WakeReason::Message, &["steer"]));

    let waiting = leg.is_idle(&stage).await;
    stage.inject(QUEUE, "queue").await;
    assert_eq!(woke(waiting).await, of(WakeReason::Message, &["queue"]));

    let waiting = leg.is_idle(&stage).await;
    stage.remind(STEER, reminder("finish")).await;
    assert_eq!(woke(waiting).await, of(WakeReason::Reminder, &["finish"]));

    let waiting = leg.is_idle(&stage).await;
    stage.remind(INTERRUPT, reminder("interrupt")).await;
    let interrupted = of(WakeReason::Reminder, &["interrupt"]);
    assert_eq!(woke(waiting).await, interrupted);

    let waiting = leg.is_idle(&stage).await;
    stage.session.resume().await;
    assert_eq!(woke(waiting).await, of(WakeReason::Resume, &[]));

    let (change, changed) = oneshot::channel::<()>();
    let waiting = leg.waits(|idle| idle.until(async { drop(changed.await) }));
    stage.idles().await;
    change.send(()).unwrap();
    assert_eq!(woke(waiting).await, of(WakeReason::Watch, &[]));

    let waiting = leg.waits(|idle| idle.every(Duration::from_secs(3600)));
    assert_eq!(woke(waiting).await, of(WakeReason::Timer, &[]));

    leg.ends();
    stage.stopped(&turn, StopReason::EndTurn).await;
    let told = stage.story(Seq::ZERO).await;
    expect![[r#"
        turn: go
        turn_start 1: 0
        daemon_idle_pre 1: 0
        idle 1, pace 100
        queued "steer"
        woke message
        daemon_idle_post 1: 0
        user: steer
        turn_start 2: 1
        daemon_idle_pre 2: 0
        idle 2, pace 100
        queued "queue"
        woke message
        daemon_idle_post 2: 0
        user: queue
        turn_start 3: 1
        daemon_idle_pre 3: 0
        idle 3, pace 100
        queued finish
        woke reminder
        daemon_idle_post 3: 0
        injected finish finish_step
        emitted finish
        turn_start 4: 1
        daemon_idle_pre 4: 0
        idle 4, pace 100
        queued interrupt
        woke reminder
        injected interrupt interrupt_immediate
        emitted interrupt
        daemon_idle_post 4: 1
        turn_start 5: 0
        daemon_idle_pre 5: 0
        idle 5, pace 100
        woke resume
        daemon_idle_post 5: 0
        turn_start 6: 0
        daemon_idle_pre 6: 0
        idle 6, pace 100
        woke watch
        daemon_idle_post 6: 0
        turn_start 7: 0
        daemon_idle_pre 7: 0
        idle 7, pace 100
        woke timer
        daemon_idle_post 7: 0
        turn_start 8: 0
        ended stopped end_turn
    "#]]
    .assert_eq(&told);
}

#[tokio::test(start_paused = true)]
async fn idle_agent_stays_idle_without_a_wake_reason() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.go().await;
    let waiting = leg.is_idle(&stage).await;
    let before = stage.session.last_seq();
    // Audit-only reminders and mode changes do not wake the agent.
    stage.remind(QUEUE, reminder("note")).await;
    stage
        .session
        .set_mode(harn_runtime::ASK_MODE)
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(24 * 3600)).await;
    assert!(!waiting.is_finished());
    assert_eq!(stage.story(before).await, "queued note\n");
    assert!(stage.session.view().idle.is_some());
    stage.session.resume().await;
    assert_eq!(woke(waiting).await, of(WakeReason::Resume, &[]));
    assert!(stage.session.view().idle.is_none());
    // Only the loop exit records it, not the next wait.
    let _waiting = leg.is_idle(&stage).await;
    assert_eq!(stage.waiting(), ["note"]);
    assert_eq!(leg.seam(Seam::LoopExit).await, [""; 0]);
    assert_eq!(stage.waiting(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn pending_delivery_ends_a_wait_at_once_with_its_reason() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.go().await;
    type Something = (WakeReason, &'static str);
    let cases: [(harn_model::DeliveryMode, bool, Something); 5] = [
        (STEER, true, (WakeReason::Message, "a")),
        (QUEUE, true, (WakeReason::Message, "b")),
        (INTERRUPT, true, (WakeReason::Message, "c")),
        (STEER, false, (WakeReason::Reminder, "d")),
        (INTERRUPT, false, (WakeReason::Reminder, "e")),
    ];
    let before = stage.session.last_seq();
    for (mode, message, (reason, text)) in cases {
        match message {
            true => drop(stage.inject(mode, text).await),
            false => drop(stage.remind(mode, reminder(text)).await),
        }
        assert_eq!(woke(leg.waits(|idle| idle)).await, of(reason, &[text]));
        assert!(stage.session.view().idle.is_none());
    }
    let told = stage.story(before).await;
    assert!(!told.contains("idle 0"), "{told}");
    let reasons: Vec<_> = told.lines().filter(|it| it.starts_with("woke")).collect();
    let messages = ["woke message"; 3];
    let reminders = ["woke reminder"; 2];
    assert_eq!(reasons, [&messages[..], &reminders].concat());
}

#[tokio::test(start_paused = true)]
async fn interrupts_are_delivered_first_and_messages_keep_their_order() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.go().await;
    stage.inject(QUEUE, "queue one").await;
    stage.inject(QUEUE, "queue two").await;
    stage.remind(STEER, reminder("finish")).await;
    stage.inject(STEER, "steer one").await;
    stage.inject(STEER, "steer two").await;
    stage.remind(INTERRUPT, reminder("interrupt")).await;
    let first = ["interrupt", "finish", "steer one", "steer two"];
    let given = of(WakeReason::Reminder, &first);
    assert_eq!(woke(leg.waits(|idle| idle)).await, given);
    // One message per wake-up: each is the agent's next task.
    for text in ["queue one", "queue two"] {
        let given = of(WakeReason::Message, &[text]);
        assert_eq!(woke(leg.waits(|idle| idle)).await, given);
    }
}

#[tokio::test(start_paused = true)]
async fn resume_while_awake_ends_only_the_next_wait() {
    let mut stage = Stage::new().await;
    // No agent runs, so this resume wakes none, now or later.
    stage.session.resume().await;
    let (turn, leg) = stage.go().await;
    let waiting = leg.is_idle(&stage).await;
    stage.session.resume().await;
    assert_eq!(woke(waiting).await, of(WakeReason::Resume, &[]));
    stage.session.resume().await;
    stage.session.resume().await;
    let resumed = of(WakeReason::Resume, &[]);
    assert_eq!(woke(leg.waits(|idle| idle)).await, resumed);
    let waiting = leg.is_idle(&stage).await;
    stage.inject(STEER, "a").await;
    assert_eq!(woke(waiting).await, of(WakeReason::Message, &["a"]));
    // A resume also ends a wait in the agent's next call within the turn, but not in the next turn.
    stage.session.resume().await;
    stage.inject(QUEUE, "b").await;
    leg.ends();
    let leg = stage.leg().await;
    assert_eq!(woke(leg.waits(|idle| idle)).await, resumed);
    stage.session.resume().await;
    leg.ends();
    stage.stopped(&turn, StopReason::EndTurn).await;
    let (_, leg) = stage.go().await;
    let _waiting = leg.is_idle(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn each_wait_ages_reminders_by_one_turn() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.go().await;
    stage.remind(STEER, lasting("one", 1)).await;
    stage.remind(STEER, lasting("two", 2)).await;
    assert_eq!(leg.seam(Seam::TurnStart).await, ["one", "two"]);
    let waiting = leg.is_idle(&stage).await;
    assert_eq!(stage.in_force(), ["two"]);
    // A reminder that arrives with the wake-up keeps all its turns.
    stage.remind(INTERRUPT, lasting("new", 1)).await;
    woke(waiting).await;
    assert_eq!(leg.in_force().await, ["two", "new"]);
    // So does a reminder that arrived before the wait.
    stage.remind(INTERRUPT, lasting("newer", 1)).await;
    woke(leg.waits(|idle| idle)).await;
    assert_eq!(leg.in_force().await, ["two", "new", "newer"]);
    let _waiting = leg.is_idle(&stage).await;
    assert_eq!(stage.in_force(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn wait_delivers_only_the_replacing_reminder() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.go().await;
    let waiting = leg.is_idle(&stage).await;
    // Both reminders are accepted before the agent can read them.
    let (one, two) = (keyed("one", "k"), keyed("two", "k"));
    let (session, host) = (&stage.session, crate::sessions::steering::host);
    let (one, two) = tokio::join!(
        session.remind(STEER, one, host()),
        session.remind(STEER, two, host())
    );
    one.unwrap();
    two.unwrap();
    assert_eq!(woke(waiting).await, of(WakeReason::Reminder, &["two"]));
}

#[tokio::test(start_paused = true)]
async fn agent_that_waited_and_returned_is_called_again_with_a_message() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.go().await;
    let waiting = leg.is_idle(&stage).await;
    stage.inject(STEER, "one").await;
    woke(waiting).await;
    stage.inject(QUEUE, "two").await;
    leg.ends();
    let leg = stage.leg().await;
    assert_eq!(leg.prompt(), "two");
    let waiting = leg.is_idle(&stage).await;
    stage.inject(STEER, "three").await;
    assert_eq!(woke(waiting).await, of(WakeReason::Message, &["three"]));
    leg.ends();
    stage.stopped(&turn, StopReason::EndTurn).await;
    let told = stage.story(Seq::ZERO).await;
    // Iterations are counted through the whole turn.
    let seams = [
        "turn_start 1",
        "loop_exit 1",
        "idle 1, pace 100",
        "turn_start 2",
    ];
    let mut from = 0;
    for seam in seams {
        let at = told[from..].find(seam);
        from += at.unwrap_or_else(|| panic!("{seam} in {told}"));
    }
}

#[tokio::test(start_paused = true)]
async fn concurrent_waits_count_as_one() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.go().await;
    let before = stage.session.last_seq();
    let one = leg.is_idle(&stage).await;
    let two = leg.waits(|idle| idle.every(Duration::from_secs(9)));
    leg.cx.flush().await.unwrap();
    // Both waits end together; the message is delivered to one of them.
    stage.inject(STEER, "a").await;
    let (one, two) = (woke(one).await, woke(two).await);
    assert_eq!((one.0, two.0), (WakeReason::Message, WakeReason::Message));
    assert_eq!([one.1, two.1].concat(), ["a"]);
    let told = stage.story(before).await;
    assert_eq!(told.matches("\nidle ").count(), 1, "{told}");
    assert_eq!(told.matches("\nwoke ").count(), 1, "{told}");

    // Dropping one wait leaves the other waiting; dropping the last one ends the idle state.
    let before = stage.session.last_seq();
    let one = leg.is_idle(&stage).await;
    let two = leg.waits(|idle| idle);
    leg.cx.flush().await.unwrap();
    one.abort();
    assert!(one.await.unwrap_err().is_cancelled());
    leg.cx.flush().await.unwrap();
    assert!(stage.session.view().idle.is_some());
    two.abort();
    let mut from = stage.session.subscribe(before);
    until(&mut from, |e| {
        story(std::slice::from_ref(e)) == "woke watch\n"
    })
    .await;
    leg.ends();
    stage.stopped(&turn, StopReason::EndTurn).await;
}

#[tokio::test(start_paused = true)]
async fn reminder_to_the_parent_session_wakes_an_idle_worker() {
    let world = World::new();
    let (waits, mut waiting) = tokio::sync::mpsc::channel(4);
    let below = agent(move |cx: TurnContext| {
        let waits = waits.clone();
        async move {
            waits.send(cx.session_id().clone()).await.unwrap();
            let wake = cx.idle().await?;
            cx.say(format!("{:?}: {:?}", wake.reason, texts(&wake.delivered)))
                .await?;
            Ok(StopReason::EndTurn)
        }
    });
    let hub = world.hub(agent(move |cx: TurnContext| {
        let below = below.clone();
        async move {
            let worker = cx.worker("w").task("t").agent(below).start().await?;
            cx.say(worker.finished().await.text).await?;
            Ok(StopReason::EndTurn)
        }
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let child = hub.live(&waiting.recv().await.unwrap()).unwrap();
    let is_idle = |e: &harn_model::Envelope| story(std::slice::from_ref(e)).starts_with("idle");
    until(&mut child.subscribe(Seq::ZERO), is_idle).await;
    let wake = SystemReminder::new("", "wake up");
    crate::sessions::reminders::remind(&session, STEER, wake).await;
    let told = story(&whole_turn(&session, &turn).await);
    assert!(told.contains(r#"said: Reminder: ["wake up"]"#), "{told}");
}
