//! Where a reminder reaches an agent: every seam with every mode, missed reminders, and audit-only ones.

use expect_test::expect;
use harn_model::{Seam, StopReason};
use harn_runtime::AgentError;

use super::*;

/// The modes that each seam drains, by the contract.
const TABLE: [(Seam, &[DeliveryMode]); 9] = [
    (Seam::TurnStart, &[INTERRUPT, STEER]),
    (Seam::PreCompact, &[]),
    (Seam::PostCompact, &[]),
    (Seam::PreToolDispatch, &[INTERRUPT]),
    (Seam::PostToolDispatch, &[INTERRUPT, STEER]),
    (Seam::TurnEnd, &[INTERRUPT, STEER]),
    (Seam::DaemonIdlePre, &[INTERRUPT]),
    (Seam::DaemonIdlePost, &[INTERRUPT]),
    (Seam::LoopExit, &[QUEUE]),
];

#[tokio::test]
async fn each_seam_drains_its_modes_and_renders_all_but_audit_only() {
    for (seam, drained) in TABLE {
        let mut stage = Stage::new().await;
        let (_, leg) = stage.start_turn().await;
        let names = [
            (INTERRUPT, "interrupt"),
            (STEER, "finish"),
            (QUEUE, "audit"),
        ];
        for (mode, id) in names {
            stage.remind(mode, reminder(id)).await;
        }
        let before = stage.session.last_seq();
        let given = leg.pass_seam(seam).await;
        let is_drained = |mode: &DeliveryMode| drained.contains(mode);
        let of = |wanted: &dyn Fn(DeliveryMode) -> bool| {
            let wanted = names.into_iter().filter(|(mode, _)| wanted(*mode));
            wanted.map(|(_, id)| id.to_owned()).collect::<Vec<_>>()
        };
        let rendered = of(&|mode| is_drained(&mode) && mode != QUEUE);
        assert_eq!(given, rendered, "{seam:?}");
        assert_eq!(
            emitted_ids(&written_events(&stage.session, before).await),
            rendered,
            "{seam:?}"
        );
        assert_eq!(stage.reminders_in_force(), rendered, "{seam:?}");
        assert_eq!(
            stage.pending_texts(),
            of(&|mode| !is_drained(&mode)),
            "{seam:?}"
        );
        // Each is delivered once.
        assert_eq!(leg.pass_seam(seam).await, [""; 0], "{seam:?}");
    }
}

#[tokio::test]
async fn reminder_events_are_written_in_order() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    let before = stage.session.last_seq();
    stage.remind(STEER, reminder_with_key("one", "k")).await;
    stage.remind(STEER, reminder("two")).await;
    inject(&stage.session, STEER, "hello").await.unwrap();
    stage
        .remind(INTERRUPT, reminder_with_key("three", "k"))
        .await;
    assert_eq!(
        leg.pass_seam(Seam::TurnStart).await,
        ["two", "hello", "three"]
    );
    leg.finish();
    whole_turn(&stage.session, &turn).await;
    expect![[r#"
        queued one
        queued two
        queued "hello"
        queued three
        injected one finish_step
        injected two finish_step
        user: hello
        deduped one by three
        injected three interrupt_immediate
        emitted two
        emitted three
        turn_start 1: 4
        ended stopped end_turn
    "#]]
    .assert_eq(&stage.steering_log(before).await);
}

#[tokio::test]
async fn audit_only_reminder_is_recorded_at_the_end_and_never_rendered() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    stage.remind(QUEUE, reminder("note")).await;
    for (seam, _) in TABLE {
        assert_eq!(leg.pass_seam(seam).await, [""; 0], "{seam:?}");
        assert_eq!(leg.reminders_in_force().await, [""; 0], "{seam:?}");
    }
    // This reminder arrives after the agent passed the last seam.
    stage.remind(QUEUE, reminder("later")).await;
    leg.finish();
    let events = whole_turn(&stage.session, &turn).await;
    assert_eq!(emitted_ids(&events), [""; 0]);
    let told = format_steering_events(&events);
    assert_eq!(
        told.matches("injected note audit_only\n").count(),
        1,
        "{told}"
    );
    assert_eq!(
        told.matches("injected later audit_only\n").count(),
        1,
        "{told}"
    );
    assert!(stage.session.view().pending.is_empty());
    assert!(stage.session.view().reminders.is_empty());
    let (_, leg) = stage.start_turn().await;
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, [""; 0]);
    assert_eq!(leg.reminders_in_force().await, [""; 0]);
}

