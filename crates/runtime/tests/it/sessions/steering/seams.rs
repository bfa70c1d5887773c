//! Which messages and reminders each seam delivers: every seam with every mode, against a table of the test.

use harn_model::{DeliveryMode, Seam, StopReason, SystemReminder};

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

const MODES: [DeliveryMode; 3] = [INTERRUPT, STEER, QUEUE];

#[tokio::test]
async fn a_message_is_delivered_at_the_seams_of_its_mode_and_nowhere_else() {
    for (seam, drained) in TABLE {
        for mode in MODES {
            let what = format!("{mode:?} at {seam:?}");
            let mut stage = Stage::new().await;
            let (turn, leg) = stage.go().await;
            let id = stage.inject(mode, "more").await;
            let came = leg.cx.seam(seam).await.unwrap();
            if drained.contains(&mode) {
                let content = vec![ContentBlock::text("more")];
                let message = Steering::Message {
                    id: id.clone(),
                    content,
                };
                assert_eq!(came[..], [message], "{what}");
                assert!(stage.waiting().is_empty(), "{what}");
                assert!(leg.seam(seam).await.is_empty(), "{what}, once more");
            } else {
                assert!(came.is_empty(), "{what}");
                assert_eq!(stage.waiting(), ["more"], "{what}");
            }
            let skips = seam == Seam::PreToolDispatch && mode == INTERRUPT;
            assert_eq!(came.dispatch_skipped(), skips, "{what}");
            leg.ends();
            // A message that was not delivered there is the next prompt.
            if !drained.contains(&mode) {
                let next = stage.leg().await;
                assert_eq!(next.prompt(), "more", "{what}");
                next.ends();
            }
            stage.stopped(&turn, StopReason::EndTurn).await;
            let delivered = deliveries(&stage.session).await;
            assert_eq!(delivered, [(id, "more".to_owned())], "{what}");
        }
    }
}

#[tokio::test]
async fn a_reminder_leaves_the_queue_at_the_seams_of_its_mode_and_nowhere_else() {
    for (seam, drained) in TABLE {
        for mode in MODES {
            let what = format!("{mode:?} at {seam:?}");
            let mut stage = Stage::new().await;
            let (_, leg) = stage.go().await;
            let reminder = SystemReminder::new("r", "mind");
            stage.session.remind(mode, reminder, host()).await.unwrap();
            let came = leg.seam(seam).await;
            let passed = drained.contains(&mode);
            assert_eq!(stage.waiting().is_empty(), passed, "{what}");
            // An audit-only reminder is not delivered.
            let given = passed && mode != QUEUE;
            assert_eq!(came.len(), usize::from(given), "{what}");
            let in_force = leg.cx.reminders().await.unwrap();
            assert_eq!(in_force.len(), usize::from(given), "{what}");
        }
    }
}

#[tokio::test]
async fn what_is_delivered_together_keeps_the_order_it_came_in() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.go().await;
    stage.inject(STEER, "1").await;
    stage.inject(QUEUE, "last").await;
    let reminder = SystemReminder::new("r", "2");
    let mode = INTERRUPT;
    stage.session.remind(mode, reminder, host()).await.unwrap();
    stage.inject(STEER, "3").await;
    stage.inject(INTERRUPT, "4").await;
    assert_eq!(leg.seam(Seam::TurnEnd).await, ["1", "2", "3", "4"]);
    assert_eq!(stage.waiting(), ["last"]);
    leg.ends();
    stage.leg().await.ends();
    stage.stopped(&turn, StopReason::EndTurn).await;
}

#[tokio::test]
async fn a_steer_comes_before_a_queued_message_also_where_the_first_seam_is_the_exit() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.go().await;
    stage.inject(QUEUE, "later").await;
    let note = SystemReminder::new("r", "note");
    stage.session.remind(QUEUE, note, host()).await.unwrap();
    stage.inject(STEER, "first").await;
    assert_eq!(leg.seam(Seam::LoopExit).await, [""; 0]);
    assert_eq!(stage.waiting(), ["later", "first"]);
    leg.ends();
    let leg = stage.leg().await;
    assert_eq!(leg.prompt(), "first");
    assert_eq!(leg.seam(Seam::LoopExit).await, ["later"]);
    leg.ends();
    stage.stopped(&turn, StopReason::EndTurn).await;
}

#[tokio::test]
async fn nobody_who_stopped_looking_is_given_anything() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.go().await;
    stage.inject(STEER, "kept").await;
    // A seam call that is dropped before the session can answer.
    {
        let mut seam = std::pin::pin!(leg.cx.seam(Seam::TurnStart));
        let polled =
            std::future::poll_fn(|cx| std::task::Poll::Ready(seam.as_mut().poll(cx).is_pending()));
        assert!(polled.await);
    }
    leg.cx.flush().await.unwrap();
    assert_eq!(stage.waiting(), ["kept"]);
    assert_eq!(leg.seam(Seam::TurnStart).await, ["kept"]);
}

#[tokio::test]
async fn an_agent_that_was_told_to_stop_is_given_nothing() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.go().await;
    stage.inject(STEER, "kept").await;
    stage.session.cancel(turn.clone()).await;
    leg.cx.cancelled().await;
    let seam = leg.cx.seam(Seam::TurnStart).await;
    assert_eq!(seam, Err(AgentError::Cancelled));
    stage.stopped(&turn, StopReason::Cancelled).await;
    assert_eq!(stage.waiting(), ["kept"]);
    assert!(deliveries(&stage.session).await.is_empty());
}
