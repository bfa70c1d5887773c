//! Client changes are written and published before they are answered.

use expect_test::expect;
use harn_model::{AgentEvent, Envelope, LiveClientMode};
use harn_runtime::{AttachClient, ControlPreemption, LiveClientError};
use serde_json::{Value, json};

use super::*;

/// Formats the client events, one per line.
fn format_client_events(events: &[Envelope]) -> String {
    let lines = events.iter().filter_map(|e| match &e.event {
        AgentEvent::LiveSessionClient {
            action,
            state,
            left,
        } => {
            let who = |id: &Option<String>| id.clone().unwrap_or_else(|| "-".to_owned());
            let row = |c: &harn_model::LiveClient| {
                let drives = c.mode == LiveClientMode::Controller;
                format!("{}{}", c.client_id, if drives { "*" } else { "" })
            };
            let all: Vec<_> = state.clients.iter().map(row).collect();
            let left = left
                .as_ref()
                .map(|l| format!(" ({} {})", l.client_id, l.reason));
            let (before, now) = (&state.previous_controller_id, &state.active_controller_id);
            let (all, left) = (all.join(" "), left.unwrap_or_default());
            Some(format!(
                "{} {action:?}{left}: {} -> {} [{all}]\n",
                e.seq,
                who(before),
                who(now),
            ))
        }
        _ => None,
    });
    lines.collect()
}

#[tokio::test]
async fn client_change_is_in_the_journal_when_it_is_answered() {
    let world = World::new();
    let hub = world.hub(agent(async |_| Ok(harn_model::StopReason::EndTurn)));
    let session = world.session(&hub).await;
    let desk = connect_with_claim(&session, "editor-1");
    let pad = connect_without_claim(&session, "editor-2");
    let steps = async {
        let (change, seq) = desk.attach(AttachClient::controller("desk")).await?;
        assert_eq!(session.last_seq(), seq);
        assert_eq!(change.previous_controller_id.as_deref(), Some("editor-1"));
        pad.attach(AttachClient::observer("pad")).await?;
        let refused = pad.attach(AttachClient::controller("pad")).await;
        let controller = "desk".to_owned();
        assert_eq!(
            refused,
            Err(LiveClientError::ControllerExists { controller })
        );
        pad.attach(AttachClient::takeover("pad")).await?;
        desk.heartbeat("desk", Some(json!({"tab": 2}))).await?;
        let taking = AttachClient {
            taking: ControlPreemption::IfNeeded,
            ..AttachClient::controller("desk")
        };
        desk.attach(taking).await?;
        desk.detach("desk", "client_detached", Value::Null).await?;
        let (change, _) = pad.attach(AttachClient::controller("pad")).await?;
        assert_eq!(change.client.unwrap().client_id, "pad");
        pad.leave().await;
        Ok::<_, LiveClientError>(())
    };
    steps.await.unwrap();
    expect![[r#"
        1 Attached: editor-1 -> desk [desk*]
        2 Attached: - -> desk [desk* pad]
        3 Takeover: desk -> pad [desk pad*]
        4 Heartbeat: - -> pad [desk pad*]
        5 Takeover: pad -> desk [desk* pad]
        6 Detached (desk client_detached): desk -> - [pad]
        7 Attached: - -> pad [pad*]
        8 Detached (pad client_exit): pad -> - []
    "#]]
    .assert_eq(&format_client_events(&written_events(&session).await));
}

#[tokio::test]
async fn closed_connection_detaches_all_its_clients() {
    let world = World::new();
    let hub = world.hub(agent(async |_| Ok(harn_model::StopReason::EndTurn)));
    let session = world.session(&hub).await;
    let broker = connect_without_claim(&session, "broker-1");
    let other = connect_without_claim(&session, "other-2");
    for name in ["a", "b"] {
        broker.attach(AttachClient::observer(name)).await.unwrap();
    }
    broker.attach(AttachClient::controller("b")).await.unwrap();
    // A connection can only address clients that attached through it.
    let client_id = "a".to_owned();
    let gone = other.detach("a", "client_detached", Value::Null).await;
    assert_eq!(
        gone,
        Err(LiveClientError::NotAttached {
            client_id: client_id.clone()
        })
    );
    let alive = other.heartbeat("a", None).await;
    assert_eq!(alive, Err(LiveClientError::NotAttached { client_id }));
    other.attach(AttachClient::observer("c")).await.unwrap();
    drop(broker);
    collect_until(&mut session.subscribe(Seq::ZERO), |e| e.seq == Seq(6)).await;
    expect![[r#"
        1 Attached: - -> - [a]
        2 Attached: - -> - [a b]
        3 Attached: - -> b [a b*]
        4 Attached: - -> b [a b* c]
        5 Detached (a client_exit): - -> b [b* c]
        6 Detached (b client_exit): b -> - [c]
    "#]]
    .assert_eq(&format_client_events(&written_events(&session).await));
}

#[tokio::test]
async fn client_that_attaches_over_another_connection_replaces_the_older_one() {
    let world = World::new();
    let hub = world.hub(agent(async |_| Ok(harn_model::StopReason::EndTurn)));
    let session = world.session(&hub).await;
    let before = connect_without_claim(&session, "laptop-1");
    let metadata = Some(json!({"surface": "laptop"}));
    let client = AttachClient {
        metadata,
        ..AttachClient::controller("laptop")
    };
    let (first, _) = before.attach(client).await.unwrap();
    let epoch = session.epoch();
    let after = connect_without_claim(&session, "laptop-2");
    let wanted = AttachClient::controller("laptop");
    let (again, _) = after.attach(wanted).await.unwrap();
    let (first, again) = (first.client.unwrap(), again.client.unwrap());
    assert_eq!(again.attached_at, first.attached_at);
    assert_eq!(again.metadata, first.metadata);
    assert_eq!(session.clients().len(), 1);
    assert_eq!(session.epoch(), epoch + 1);
    // The first connection only observes now; its end detaches no client.
    assert_eq!(prompt_refusal(&before), error_controlled_by("laptop"));
    assert_eq!(prompt_refusal(&after), None);
    before.leave().await;
    assert_eq!(session.clients().len(), 1);
}

#[tokio::test]
async fn closed_session_rejects_clients() {
    let world = World::new();
    let hub = world.hub(agent(async |_| Ok(harn_model::StopReason::EndTurn)));
    let session = world.session(&hub).await;
    let seat = connect_with_claim(&session, "editor-1");
    hub.close(session.id()).await;
    let late = seat.attach(AttachClient::observer("late")).await;
    assert_eq!(late, Err(LiveClientError::Closed));
    seat.leave().await;
}
