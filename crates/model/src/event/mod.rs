//! `AgentEvent`, which every reader of a session understands, and the envelope that stores it.
//!
//! The events themselves are rows of one table, `table.rs`.

#[macro_use]
mod macros;
mod facts;
mod table;

use std::{fmt, io};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use facts::{Author, Durability};
pub use table::{
    AgentEvent, CompositionEvent, ContextEvent, DelegationEvent, DetailEvent, EventFamily,
    MessageEvent, OrderedEvent, PermissionEvent, QuestionEvent, RecordEvent, ReportEvent,
    SessionEvent, SettingEvent, SkillEvent, StampedEvent, SteeringEvent, ToolEvent, TurnEvent,
};

use crate::{ContentBlock, SlashCommand, TurnId};

/// The position of an event in its session's log, from 1 and without gaps.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// The position before the first event.
    pub const ZERO: Self = Self(0);

    /// Returns the next position.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Milliseconds since the Unix epoch.
pub type Timestamp = u64;

/// An event with its position in its session's log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// Its position.
    pub seq: Seq,
    /// When it was written.
    pub at: Timestamp,
    /// The turn it belongs to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The event.
    pub event: AgentEvent,
}

impl AgentEvent {
    /// Builds a part of an answer, without a message id yet.
    pub fn message(content: impl Into<String>) -> Self {
        Self::AgentMessageChunk {
            content: content.into(),
            message_id: None,
        }
    }

    /// Builds the event for the slash commands that an agent offers from now on.
    pub fn commands(commands: Vec<SlashCommand>) -> Self {
        Self::AvailableCommands {
            commands,
            equipped: Vec::new(),
            own_unchanged: false,
        }
    }

    /// Builds a part of a thought, without a message id yet.
    pub fn thought(content: impl Into<String>) -> Self {
        Self::AgentThoughtChunk {
            content: content.into(),
            message_id: None,
        }
    }

    /// Returns the approximate number of bytes that this event keeps in memory: queues limit their size by it.
    /// Text and tool calls are added up; other events count with their length in the journal.
    pub fn weight(&self) -> usize {
        const BASE: usize = 96;
        const FACTS: usize = 256;
        let written = || written_len(self);
        BASE + match self.family() {
            EventFamily::Message(event) => match event {
                MessageEvent::AgentMessageChunk { content, .. }
                | MessageEvent::AgentThoughtChunk { content, .. } => content.len(),
                MessageEvent::UserMessage { content, .. } => {
                    content.iter().map(ContentBlock::weight).sum()
                }
            },
            EventFamily::Tool(event) => match event {
                ToolEvent::ToolCall(call) => call.weight(),
                ToolEvent::ToolCallUpdate(update) => {
                    update.raw_output.as_ref().map_or(0, value_weight)
                        + update.raw_input.as_ref().map_or(0, value_weight)
                        + update.raw_input_partial.as_ref().map_or(0, String::len)
                        + update.error.as_ref().map_or(0, String::len)
                        + update
                            .content
                            .iter()
                            .flatten()
                            .map(crate::ToolContent::weight)
                            .sum::<usize>()
                        + FACTS
                }
            },
            EventFamily::Turn(event) => match event {
                TurnEvent::TurnStarted(turn)
                | TurnEvent::PromptQueued(turn)
                | TurnEvent::PromptWithdrawn(turn) => {
                    turn.prompt.iter().map(ContentBlock::weight).sum()
                }
                TurnEvent::TurnEnded(_) | TurnEvent::Recovered(_) => written(),
            },
            EventFamily::Permission(event) => match event {
                PermissionEvent::PermissionAsked(ask) => ask.weight(),
                PermissionEvent::PermissionResolved(_) => written(),
            },
            EventFamily::Record(event) => match event {
                RecordEvent::PermissionGrant(record)
                | RecordEvent::PermissionDeny(record)
                | RecordEvent::PermissionEscalation(record) => record.weight(),
                RecordEvent::LiveSessionPermissionRoute(_) | RecordEvent::GrantRevoked { .. } => {
                    written()
                }
            },
            EventFamily::Steering(event) => match event {
                SteeringEvent::Pending(change) => change.weight(),
                SteeringEvent::LoopCheckpoint(_)
                | SteeringEvent::ReminderEmitted(_)
                | SteeringEvent::ReminderLifecycle(_)
                | SteeringEvent::ControlOutcome(_)
                | SteeringEvent::Daemon(_) => written(),
            },
            EventFamily::Question(_)
            | EventFamily::Report(_)
            | EventFamily::Delegation(_)
            | EventFamily::Composition(_)
            | EventFamily::Skill(_)
            | EventFamily::Detail(_)
            | EventFamily::Context(_)
            | EventFamily::Setting(_)
            | EventFamily::Session(_) => written(),
        }
    }
}

/// Returns the length of the event in the journal.
fn written_len(event: &AgentEvent) -> usize {
    struct LengthCounter(usize);

    impl io::Write for LengthCounter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut count = LengthCounter(0);
    // The journal rejects an event that cannot be serialized; until then its serialized part counts.
    let _ = serde_json::to_writer(&mut count, event);
    count.0
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
pub(crate) fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Returns the approximate number of bytes that a JSON value keeps in memory.
pub(crate) fn value_weight(value: &Value) -> usize {
    const NODE: usize = 32;
    NODE + match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(s) => s.len(),
        Value::Array(items) => items.iter().map(value_weight).sum(),
        Value::Object(map) => map.iter().map(|(k, v)| k.len() + value_weight(v)).sum(),
    }
}
