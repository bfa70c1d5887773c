//! A session whose agent emitted given events, for the tests of the methods.

use axum::{body::to_bytes, response::IntoResponse};
use harn_model::{AgentEvent, ContentBlock, Seq, SessionId, StopReason};
use harn_runtime::NewSession;
use harn_testkit::{ScriptedAgent, TestHub};

/// Returns a hub with a session whose one turn has ended.
pub(super) async fn run_session(events: Vec<AgentEvent>) -> (TestHub, SessionId) {
    let agent = ScriptedAgent::new(move |cx| {
        let events = events.clone();
        async move {
            for event in events {
                cx.emit(event).await?;
            }
            Ok(StopReason::EndTurn)
        }
    });
    let hub = TestHub::new(agent);
    let new = NewSession {
        cwd: hub.workspace(),
        additional_directories: Vec::new(),
    };
    let session = hub.hub().create(new).await.unwrap();
    let prompt = vec![ContentBlock::text("Go.")];
    session.prompt(prompt, |_| ()).await.unwrap();
    let mut told = session.subscribe(Seq::ZERO);
    let is_over = |event: &AgentEvent| matches!(event, AgentEvent::TurnEnded(_));
    while !told
        .next()
        .await
        .unwrap()
        .events()
        .iter()
        .any(|envelope| is_over(&envelope.event))
    {}
    let id = session.id().clone();
    (hub, id)
}

/// Returns the status and the body of a response.
pub(super) async fn read_response(response: impl IntoResponse) -> (u16, String) {
    let response = response.into_response();
    let status = response.status().as_u16();
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}
