//! Workers: their lifecycle events, sessions and questions, and the limits of what they may do.

mod asks;
mod calls;
mod concurrency;
mod lifecycle;
mod limits;
mod sessions;
mod stopping;
mod turn_ends;

use std::{future::Future, sync::Arc};

use harn_model::{AgentEvent, Envelope, StopReason, WorkerId, WorkerUpdate};
use harn_runtime::{Agent, AgentError, Controller, Hub, TurnContext, Worker};

use crate::support::*;

/// Returns an agent that sends this text with its prompt.
pub fn echo_agent(text: &'static str) -> Arc<dyn Agent> {
    agent(move |cx: TurnContext| async move {
        cx.say(format!("{text}: {}", cx.prompt_text())).await?;
        Ok(StopReason::EndTurn)
    })
}

/// Returns an agent that never returns, even when it is cancelled.
pub fn stuck_agent() -> Arc<dyn Agent> {
    agent(|cx: TurnContext| async move {
        cx.say("stuck").await?;
        cx.flush().await?;
        std::future::pending().await
    })
}

/// Starts a retriggerable worker and waits for the end of its first cycle.
pub async fn start_waiting_worker(
    cx: &TurnContext,
    agent: Arc<dyn Agent>,
) -> Result<Worker, AgentError> {
    let worker = cx.worker("w").task("first").agent(agent).retriggerable();
    let worker = worker.start().await?;
    assert!(worker.wait_until_finished().await.is_ok());
    Ok(worker)
}

/// Runs one turn in a new session and returns its events.
pub async fn run_one_turn<F, Fut>(turn: F) -> (World, Hub, Controller, Vec<Envelope>)
where
    F: Fn(TurnContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<StopReason, AgentError>> + Send + 'static,
{
    let world = World::new();
    let hub = world.hub(agent(turn));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let events = whole_turn(&session, &turn).await;
    // A failed assertion within an agent fails the agent's turn.
    let failed = format_events(&events).contains("turn Failed");
    assert!(!failed, "{}", format_events(&events));
    (world, hub, session, events)
}

pub fn updates(events: &[Envelope]) -> Vec<WorkerUpdate> {
    let updates = events.iter().filter_map(|e| match &e.event {
        AgentEvent::WorkerUpdate(update) => Some((**update).clone()),
        _ => None,
    });
    updates.collect()
}

/// Returns the lifecycle steps of one worker, or of all.
pub fn steps(events: &[Envelope], of: Option<&WorkerId>) -> Vec<String> {
    let updates = updates(events).into_iter();
    let wanted = updates.filter(|u| of.is_none_or(|id| u.worker_id == *id));
    wanted.map(|u| format!("{:?}", u.event)).collect()
}

/// Formats the events that these tests check, one per line.
pub fn format_events(events: &[Envelope]) -> String {
    let line = |e: &Envelope| match &e.event {
        AgentEvent::WorkerUpdate(u) => {
            let error = u.metadata.error.as_deref().unwrap_or_default();
            format!("{} {:?} {} {error}", u.worker_id, u.event, u.cycle)
        }
        AgentEvent::Handoff { handoff, .. } => format!("handoff {} {}", handoff.id, handoff.task),
        AgentEvent::PermissionAsked(ask) => {
            let lineage = ask.lineage.iter().map(|l| l.worker_name.as_str());
            let lineage: Vec<_> = lineage.collect();
            format!(
                "asked {} for {}",
                ask.tool_call.tool_name,
                lineage.join(" > ")
            )
        }
        AgentEvent::PermissionResolved(resolved) => format!("resolved {:?}", resolved.decision),
        AgentEvent::AgentMessageChunk { content, .. } => format!("said {content}"),
        AgentEvent::ToolCallUpdate(update) => {
            let error = update.error.as_deref().unwrap_or_default();
            format!("{} {:?} {error}", update.tool_name, update.status)
        }
        AgentEvent::TurnStarted(_) => "turn started".to_owned(),
        AgentEvent::TurnEnded(ended) => format!("turn {:?}", ended.outcome),
        _ => String::new(),
    };
    let lines = events.iter().map(line).filter(|line| !line.is_empty());
    lines
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}
