//! Steering from outside: messages for a running turn, the agent calls that they cause, and the cancel.
//!
//! The test plays the agent: it receives each call, passes seams and returns in the agent's place.

mod acceptance;
mod agent_calls;
mod cancel;
mod large_queue;
mod model;
mod races;
mod random_operations;
mod seams;
mod session_ends;

use std::{sync::Arc, time::Duration};

use harn_model::{
    Actor, AgentEvent, ContentBlock, ControlResult, DeliveryMode, Envelope, MessageId,
    PendingDelivery, Seam, Seq, StopReason, TurnId, TurnOutcome, plain_text,
};
use harn_runtime::{
    Agent, AgentError, AppliedControl, ControlError, Controller, Hub, HubConfig, Steering,
    SteeringDelivery, TurnContext,
};
use tokio::sync::{mpsc, oneshot};

use crate::support::*;

pub const STEER: DeliveryMode = DeliveryMode::FinishStep;
pub const QUEUE: DeliveryMode = DeliveryMode::AuditOnly;
pub const INTERRUPT: DeliveryMode = DeliveryMode::InterruptImmediate;

/// One call of the agent, played by the test.
pub struct Leg {
    pub cx: TurnContext,
    done: oneshot::Sender<Result<StopReason, AgentError>>,
}

impl Leg {
    pub fn prompt(&self) -> String {
        self.cx.prompt_text()
    }

    /// Passes a seam and returns the delivered texts.
    pub async fn pass_seam(&self, seam: Seam) -> Vec<String> {
        texts(&self.cx.seam(seam).await.unwrap())
    }

    pub fn finish(self) {
        self.finish_with(Ok(StopReason::EndTurn));
    }

    pub fn finish_with(self, result: Result<StopReason, AgentError>) {
        // A dropped call no longer receives.
        let _ = self.done.send(result);
    }
}

pub fn texts(delivered: &SteeringDelivery) -> Vec<String> {
    delivered.iter().map(Steering::text).collect()
}

/// Returns an agent whose calls the receiver plays. It returns when it is cancelled.
pub fn played_agent() -> (Arc<dyn Agent>, mpsc::Receiver<Leg>) {
    let (calls, legs) = mpsc::channel(16);
    let played = agent(move |cx: TurnContext| {
        let calls = calls.clone();
        async move {
            let (done, returned) = oneshot::channel();
            let leg = Leg {
                cx: cx.clone(),
                done,
            };
            let over = || AgentError::Failed("nobody plays".to_owned());
            calls.send(leg).await.map_err(|_| over())?;
            tokio::select! {
                biased;
                () = cx.cancelled() => Err(AgentError::Cancelled),
                result = returned => result.map_err(|_| over())?,
            }
        }
    });
    (played, legs)
}

/// A session whose agent the test plays.
pub struct Stage {
    pub world: World,
    pub hub: Hub,
    pub session: Controller,
    legs: mpsc::Receiver<Leg>,
}

impl Stage {
    pub async fn new() -> Self {
        Self::with(|_| ()).await
    }

    pub async fn with(adjust: impl FnOnce(&mut HubConfig)) -> Self {
        let world = World::new();
        let (agent, legs) = played_agent();
        let hub = world.hub_with(agent, adjust);
        let session = world.session(&hub).await;
        Self {
            world,
            hub,
            session,
            legs,
        }
    }

    /// Sends a prompt and returns its turn and the agent's first call.
    pub async fn start_turn(&mut self) -> (TurnId, Leg) {
        let turn = prompt(&self.session, "go").await;
        (turn, self.next_call().await)
    }

    /// Waits for the next call of the agent.
    pub async fn next_call(&mut self) -> Leg {
        let next = tokio::time::timeout(Duration::from_secs(60), self.legs.recv());
        next.await.expect("waited in vain for a call").unwrap()
    }

    /// Returns whether the agent has a call that the test has not taken.
    pub fn is_called(&mut self) -> bool {
        !self.legs.is_empty()
    }

    pub async fn inject(&self, mode: DeliveryMode, text: &str) -> MessageId {
        inject(&self.session, mode, text).await.unwrap().0
    }

