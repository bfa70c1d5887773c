//! Pending messages when a session is closed, shut down, forked or reopened.

use harn_model::{Seam, StopReason};

use super::*;

#[tokio::test]
async fn closed_session_drops_pending_messages() {
    let mut stage = Stage::new().await;
    let (_turn, _leg) = stage.start_turn().await;
    let id = stage.inject(QUEUE, "q").await;
    stage.hub.close(stage.session.id()).await;
    let closed = inject(&stage.session, QUEUE, "late").await;
    assert_eq!(closed, Err(ControlError::Closed));
    let reopened = stage.hub.open(stage.session.id(), None).await;
    stage.session = reopened.unwrap();
    assert!(stage.pending_texts().is_empty());
    let revoked = stage.session.revoke_inject(id, host_owner()).await;
    assert_eq!(refusal_result(revoked), ControlResult::UnknownMessageId);
    let (turn, leg) = stage.start_turn().await;
    leg.finish();
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
    assert!(deliveries(&stage.session).await.is_empty());
}

#[tokio::test]
async fn shutdown_keeps_pending_messages() {
    let mut stage = Stage::new().await;
    let (turn, _leg) = stage.start_turn().await;
    let kept = stage.inject(QUEUE, "q").await;
    stage.hub.shutdown().await;
    stage.assert_stopped(&turn, StopReason::Cancelled).await;

    let (agent, legs) = played_agent();
    let hub = stage.world.hub(agent);
    stage.session = hub.open(stage.session.id(), None).await.unwrap();
    (stage.hub, stage.legs) = (hub, legs);
    assert_eq!(stage.pending_texts(), ["q"]);
    assert!(!stage.is_called());
    let (_, leg) = stage.start_turn().await;
    leg.finish();
    let leg = stage.next_call().await;
    assert_eq!(leg.prompt(), "q");
    assert_eq!(deliveries(&stage.session).await, [(kept, "q".to_owned())]);
}

#[tokio::test]
async fn fork_has_no_pending_messages_and_the_original_keeps_them() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    stage.inject(QUEUE, "before").await;
    stage.session.cancel(turn.clone()).await;
    drop(leg);
    stage.assert_stopped(&turn, StopReason::Cancelled).await;
    // Once without a running turn, and once with a turn that took the message.
    for running in [false, true] {
        if running {
            let (_, leg) = stage.start_turn().await;
            assert_eq!(leg.pass_seam(Seam::LoopExit).await, ["before"]);
            stage.inject(STEER, "in the turn").await;
            let fork = stage.fork().await;
            assert!(fork.pending().is_empty());
            assert_eq!(stage.pending_texts(), ["in the turn"]);
        } else {
            let fork = stage.fork().await;
            assert!(fork.pending().is_empty());
            assert_eq!(stage.pending_texts(), ["before"]);
            let turn = prompt(&fork, "go").await;
            let leg = stage.next_call().await;
            assert!(leg.pass_seam(Seam::LoopExit).await.is_empty());
            leg.finish();
            whole_turn(&fork, &turn).await;
            assert!(!stage.is_called());
        }
    }
}

#[tokio::test]
async fn closing_session_answers_every_message() {
    let mut stage = Stage::new().await;
    let (_turn, _leg) = stage.start_turn().await;
    let (hub, session) = (stage.hub.clone(), stage.session.clone());
    let closing = tokio::spawn(async move { hub.close(session.id()).await });
    // The message is accepted before the close, or rejected; it never stays unanswered.
    let answer = inject(&stage.session, QUEUE, "q").await;
    assert!(matches!(answer, Ok(_) | Err(ControlError::Closed)));
    closing.await.unwrap();
    let reopened = stage.hub.open(stage.session.id(), None).await;
    assert!(reopened.unwrap().pending().is_empty());
}

impl Stage {
    async fn fork(&self) -> Controller {
        let new = self.world.new_session();
        self.hub.fork(self.session.id(), new).await.unwrap()
    }
}
