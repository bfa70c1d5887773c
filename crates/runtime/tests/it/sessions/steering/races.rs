//! Revoking and replacing against delivery, in either order and at once.

use harn_model::{Seam, StopReason};

use super::*;

fn text_content(text: &str) -> Result<Vec<ContentBlock>, String> {
    Ok(vec![ContentBlock::text(text)])
}

#[tokio::test]
async fn message_revoked_before_delivery_is_not_delivered() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    let id = stage.inject(STEER, "s").await;
    let other = stage.inject(STEER, "t").await;
    let session = &stage.session;
    let revoked = session
        .revoke_inject(id.clone(), host_owner())
        .await
        .unwrap();
    assert_eq!(revoked.result, ControlResult::Revoked);
    assert_eq!(revoked.pending, 1);
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["t"]);
    let again = session
        .revoke_inject(id.clone(), host_owner())
        .await
        .unwrap();
    assert_eq!(again.result, ControlResult::AlreadyRevoked);
    let replaced = session
        .replace_inject(id, text_content("u"), host_owner())
        .await;
    assert_eq!(refusal_result(replaced), ControlResult::AlreadyRevoked);
    let delivered = deliveries(session).await;
    assert_eq!(delivered, [(other, "t".to_owned())]);
}

#[tokio::test]
async fn delivered_message_cannot_be_revoked_or_replaced() {
    // Delivered at a seam, and as the next prompt.
    for as_prompt in [false, true] {
        let mut stage = Stage::new().await;
        let (_, mut leg) = stage.start_turn().await;
        let id = stage.inject(STEER, "s").await;
        if as_prompt {
            leg.finish();
            leg = stage.next_call().await;
        } else {
            assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["s"]);
        }
        let session = &stage.session;
        let revoked = session.revoke_inject(id.clone(), host_owner()).await;
        assert_eq!(refusal_result(revoked), ControlResult::AlreadyDelivered);
        let replaced = session
            .replace_inject(id.clone(), text_content("u"), host_owner())
            .await;
        assert_eq!(refusal_result(replaced), ControlResult::AlreadyDelivered);
        // The agent cannot deliver it again.
        let event = AgentEvent::UserMessage {
            message_id: id.clone(),
            content: vec![ContentBlock::text("s")],
            live_session: None,
        };
        leg.cx.emit(event).await.unwrap();
        leg.cx.flush().await.unwrap();
        assert_eq!(deliveries(session).await, [(id, "s".to_owned())]);
    }
}

#[tokio::test]
async fn replaced_message_keeps_its_id_and_position() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    let ids = [
        stage.inject(STEER, "1").await,
        stage.inject(STEER, "2").await,
        stage.inject(STEER, "3").await,
    ];
    let session = &stage.session;
    let replaced = session.replace_inject(ids[1].clone(), text_content("two"), host_owner());
    assert_eq!(replaced.await.unwrap().pending, 3);
    assert_eq!(stage.pending_texts(), ["1", "two", "3"]);
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["1", "two", "3"]);
    let delivered = deliveries(session).await;
    let named: Vec<_> = delivered.iter().map(|(id, _)| id).collect();
    assert_eq!(named, ids.iter().collect::<Vec<_>>());
}

#[tokio::test]
async fn agent_cannot_deliver_a_pending_message_itself() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    let id = stage.inject(STEER, "s").await;
    let event = AgentEvent::UserMessage {
        message_id: id,
        content: vec![ContentBlock::text("forged")],
        live_session: None,
    };
    assert!(leg.cx.emit(event).await.is_err());
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["s"]);
}

/// The journal agrees with the answer in either order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_revoke_and_delivery_agree_on_the_order() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    let mut revoked_first = 0;
    for round in 0..200 {
        let text = format!("{round}");
        let id = stage.inject(STEER, &text).await;
        let (session, cx) = (stage.session.clone(), leg.cx.clone());
        let revoke = tokio::spawn(async move { session.revoke_inject(id, host_owner()).await });
        let seam = tokio::spawn(async move { cx.seam(Seam::TurnStart).await.unwrap() });
        let came = texts(&seam.await.unwrap());
        match revoke.await.unwrap() {
            Ok(done) => {
                assert_eq!(done.result, ControlResult::Revoked);
                assert!(came.is_empty(), "{came:?}");
                revoked_first += 1;
            }
            refusal => {
                assert_eq!(refusal_result(refusal), ControlResult::AlreadyDelivered);
                assert_eq!(came, [text]);
            }
        }
    }
    leg.finish();
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
    let delivered = deliveries(&stage.session).await;
    assert_eq!(delivered.len(), 200 - revoked_first);
}
