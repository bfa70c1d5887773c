//! Reminders: when they reach an agent, how long they last, and which workers receive them.

mod interrupts;
mod lifetime;
mod seams;
mod workers;

use std::path::Path;

use harn_model::{
    AgentEvent, DaemonChange, DeliveryMode, Envelope, PendingChange, ReminderChange, Seq,
    SystemReminder, TurnId, plain_text,
};
use harn_runtime::{Controller, Hub};
use serde_json::{Value, to_value};
use tokio::sync::mpsc;

pub use crate::sessions::steering::{
    INTERRUPT, Leg, QUEUE, STEER, Stage, host_owner, inject, played_agent, refusal_result, texts,
};
use crate::support::*;

impl Stage {
    pub async fn remind(&self, mode: DeliveryMode, reminder: SystemReminder) -> String {
        remind(&self.session, mode, reminder).await
    }

    /// Formats the steering events after this event id, one per line.
    pub async fn steering_log(&self, after: Seq) -> String {
        format_steering_events(&written_events(&self.session, after).await)
    }

    /// Returns the ids of the reminders in force.
    pub fn reminders_in_force(&self) -> Vec<String> {
        reminders_in_force(&self.session)
    }
}

impl Leg {
    /// Returns the ids of the reminders in force, as the agent receives them.
    pub async fn reminders_in_force(&self) -> Vec<String> {
        let in_force = self.cx.reminders().await.unwrap();
        in_force.into_iter().map(|it| it.id).collect()
    }
}

/// A session as another process finds it: on a copy of the current disk state, as if the serving process had been
/// killed.
pub struct Revived {
    pub session: Controller,
    pub hub: Hub,
    legs: mpsc::Receiver<Leg>,
    world: World,
}

impl Revived {
    pub async fn from_stage(stage: &Stage) -> Self {
        let world = World::new();
        copy_dir(stage.world.state(), world.state());
        let (agent, legs) = played_agent();
        let hub = world.hub(agent);
        let session = hub.open(stage.session.id(), None).await.unwrap();
        Self {
            session,
            hub,
            legs,
            world,
        }
    }

    /// Shuts the process down cleanly and reopens the session.
    pub async fn restart(self) -> Self {
        self.hub.shutdown().await;
        let (agent, legs) = played_agent();
        let hub = self.world.hub(agent);
        let session = hub.open(self.session.id(), None).await.unwrap();
        Self {
            session,
            hub,
            legs,
            world: self.world,
        }
    }

    /// Sends a prompt and returns its turn and the agent's call.
    pub async fn start_turn(&mut self) -> (TurnId, Leg) {
        let turn = prompt(&self.session, "go").await;
        (turn, self.legs.recv().await.unwrap())
    }
}

fn copy_dir(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let (entry, kind) = entry
            .map(|it| (it.path(), it.file_type().unwrap()))
            .unwrap();
        let copied = to.join(entry.file_name().unwrap());
        if kind.is_dir() {
            std::fs::create_dir_all(&copied).unwrap();
            copy_dir(&entry, &copied);
        } else {
            std::fs::copy(&entry, &copied).unwrap();
        }
    }
}

/// Returns all events after this event id.
pub async fn written_events(session: &Controller, after: Seq) -> Vec<Envelope> {
    let last = session.last_seq();
    if last <= after {
        return Vec::new();
    }
    let mut from = session.subscribe(after);
    let mut seen = collect_until(&mut from, |e| e.seq >= last).await;
    seen.retain(|e| e.seq <= last);
    seen
}

/// Returns a reminder whose body is its id.
pub fn reminder(id: &str) -> SystemReminder {
    SystemReminder::new(id, id)
}

pub fn reminder_with_key(id: &str, key: &str) -> SystemReminder {
    SystemReminder {
        dedupe_key: Some(key.to_owned()),
        ..reminder(id)
    }
}

pub fn reminder_with_ttl(id: &str, turns: u64) -> SystemReminder {
    SystemReminder {
        ttl_turns: Some(turns),
        ..reminder(id)
    }
}

pub async fn remind(session: &Controller, mode: DeliveryMode, reminder: SystemReminder) -> String {
    session
        .remind(mode, reminder, host_owner())
        .await
        .unwrap()
        .0
}

