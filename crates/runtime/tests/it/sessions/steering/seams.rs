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
async fn message_is_delivered_only_at_the_seams_of_its_mode() {
    for (seam, drained) in TABLE {
        for mode in MODES {
            let what = format!("{mode:?} at {seam:?}");
            let mut stage = Stage::new().await;
            let (turn, leg) = stage.start_turn().await;
            let id = stage.inject(mode, "more").await;
            let came = leg.cx.seam(seam).await.unwrap();
            if drained.contains(&mode) {
                let content = vec![ContentBlock::text("more")];
                let message = Steering::Message {
                    id: id.clone(),
                    content,
                };
                assert_eq!(came[..], [message], "{what}");
                assert!(stage.pending_texts().is_empty(), "{what}");
                assert!(leg.pass_seam(seam).await.is_empty(), "{what}, once more");
            } else {
                assert!(came.is_empty(), "{what}");
                assert_eq!(stage.pending_texts(), ["more"], "{what}");
            }
            let skips = seam == Seam::PreToolDispatch && mode == INTERRUPT;
            assert_eq!(came.dispatch_skipped(), skips, "{what}");
            leg.finish();
            // A message that was not delivered there is the next prompt.
            if !drained.contains(&mode) {
                let next = stage.next_call().await;
                assert_eq!(next.prompt(), "more", "{what}");
                next.finish();
            }
            stage.assert_stopped(&turn, StopReason::EndTurn).await;
            let delivered = deliveries(&stage.session).await;
            assert_eq!(delivered, [(id, "more".to_owned())], "{what}");
        }
    }
}

#[tokio::test]
async fn reminder_leaves_the_queue_only_at_the_seams_of_its_mode() {
    for (seam, drained) in TABLE {
        for mode in MODES {
            let what = format!("{mode:?} at {seam:?}");
            let mut stage = Stage::new().await;
            let (_, leg) = stage.start_turn().await;
            let reminder = SystemReminder::new("r", "mind");
            stage
                .session
                .remind(mode, reminder, host_owner())
                .await
                .unwrap();
            let came = leg.pass_seam(seam).await;
            let passed = drained.contains(&mode);
            assert_eq!(stage.pending_texts().is_empty(), passed, "{what}");
            // An audit-only reminder is not delivered.
            let given = passed && mode != QUEUE;
            assert_eq!(came.len(), usize::from(given), "{what}");
            let in_force = leg.cx.reminders().await.unwrap();
            assert_eq!(in_force.len(), usize::from(given), "{what}");
        }
    }
}

#[tokio::test]
async fn messages_and_reminders_of_one_seam_keep_their_order() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    stage.inject(STEER, "1").await;
    stage.inject(QUEUE, "last").await;
    let reminder = SystemReminder::new("r", "2");
    let mode = INTERRUPT;
    stage
        .session
        .remind(mode, reminder, host_owner())
        .await
        .unwrap();
    stage.inject(STEER, "3").await;
    stage.inject(INTERRUPT, "4").await;
    assert_eq!(leg.pass_seam(Seam::TurnEnd).await, ["1", "2", "3", "4"]);
    assert_eq!(stage.pending_texts(), ["last"]);
    leg.finish();
    stage.next_call().await.finish();
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
}

#[tokio::test]
async fn steer_is_delivered_before_a_queued_message_at_the_loop_exit() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    stage.inject(QUEUE, "later").await;
    let note = SystemReminder::new("r", "note");
    stage
        .session
        .remind(QUEUE, note, host_owner())
        .await
        .unwrap();
    stage.inject(STEER, "first").await;
    assert_eq!(leg.pass_seam(Seam::LoopExit).await, [""; 0]);
    assert_eq!(stage.pending_texts(), ["later", "first"]);
    leg.finish();
    let leg = stage.next_call().await;
    assert_eq!(leg.prompt(), "first");
    assert_eq!(leg.pass_seam(Seam::LoopExit).await, ["later"]);
    leg.finish();
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
}

#[tokio::test]
async fn dropped_seam_call_receives_nothing() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    stage.inject(STEER, "kept").await;
    // A seam call that is dropped before the session can answer.
    {
        let mut seam = std::pin::pin!(leg.cx.seam(Seam::TurnStart));
        let polled =
            std::future::poll_fn(|cx| std::task::Poll::Ready(seam.as_mut().poll(cx).is_pending()));
        assert!(polled.await);
    }
    leg.cx.flush().await.unwrap();
    assert_eq!(stage.pending_texts(), ["kept"]);
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["kept"]);
}

#[tokio::test]
async fn cancelled_agent_receives_nothing_at_a_seam() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    stage.inject(STEER, "kept").await;
    stage.session.cancel(turn.clone()).await;
    leg.cx.cancelled().await;
    let seam = leg.cx.seam(Seam::TurnStart).await;
    assert_eq!(seam, Err(AgentError::Cancelled));
    stage.assert_stopped(&turn, StopReason::Cancelled).await;
    assert_eq!(stage.pending_texts(), ["kept"]);
    assert!(deliveries(&stage.session).await.is_empty());
}
