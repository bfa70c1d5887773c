//! What wakes an agent, what the wake-up delivers, and in which order.

use std::time::Duration;

use expect_test::expect;
use harn_model::{Seam, Seq, StopReason, SystemReminder};
use tokio::sync::oneshot;

use super::*;

fn expected_wake_up(reason: WakeReason, texts: &[&str]) -> (WakeReason, Vec<String>) {
    (reason, texts.iter().map(|it| (*it).to_owned()).collect())
}

#[tokio::test(start_paused = true)]
async fn each_wake_reason_wakes_the_agent_once_with_its_deliveries() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, [""; 0]);

    let waiting = leg.start_idle_wait(&stage).await;
    stage.inject(STEER, "steer").await;
    assert_eq!(
        wait_for_wake_up(waiting).await,
        expected_wake_up(WakeReason::Message, &["steer"])
    );

    let waiting = leg.start_idle_wait(&stage).await;
    stage.inject(QUEUE, "queue").await;
    assert_eq!(
        wait_for_wake_up(waiting).await,
        expected_wake_up(WakeReason::Message, &["queue"])
    );

    let waiting = leg.start_idle_wait(&stage).await;
    stage.remind(STEER, reminder("finish")).await;
    assert_eq!(
        wait_for_wake_up(waiting).await,
        expected_wake_up(WakeReason::Reminder, &["finish"])
    );

    let waiting = leg.start_idle_wait(&stage).await;
    stage.remind(INTERRUPT, reminder("interrupt")).await;
    let interrupted = expected_wake_up(WakeReason::Reminder, &["interrupt"]);
    assert_eq!(wait_for_wake_up(waiting).await, interrupted);

    let waiting = leg.start_idle_wait(&stage).await;
    stage.session.resume().await;
    assert_eq!(
        wait_for_wake_up(waiting).await,
        expected_wake_up(WakeReason::Resume, &[])
    );

    let (change, changed) = oneshot::channel::<()>();
    let waiting = leg.start_wait(|idle| idle.wake_when(async { drop(changed.await) }));
    stage.wait_until_idle().await;
    change.send(()).unwrap();
    assert_eq!(
        wait_for_wake_up(waiting).await,
        expected_wake_up(WakeReason::Watch, &[])
    );

    let waiting = leg.start_wait(|idle| idle.wake_after(Duration::from_secs(3600)));
    assert_eq!(
        wait_for_wake_up(waiting).await,
        expected_wake_up(WakeReason::Timer, &[])
    );

    leg.finish();
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
    let told = stage.steering_log(Seq::ZERO).await;
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
    let (_, leg) = stage.start_turn().await;
    let waiting = leg.start_idle_wait(&stage).await;
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
    assert_eq!(stage.steering_log(before).await, "queued note\n");
    assert!(stage.session.view().idle.is_some());
    stage.session.resume().await;
    assert_eq!(
        wait_for_wake_up(waiting).await,
        expected_wake_up(WakeReason::Resume, &[])
    );
    assert!(stage.session.view().idle.is_none());
    // Only the loop exit records it, not the next wait.
    let _waiting = leg.start_idle_wait(&stage).await;
    assert_eq!(stage.pending_texts(), ["note"]);
    assert_eq!(leg.pass_seam(Seam::LoopExit).await, [""; 0]);
    assert_eq!(stage.pending_texts(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn pending_delivery_ends_a_wait_at_once_with_its_reason() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
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
        assert_eq!(
            wait_for_wake_up(leg.start_wait(|idle| idle)).await,
            expected_wake_up(reason, &[text])
        );
        assert!(stage.session.view().idle.is_none());
    }
    let told = stage.steering_log(before).await;
    assert!(!told.contains("idle 0"), "{told}");
    let reasons: Vec<_> = told.lines().filter(|it| it.starts_with("woke")).collect();
    let messages = ["woke message"; 3];
    let reminders = ["woke reminder"; 2];
    assert_eq!(reasons, [&messages[..], &reminders].concat());
}

#[tokio::test(start_paused = true)]
async fn interrupts_are_delivered_first_and_messages_keep_their_order() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    stage.inject(QUEUE, "queue one").await;
    stage.inject(QUEUE, "queue two").await;
    stage.remind(STEER, reminder("finish")).await;
    stage.inject(STEER, "steer one").await;
    stage.inject(STEER, "steer two").await;
    stage.remind(INTERRUPT, reminder("interrupt")).await;
    let first = ["interrupt", "finish", "steer one", "steer two"];
    let given = expected_wake_up(WakeReason::Reminder, &first);
    assert_eq!(wait_for_wake_up(leg.start_wait(|idle| idle)).await, given);
    // One message per wake-up: each is the agent's next task.
    for text in ["queue one", "queue two"] {
        let given = expected_wake_up(WakeReason::Message, &[text]);
        assert_eq!(wait_for_wake_up(leg.start_wait(|idle| idle)).await, given);
    }
}

