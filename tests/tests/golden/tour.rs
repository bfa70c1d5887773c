//! Every kind of event an agent can report, as a client with the extensions sees it and as a plain one
//! does. The events are those of the journal's own fixture.

use std::{fs, sync::Arc};

use harn_model::{AgentEvent, Envelope, StopReason};
use harn_testkit::{ScriptedAgent, TestHub};
use harn_tests::{check_transcript, hello, repository};
use serde_json::{Map, json};

use crate::{open, prompt};

/// What an agent may emit: everything but what the runtime itself writes at the edges of a turn.
fn events() -> Vec<AgentEvent> {
    let text = fs::read_to_string(repository("fixtures/journal/every-event.jsonl")).unwrap();
    let events = text
        .lines()
        .map(|line| serde_json::from_str::<Envelope>(line).unwrap().event);
    let emitted = events.filter(|event| {
        !matches!(
            event,
            AgentEvent::TurnStarted(_)
                | AgentEvent::TurnEnded(_)
                | AgentEvent::PermissionAsked(_)
                | AgentEvent::PermissionResolved(_)
                | AgentEvent::Recovered(_)
        )
    });
    emitted.chain(more()).collect()
}

/// What the journal's fixture has no legal example of: a composition that began and failed, and a report
/// without words.
fn more() -> [AgentEvent; 3] {
    let run = json!({"run_id": "run-3", "language": "lua", "snippet": "error()"});
    let failed = json!({"run_id": "run-3", "failure_category": "execution_error", "error": "no"});
    let report = json!({"metadata": {"tokens_left": 12000}});
    [
        AgentEvent::CompositionStart(serde_json::from_value(run).unwrap()),
        AgentEvent::CompositionError(serde_json::from_value(failed).unwrap()),
        AgentEvent::ProgressReported(serde_json::from_value(report).unwrap()),
    ]
}

async fn tour(profile: &str, name: &str) {
    let events: Arc<[AgentEvent]> = events().into();
    let agent = ScriptedAgent::new(move |cx| {
        let events = events.clone();
        async move {
            for event in &*events {
                cx.emit(event.clone()).await?;
            }
            Ok(StopReason::EndTurn)
        }
    });
    let test = TestHub::new(agent);
    let mut client = test.connect();
    let wishes = Map::from_iter([("profile".to_owned(), json!(profile))]);
    client.request("initialize", hello(&wishes)).await;
    let session = open(&mut client, &test).await;
    let id = prompt(&mut client, &session, "Show me everything").await;
    loop {
        use harn_testkit::Message::{Notification, Response};
        match client.next().await {
            Notification { method, .. } if method == "session/update" => {}
            Notification { method, .. } => {
                assert_eq!(method, "_harn/agentEvent");
                assert_ne!(profile, "acp");
            }
            Response {
                id: of,
                result: Ok(_),
            } if of == id => break,
            other => panic!("{other:?}"),
        }
    }
    client.close().await;
    check_transcript(name, test.recorder());
}

#[tokio::test]
async fn with_extensions() {
    tour("harn", "tour").await;
}

#[tokio::test]
async fn carried() {
    tour("meta", "tour-meta").await;
}

#[tokio::test]
async fn plain() {
    tour("acp", "tour-plain").await;
}