#[tokio::test]
async fn missed_reminder_is_delivered_at_the_next_matching_seam() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    for mode in [INTERRUPT, STEER] {
        stage.remind(mode, reminder(mode.as_str())).await;
    }
    leg.finish();
    let events = whole_turn(&stage.session, &turn).await;
    let missed = ["interrupt_immediate", "finish_step"];
    assert_eq!(emitted_ids(&events), [""; 0]);
    assert_eq!(stage.reminders_in_force(), missed);
    let before = stage.session.last_seq();
    let (_, leg) = stage.start_turn().await;
    // These seams render nothing, and an audit-only reminder does not cause it.
    stage.remind(QUEUE, reminder("note")).await;
    for seam in [Seam::PreToolDispatch, Seam::PreCompact, Seam::LoopExit] {
        assert_eq!(leg.pass_seam(seam).await, [""; 0], "{seam:?}");
    }
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, missed);
    assert_eq!(leg.pass_seam(Seam::TurnEnd).await, [""; 0]);
    assert_eq!(leg.reminders_in_force().await, missed);
    let events = written_events(&stage.session, before).await;
    assert_eq!(emitted_ids(&events), missed);
}

#[tokio::test]
async fn reading_reminders_renders_them_once_and_delivers_nothing_pending() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    stage.remind(STEER, reminder("one")).await;
    leg.finish();
    whole_turn(&stage.session, &turn).await;
    let (_, leg) = stage.start_turn().await;
    stage.remind(STEER, reminder("two")).await;
    assert_eq!(leg.reminders_in_force().await, ["one"]);
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["two"]);
    assert_eq!(leg.reminders_in_force().await, ["one", "two"]);
    let events = written_events(&stage.session, Seq::ZERO).await;
    assert_eq!(emitted_ids(&events), ["one", "two"]);
}

#[tokio::test]
async fn cancelled_agent_receives_no_reminder() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    stage.remind(STEER, reminder("one")).await;
    leg.finish();
    whole_turn(&stage.session, &turn).await;
    let (turn, leg) = stage.start_turn().await;
    stage.remind(STEER, reminder("two")).await;
    // The test's agent returns at once, but its context still exists.
    stage.session.cancel(turn.clone()).await;
    let cancelled = Err(AgentError::Cancelled);
    assert_eq!(leg.cx.seam(Seam::TurnStart).await.map(|_| ()), cancelled);
    assert_eq!(leg.cx.reminders().await.map(|_| ()), cancelled);
    stage.assert_stopped(&turn, StopReason::Cancelled).await;
    let events = written_events(&stage.session, Seq::ZERO).await;
    assert_eq!(emitted_ids(&events), [""; 0]);
    let (_, leg) = stage.start_turn().await;
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["one", "two"]);
}

#[tokio::test]
async fn reminder_between_turns_waits_for_the_next_turn() {
    let mut stage = Stage::new().await;
    for mode in [QUEUE, STEER, INTERRUPT] {
        stage.remind(mode, reminder(mode.as_str())).await;
    }
    assert_eq!(stage.session.view().pending.len(), 3);
    assert!(!stage.is_called());
    let (turn, leg) = stage.start_turn().await;
    let given = leg.pass_seam(Seam::TurnStart).await;
    assert_eq!(given, ["finish_step", "interrupt_immediate"]);
    leg.finish();
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
    assert!(stage.session.view().pending.is_empty());
}

#[tokio::test]
async fn reminder_does_not_cause_another_agent_call() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    stage.remind(INTERRUPT, reminder("one")).await;
    leg.finish();
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
    assert!(!stage.is_called());
}

#[tokio::test]
async fn dropped_call_takes_no_reminder() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    stage.remind(STEER, reminder("one")).await;
    {
        // Both calls are sent and dropped before the session processes them.
        let mut passing = std::pin::pin!(leg.cx.seam(Seam::TurnStart));
        let mut asking = std::pin::pin!(leg.cx.reminders());
        std::future::poll_fn(|cx| {
            assert!(passing.as_mut().poll(cx).is_pending());
            assert!(asking.as_mut().poll(cx).is_pending());
            std::task::Poll::Ready(())
        })
        .await;
    }
    leg.cx.flush().await.unwrap();
    assert_eq!(stage.pending_texts(), ["one"]);
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["one"]);
}