#[tokio::test(start_paused = true)]
async fn resume_while_awake_ends_only_the_next_wait() {
    let mut stage = Stage::new().await;
    // No agent runs, so this resume wakes none, now or later.
    stage.session.resume().await;
    let (turn, leg) = stage.start_turn().await;
    let waiting = leg.start_idle_wait(&stage).await;
    stage.session.resume().await;
    assert_eq!(
        wait_for_wake_up(waiting).await,
        expected_wake_up(WakeReason::Resume, &[])
    );
    stage.session.resume().await;
    stage.session.resume().await;
    let resumed = expected_wake_up(WakeReason::Resume, &[]);
    assert_eq!(wait_for_wake_up(leg.start_wait(|idle| idle)).await, resumed);
    let waiting = leg.start_idle_wait(&stage).await;
    stage.inject(STEER, "a").await;
    assert_eq!(
        wait_for_wake_up(waiting).await,
        expected_wake_up(WakeReason::Message, &["a"])
    );
    // A resume also ends a wait in the agent's next call within the turn, but not in the next turn.
    stage.session.resume().await;
    stage.inject(QUEUE, "b").await;
    leg.finish();
    let leg = stage.next_call().await;
    assert_eq!(wait_for_wake_up(leg.start_wait(|idle| idle)).await, resumed);
    stage.session.resume().await;
    leg.finish();
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
    let (_, leg) = stage.start_turn().await;
    let _waiting = leg.start_idle_wait(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn each_wait_ages_reminders_by_one_turn() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    stage.remind(STEER, reminder_with_ttl("one", 1)).await;
    stage.remind(STEER, reminder_with_ttl("two", 2)).await;
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["one", "two"]);
    let waiting = leg.start_idle_wait(&stage).await;
    assert_eq!(stage.reminders_in_force(), ["two"]);
    // A reminder that arrives with the wake-up keeps all its turns.
    stage.remind(INTERRUPT, reminder_with_ttl("new", 1)).await;
    wait_for_wake_up(waiting).await;
    assert_eq!(leg.reminders_in_force().await, ["two", "new"]);
    // So does a reminder that arrived before the wait.
    stage.remind(INTERRUPT, reminder_with_ttl("newer", 1)).await;
    wait_for_wake_up(leg.start_wait(|idle| idle)).await;
    assert_eq!(leg.reminders_in_force().await, ["two", "new", "newer"]);
    let _waiting = leg.start_idle_wait(&stage).await;
    assert_eq!(stage.reminders_in_force(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn wait_delivers_only_the_replacing_reminder() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    let waiting = leg.start_idle_wait(&stage).await;
    // Both reminders are accepted before the agent can read them.
    let (one, two) = (reminder_with_key("one", "k"), reminder_with_key("two", "k"));
    let (session, host) = (&stage.session, crate::sessions::steering::host_owner);
    let (one, two) = tokio::join!(
        session.remind(STEER, one, host()),
        session.remind(STEER, two, host())
    );
    one.unwrap();
    two.unwrap();
    assert_eq!(
        wait_for_wake_up(waiting).await,
        expected_wake_up(WakeReason::Reminder, &["two"])
    );
}

#[tokio::test(start_paused = true)]
async fn agent_that_waited_and_returned_is_called_again_with_a_message() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    let waiting = leg.start_idle_wait(&stage).await;
    stage.inject(STEER, "one").await;
    wait_for_wake_up(waiting).await;
    stage.inject(QUEUE, "two").await;
    leg.finish();
    let leg = stage.next_call().await;
    assert_eq!(leg.prompt(), "two");
    let waiting = leg.start_idle_wait(&stage).await;
    stage.inject(STEER, "three").await;
    assert_eq!(
        wait_for_wake_up(waiting).await,
        expected_wake_up(WakeReason::Message, &["three"])
    );
    leg.finish();
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
    let told = stage.steering_log(Seq::ZERO).await;
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
    let (turn, leg) = stage.start_turn().await;
    let before = stage.session.last_seq();
    let one = leg.start_idle_wait(&stage).await;
    let two = leg.start_wait(|idle| idle.wake_after(Duration::from_secs(9)));
    leg.cx.flush().await.unwrap();
    // Both waits end together; the message is delivered to one of them.
    stage.inject(STEER, "a").await;
    let (one, two) = (wait_for_wake_up(one).await, wait_for_wake_up(two).await);
    assert_eq!((one.0, two.0), (WakeReason::Message, WakeReason::Message));
    assert_eq!([one.1, two.1].concat(), ["a"]);
    let told = stage.steering_log(before).await;
    assert_eq!(told.matches("\nidle ").count(), 1, "{told}");
    assert_eq!(told.matches("\nwoke ").count(), 1, "{told}");

    // Dropping one wait leaves the other waiting; dropping the last one ends the idle state.
    let before = stage.session.last_seq();
    let one = leg.start_idle_wait(&stage).await;
    let two = leg.start_wait(|idle| idle);
    leg.cx.flush().await.unwrap();
    one.abort();
    assert!(one.await.unwrap_err().is_cancelled());
    leg.cx.flush().await.unwrap();
    assert!(stage.session.view().idle.is_some());
    two.abort();
    let mut from = stage.session.subscribe(before);
    collect_until(&mut from, |e| {
        format_steering_events(std::slice::from_ref(e)) == "woke watch\n"
    })
    .await;
    leg.finish();
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
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
            cx.say(worker.wait_until_finished().await.text).await?;
            Ok(StopReason::EndTurn)
        }
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let child = hub.live_session(&waiting.recv().await.unwrap()).unwrap();
    let is_idle = |e: &harn_model::Envelope| {
        format_steering_events(std::slice::from_ref(e)).starts_with("idle")
    };
    collect_until(&mut child.subscribe(Seq::ZERO), is_idle).await;
    let wake = SystemReminder::new("", "wake up");
    crate::sessions::reminders::remind(&session, STEER, wake).await;
    let told = format_steering_events(&whole_turn(&session, &turn).await);
    assert!(told.contains(r#"said: Reminder: ["wake up"]"#), "{told}");
}
