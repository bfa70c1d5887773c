//! Permission questions are sent to the controller, and only its answer counts.

use std::time::Duration;

use harn_model::{AgentEvent, AskId, Decision, StopReason, ToolKind};
use harn_runtime::{Agent, AgentError, AttachClient, SeatTerm};
use serde_json::Value;

use super::*;

fn asker() -> std::sync::Arc<dyn Agent> {
    agent(async |cx| {
        let tool = cx.tool("write_file").kind(ToolKind::Edit).path("a.txt");
        match tool.ask().await {
            Ok(tool) => tool.complete(()).await?,
            Err(AgentError::Denied { reason }) => cx.say(reason).await?,
            Err(other) => return Err(other),
        }
        Ok(StopReason::EndTurn)
    })
}

async fn wait_for_question(session: &Controller) -> AskId {
    let is_ask = |e: &Envelope| matches!(e.event, AgentEvent::PermissionAsked(_));
    let seen = collect_until(&mut session.subscribe(Seq::ZERO), is_ask).await;
    let ask = seen.into_iter().find_map(|e| match e.event {
        AgentEvent::PermissionAsked(ask) => Some(ask.ask_id),
        _ => None,
    });
    ask.unwrap()
}

fn allow() -> Decision {
    Decision::Allowed {
        option_id: "allow_once".to_owned(),
        args: None,
    }
}

fn reject() -> Decision {
    Decision::Rejected {
        option_id: None,
        reason: None,
    }
}

async fn decisions(session: &Controller) -> Vec<Decision> {
    let all = written_events(session).await.into_iter();
    let decided = all.filter_map(|e| match e.event {
        AgentEvent::PermissionResolved(resolved) => Some(resolved.decision),
        _ => None,
    });
    decided.collect()
}

fn term(seat: &harn_runtime::Seat) -> SeatTerm {
    seat.answering_term().0.unwrap()
}

#[tokio::test]
async fn answer_from_an_earlier_controller_term_is_dropped() {
    let world = World::new();
    let hub = world.hub(asker());
    let session = world.session(&hub).await;
    let desk = connect_with_claim(&session, "zed-1");
    let pad = connect_without_claim(&session, "tab-2");
    say(&desk, "write").await;
    let ask = wait_for_question(&session).await;
    let early = term(&desk);
    assert_eq!(pad.answering_term().0, None);
    assert_eq!(desk.asked_client().unwrap().client_id, "zed-1");
    assert_eq!(pad.asked_client(), None);

    let mut watch = desk.watch();
    let (_, at) = pad.attach(AttachClient::takeover("pad")).await.unwrap();
    tokio::time::timeout(Duration::from_secs(60), watch.changed())
        .await
        .unwrap();
    assert_eq!(desk.answering_term(), (None, at));
    assert_eq!(pad.asked_client().unwrap().client_id, "pad");
    desk.answer(ask.clone(), reject(), early).await;
    // After a takeover back, the client is asked again; its answer from the earlier term does not count.
    desk.attach(AttachClient::takeover("desk")).await.unwrap();
    desk.answer(ask.clone(), reject(), early).await;
    assert_eq!(decisions(&session).await, []);
    let now = term(&desk);
    assert_ne!(now, early);
    // A heartbeat or a repeated attach does not start a new term.
    desk.heartbeat("desk", None).await.unwrap();
    desk.attach(AttachClient::controller("desk")).await.unwrap();
    assert_eq!(term(&desk), now);
    desk.answer(ask, allow(), now).await;
    collect_until(&mut session.subscribe(Seq::ZERO), |e| {
        matches!(e.event, AgentEvent::TurnEnded(_))
    })
    .await;
    assert_eq!(decisions(&session).await, [allow()]);
}

#[tokio::test(start_paused = true)]
async fn question_without_a_controller_waits_for_one_or_its_deadline() {
    let world = World::new();
    let hub = world.hub_with(asker(), |config| {
        config.ask_deadline = Duration::from_secs(30);
    });
    let session = world.session(&hub).await;
    let desk = connect_without_claim(&session, "zed-1");
    let pad = connect_without_claim(&session, "tab-2");
    for waits in [true, false] {
        desk.attach(AttachClient::controller("desk")).await.unwrap();
        say(&desk, "write").await;
        let mut heard = session.subscribe(session.last_seq());
        let seen = collect_until(&mut heard, |e| {
            matches!(e.event, AgentEvent::PermissionAsked(_))
        })
        .await;
        let ask = seen.into_iter().find_map(|e| match e.event {
            AgentEvent::PermissionAsked(ask) => Some(ask.ask_id),
            _ => None,
        });
        pad.attach(AttachClient::takeover("pad")).await.unwrap();
        pad.detach("pad", "client_detached", Value::Null)
            .await
            .unwrap();
        assert_eq!(
            (desk.answering_term().0, pad.answering_term().0),
            (None, None)
        );
        if waits {
            pad.attach(AttachClient::controller("pad")).await.unwrap();
            pad.answer(ask.unwrap(), allow(), term(&pad)).await;
        }
        let over = |e: &Envelope| matches!(e.event, AgentEvent::TurnEnded(_));
        let wait = collect_until(&mut heard, over);
        tokio::time::timeout(Duration::from_secs(31), wait)
            .await
            .unwrap();
        if waits {
            pad.detach("pad", "client_detached", Value::Null)
                .await
                .unwrap();
        }
    }
    let decided = decisions(&session).await;
    assert_eq!(decided[0], allow());
    assert!(matches!(decided[1], Decision::Unavailable { .. }));
}

#[tokio::test]
async fn question_without_a_controller_is_sent_to_the_last_opener() {
    let world = World::new();
    let session = world.session(&world.hub(asker())).await;
    let [first, second] = ["zed-1", "vim-2"].map(|name| connect_with_claim(&session, name));
    let pad = connect_without_claim(&session, "tab-3");
    pad.attach(AttachClient::takeover("pad")).await.unwrap();
    say(&pad, "write").await;
    let ask = wait_for_question(&session).await;
    assert_eq!(
        (first.answering_term().0, second.answering_term().0),
        (None, None)
    );
    pad.attach(AttachClient::observer("pad")).await.unwrap();
    assert_eq!(
        (first.answering_term().0, pad.answering_term().0),
        (None, None)
    );
    assert_eq!(second.asked_client().unwrap().client_id, "vim-2");
    // Being asked does not give control; the first client that acts gets it.
    let early = term(&second);
    say(&first, "later").await;
    assert_eq!(
        (second.answering_term().0, first.has_control()),
        (None, true)
    );
    second.answer(ask.clone(), allow(), early).await;
    first.answer(ask, reject(), term(&first)).await;
    collect_until(&mut session.subscribe(Seq::ZERO), |e| {
        matches!(e.event, AgentEvent::TurnEnded(_))
    })
    .await;
    assert_eq!(decisions(&session).await[0], reject());
}