    /// Returns the texts of the pending messages and reminders, in order.
    pub fn pending_texts(&self) -> Vec<String> {
        self.session.pending().iter().map(pending_text).collect()
    }

    /// Formats all events up to the end of a turn.
    pub async fn format_turn(&self, turn: &TurnId) -> String {
        format_events(&whole_turn(&self.session, turn).await)
    }

    /// Waits for the end of a turn and returns its outcome.
    pub async fn wait_for_outcome(&self, turn: &TurnId) -> TurnOutcome {
        let events = whole_turn(&self.session, turn).await;
        let last = events.into_iter().rev().find_map(|e| match e.event {
            AgentEvent::TurnEnded(ended) if e.turn.as_ref() == Some(turn) => Some(ended.outcome),
            _ => None,
        });
        last.unwrap()
    }

    pub async fn assert_stopped(&self, turn: &TurnId, reason: StopReason) {
        assert_eq!(
            self.wait_for_outcome(turn).await,
            TurnOutcome::stopped(reason)
        );
    }
}

pub async fn inject(
    session: &Controller,
    mode: DeliveryMode,
    text: &str,
) -> Result<(MessageId, AppliedControl), ControlError> {
    let content = vec![ContentBlock::text(text)];
    session.inject(mode, content, host_owner(), |_| ()).await
}

pub fn pending_text(row: &PendingDelivery) -> String {
    match row {
        PendingDelivery::Message(message) => plain_text(&message.content),
        PendingDelivery::Reminder(pending) => pending.reminder.body.clone(),
    }
}

/// Returns a host owner, who may change every pending message.
pub fn host_owner() -> Actor {
    Actor {
        client_id: "host".to_owned(),
        role: "host_owner".to_owned(),
        source: "acp".to_owned(),
    }
}

/// Returns a member, who may change only their own messages.
pub fn person(name: &str) -> Actor {
    Actor {
        client_id: name.to_owned(),
        role: "member".to_owned(),
        source: "acp".to_owned(),
    }
}

/// Returns the result of a refused control.
pub fn refusal_result<T: std::fmt::Debug>(result: Result<T, ControlError>) -> ControlResult {
    match result {
        Err(ControlError::Refused { result, .. }) => result,
        other => panic!("{other:?}"),
    }
}

/// Formats events, one per line; those that are not about steering only by type.
pub fn format_events(events: &[Envelope]) -> String {
    let lines = events.iter().map(|e| match &e.event {
        AgentEvent::TurnStarted(turn) => format!("started: {}", plain_text(&turn.prompt)),
        AgentEvent::UserMessage {
            message_id,
            content,
            ..
        } => format!("delivered {message_id}: {}", plain_text(content)),
        AgentEvent::AgentMessageChunk { content, .. } => format!("said: {content}"),
        AgentEvent::TurnEnded(ended) => match &ended.outcome {
            TurnOutcome::Stopped { stop_reason } => format!("ended: {stop_reason:?}"),
            TurnOutcome::Failed { message } => format!("failed: {message}"),
        },
        AgentEvent::ControlOutcome(outcome) => format!("outcome: {}", outcome.result.as_str()),
        AgentEvent::LoopCheckpoint(passed) => {
            format!("passed {:?}: {}", passed.seam, passed.delivered)
        }
        AgentEvent::ToolCallUpdate(update) => {
            format!("call {} {:?}", update.tool_call_id, update.status)
        }
        other => {
            let value = serde_json::to_value(other).unwrap();
            let change = value["change"].as_str().unwrap_or_default();
            let kind = value["type"].as_str().unwrap();
            format!("{kind} {change}").trim_end().to_owned()
        }
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// Returns the messages delivered so far, by id and text, in order.
pub async fn deliveries(session: &Controller) -> Vec<(MessageId, String)> {
    let last = session.last_seq();
    if last == Seq::ZERO {
        return Vec::new();
    }
    let events = collect_until(&mut session.subscribe(Seq::ZERO), |e| e.seq == last).await;
    let delivered = events.into_iter().filter_map(|e| match e.event {
        AgentEvent::UserMessage {
            message_id,
            content,
            ..
        } => Some((message_id, plain_text(&content))),
        _ => None,
    });
    delivered.collect()
}