/// Returns the ids of the reminders in force, by the session's view.
pub fn reminders_in_force(session: &Controller) -> Vec<String> {
    let view = session.view();
    let ids = view.reminders.iter().map(|it| it.reminder.id.clone());
    ids.collect()
}

/// Returns the ids of the rendered reminders, in order.
pub fn emitted_ids(events: &[Envelope]) -> Vec<String> {
    let emitted = events.iter().filter_map(|e| match &e.event {
        AgentEvent::ReminderEmitted(reminder) => Some(reminder.reminder_id.clone()),
        _ => None,
    });
    emitted.collect()
}

/// Formats the steering events, one per line.
pub fn format_steering_events(events: &[Envelope]) -> String {
    let lines = events.iter().filter_map(|e| format_event(&e.event));
    lines.map(|line| line + "\n").collect()
}

fn format_event(event: &AgentEvent) -> Option<String> {
    Some(match event {
        AgentEvent::TurnStarted(started) => format!("turn: {}", plain_text(&started.prompt)),
        AgentEvent::TurnEnded(ended) => {
            format!("ended {}", serialized_words(to_value(&ended.outcome)))
        }
        AgentEvent::Recovered(_) => "recovered".to_owned(),
        AgentEvent::UserMessage { content, .. } => format!("user: {}", plain_text(content)),
        AgentEvent::AgentMessageChunk { content, .. } => format!("said: {content}"),
        AgentEvent::ReminderEmitted(it) => format!("emitted {}", it.reminder_id),
        AgentEvent::LoopCheckpoint(it) => {
            let skipped = if it.dispatch_skipped { ", skipped" } else { "" };
            let seam = serialized_words(to_value(it.seam));
            format!("{seam} {}: {}{skipped}", it.iteration, it.delivered)
        }
        AgentEvent::Pending(change) => match &**change {
            PendingChange::MessageQueued(it) => format!("queued {:?}", plain_text(&it.content)),
            PendingChange::MessageReplaced { .. } => "replaced".to_owned(),
            PendingChange::MessageRevoked { .. } => "revoked a message".to_owned(),
            PendingChange::ReminderQueued(it) => format!("queued {}", it.reminder.id),
            PendingChange::ReminderRevoked { reminder_id } => format!("revoked {reminder_id}"),
            PendingChange::Cleared => "cleared".to_owned(),
        },
        AgentEvent::ReminderLifecycle(change) => match &**change {
            ReminderChange::Injected { mode, reminder } => {
                format!("injected {} {}", reminder.id, mode.as_str())
            }
            ReminderChange::Inherited { reminder } => format!("inherited {}", reminder.id),
            ReminderChange::Deduped { reminder_id, by } => format!("deduped {reminder_id} by {by}"),
            ReminderChange::Aged => "aged".to_owned(),
            ReminderChange::Expired {
                reminder_id,
                reason,
            } => format!(
                "expired {reminder_id} {}",
                serialized_words(to_value(reason))
            ),
        },
        AgentEvent::Daemon(change) => match change {
            DaemonChange::Idle {
                iteration,
                backoff_ms,
            } => format!("idle {iteration}, pace {backoff_ms}"),
            DaemonChange::Woke { reason } => format!("woke {}", serialized_words(to_value(reason))),
            DaemonChange::WatchdogTripped {
                attempts,
                elapsed_ms,
            } => format!("tripped after {attempts} in {elapsed_ms} ms"),
        },
        AgentEvent::TranscriptCompacted(_) => "compacted".to_owned(),
        AgentEvent::PermissionAsked(ask) => format!("asked {}", ask.tool_call.tool_call_id),
        AgentEvent::PermissionResolved(it) => {
            format!("resolved {}", serialized_words(to_value(&it.decision)))
        }
        AgentEvent::ToolCall(call) => format!("call {}", call.tool_call_id),
        AgentEvent::ToolCallUpdate(it) => {
            let error = it.error.as_deref().unwrap_or_default();
            let line = format!(
                "{} {} {error}",
                it.tool_call_id,
                serialized_words(to_value(it.status))
            );
            line.trim_end().to_owned()
        }
        _ => return None,
    })
}

/// Returns the strings of a serialized value, as the journal has them.
fn serialized_words(of: serde_json::Result<Value>) -> String {
    match of.unwrap() {
        Value::String(word) => word,
        Value::Object(fields) => {
            let words = fields.values().filter_map(Value::as_str);
            words.collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}
