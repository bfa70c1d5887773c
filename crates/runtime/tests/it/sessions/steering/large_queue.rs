//! Ten thousand pending messages.

use harn_model::{Seam, StopReason};

use super::*;

#[tokio::test]
async fn ten_thousand_messages_are_listed_changed_and_delivered_in_order() {
    const MANY: usize = 10_000;
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    let mut ids = Vec::with_capacity(MANY);
    for n in 0..MANY {
        ids.push(stage.inject(STEER, &format!("{n}")).await);
    }
    let listed = stage.session.pending();
    let listed: Vec<_> = listed
        .iter()
        .map(|row| match row {
            PendingDelivery::Message(message) => message.message_id.clone(),
            PendingDelivery::Reminder(_) => panic!("nobody sent one"),
        })
        .collect();
    assert_eq!(listed, ids);
    // In reverse order: each message is found at any position.
    for (n, id) in ids.iter().enumerate().rev() {
        let session = &stage.session;
        let done = match n % 2 {
            0 => session.revoke_inject(id.clone(), host_owner()).await,
            _ => {
                let said = vec![ContentBlock::text(format!("{n}, rather"))];
                session
                    .replace_inject(id.clone(), Ok(said), host_owner())
                    .await
            }
        };
        let result = [ControlResult::Revoked, ControlResult::Replaced][n % 2];
        assert_eq!(done.unwrap().result, result);
    }
    let left: Vec<_> = (0..MANY).filter(|n| n % 2 == 1).collect();
    let expected: Vec<_> = left.iter().map(|n| format!("{n}, rather")).collect();
    assert_eq!(stage.pending_texts(), expected);
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, expected);
    assert!(stage.pending_texts().is_empty());
    leg.finish();
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
    let delivered = deliveries(&stage.session).await;
    let by_id: Vec<_> = left.iter().map(|n| &ids[*n]).collect();
    assert_eq!(
        delivered.iter().map(|(id, _)| id).collect::<Vec<_>>(),
        by_id
    );
}
