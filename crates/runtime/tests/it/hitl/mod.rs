//! Human in the loop: every kind of request, who may answer, and that each request is resolved exactly once.

mod approvals;
mod missing_answers;
mod questions;
mod workers;

use std::{sync::Arc, time::Duration};

use harn_model::{AgentEvent, Envelope, HitlRequest, HitlResponse, Seq, StopReason};
use harn_runtime::{Agent, AgentError, Controller, TurnContext};
use serde_json::Value;

use crate::support::*;

/// Returns an agent that runs `ask` and sends the result as its message.
fn asking_agent<F, Fut, T>(ask: F) -> Arc<dyn Agent>
where
    F: Fn(TurnContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T, AgentError>> + Send + 'static,
    T: std::fmt::Debug + Send + 'static,
{
    let ask = Arc::new(ask);
    agent(move |cx| {
        let ask = ask.clone();
        async move {
            let got = ask(cx.clone()).await;
            if matches!(got, Err(AgentError::Cancelled)) {
                return Err(AgentError::Cancelled);
            }
            cx.say(format!("{got:?}")).await?;
            Ok(StopReason::EndTurn)
        }
    })
}

/// Waits until the session has an open request to a person and returns it.
async fn wait_for_request(session: &Controller) -> Arc<HitlRequest> {
    let is = |e: &Envelope| matches!(e.event, AgentEvent::HitlRequested { .. });
    collect_until(&mut session.subscribe(Seq::ZERO), is).await;
    session.open_hitl().pop().unwrap()
}

fn response(request_id: &str) -> HitlResponse {
    HitlResponse {
        request_id: request_id.to_owned(),
        ..HitlResponse::default()
    }
}

fn answer(request_id: &str, answer: impl Into<Value>) -> HitlResponse {
    HitlResponse {
        answer: Some(answer.into()),
        ..response(request_id)
    }
}

fn vote(request_id: &str, reviewer: &str, approved: bool) -> HitlResponse {
    HitlResponse {
        reviewer: Some(reviewer.to_owned()),
        approved: Some(approved),
        ..response(request_id)
    }
}

/// Formats the agent's messages and the events of its requests, one per line.
fn format_hitl_events(events: &[Envelope]) -> String {
    let mut lines = Vec::new();
    for envelope in events {
        lines.push(match &envelope.event {
            AgentEvent::AgentMessageChunk { content, .. } => format!("said {content}"),
            AgentEvent::HitlRequested {
                request_id, kind, ..
            } => format!("asked {request_id} {kind}"),
            AgentEvent::HitlResponded(response) => {
                let value = response
                    .answer
                    .clone()
                    .or(response.approved.map(Value::from));
                let who = response.reviewer.as_deref().unwrap_or("somebody");
                let id = &response.request_id;
                format!("responded {id} {who} {}", value.unwrap_or_default())
            }
            AgentEvent::HitlResolved {
                request_id,
                outcome,
                ..
            } => format!("resolved {request_id} {outcome:?}"),
            AgentEvent::TurnEnded(ended) => format!("ended {:?}", ended.outcome),
            _ => continue,
        });
    }
    lines.join("\n") + "\n"
}

/// An hour, which is shorter than the default deadline.
const HOUR: Duration = Duration::from_secs(60 * 60);
