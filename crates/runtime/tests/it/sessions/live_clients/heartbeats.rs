//! Clients that promise heartbeats, on a clock that the test moves.

use std::time::Duration;

use harn_model::{AgentEvent, StopReason};
use harn_runtime::AttachClient;
use tokio::time::{Instant, sleep};

use super::*;

fn client_with_heartbeat(name: &str, seconds: u64) -> AttachClient {
    AttachClient {
        heartbeat: Some(Duration::from_secs(seconds)),
        ..AttachClient::controller(name)
    }
}

async fn has_missed_heartbeat(session: &Controller, name: &str) -> bool {
    written_events(session)
        .await
        .into_iter()
        .any(|e| match e.event {
            AgentEvent::LiveSessionClient { left, .. } => {
                left.is_some_and(|it| it.client_id == name && it.reason == "heartbeat_missed")
            }
            _ => false,
        })
}

#[tokio::test(start_paused = true)]
async fn client_that_misses_heartbeats_is_detached() {
    let world = World::new();
    let hub = world.hub(agent(async |_| Ok(StopReason::EndTurn)));
    let session = world.session(&hub).await;
    let seat = connect_without_claim(&session, "broker-1");
    seat.attach(client_with_heartbeat("kept", 10))
        .await
        .unwrap();
    seat.attach(AttachClient::observer("never")).await.unwrap();
    for _ in 0..5 {
        sleep(Duration::from_secs(29)).await;
        seat.heartbeat("kept", None).await.unwrap();
    }
    // A heartbeat of another client does not count.
    sleep(Duration::from_secs(20)).await;
    seat.heartbeat("never", None).await.unwrap();
    assert!(!has_missed_heartbeat(&session, "kept").await);
    let start = Instant::now();
    let mut heard = session.subscribe_from_now();
    collect_until(&mut heard, |e| {
        matches!(
            &e.event,
            AgentEvent::LiveSessionClient { left: Some(_), .. }
        )
    })
    .await;
    assert_eq!(start.elapsed().as_secs(), 10);
    assert!(has_missed_heartbeat(&session, "kept").await);
    assert_eq!(session.live_state().controller, None);
    assert_eq!(session.clients().len(), 1);
    // A client without a heartbeat promise stays attached.
    sleep(Duration::from_secs(86_400)).await;
    assert_eq!(session.clients().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn missed_heartbeat_detaches_while_the_agent_sends_text() {
    let world = World::new();
    let hub = world.hub(agent(async |cx| {
        while !cx.is_cancelled() {
            cx.say("word ").await?;
            sleep(Duration::from_millis(100)).await;
        }
        Ok(StopReason::Cancelled)
    }));
    let session = world.session(&hub).await;
    let seat = connect_with_claim(&session, "tab-1");
    seat.attach(client_with_heartbeat("tab", 1)).await.unwrap();
    say(&seat, "go").await;
    let mut heard = session.subscribe_from_now();
    collect_until(&mut heard, |e| {
        matches!(
            &e.event,
            AgentEvent::LiveSessionClient { left: Some(_), .. }
        )
    })
    .await;
    assert!(has_missed_heartbeat(&session, "tab").await);
    // The turn that it started continues.
    assert!(session.live_state().active_prompt);
}

#[tokio::test(start_paused = true)]
async fn new_attach_renews_or_ends_the_heartbeat_promise() {
    let world = World::new();
    let hub = world.hub(agent(async |_| Ok(StopReason::EndTurn)));
    let session = world.session(&hub).await;
    let seat = connect_without_claim(&session, "tab-1");
    seat.attach(client_with_heartbeat("tab", 5)).await.unwrap();
    sleep(Duration::from_secs(14)).await;
    seat.attach(client_with_heartbeat("tab", 60)).await.unwrap();
    sleep(Duration::from_secs(179)).await;
    assert!(!has_missed_heartbeat(&session, "tab").await);
    seat.attach(AttachClient::controller("tab")).await.unwrap();
    sleep(Duration::from_secs(86_400)).await;
    assert!(!has_missed_heartbeat(&session, "tab").await);
}
