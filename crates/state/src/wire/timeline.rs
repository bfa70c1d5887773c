//! The timeline: all that happened in a session, a row each, for people who look back.

use crate::JsonSchema;
use harn_model::Timestamp;
use serde::Serialize;

/// Part of a timeline, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimelinePage {
    /// The rows.
    pub rows: Vec<TimelineRow>,
    /// What to pass as `after` to go on; nothing where the end of the log was reached.
    pub next: Option<u64>,
    /// The last event that was looked at: what to pass as `after` later to get what is new.
    pub last: u64,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimelineRow {
    /// Its place in the log; where several events are one row, that of the first.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// The turn it belongs to, if any.
    pub turn: Option<String>,
    /// What sort of thing.
    pub kind: TimelineKind,
    /// What, in one line.
    pub title: String,
    /// More about it; ends in `…` where it is longer than is shown here.
    pub text: String,
}

/// What sort of thing a row tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimelineKind {
    /// Somebody said something to the agent.
    Prompt,
    /// The agent said something.
    Text,
    /// It thought.
    Thought,
    /// It used a tool.
    Tool,
    /// Whether a tool may run.
    Permission,
    /// A person was asked something.
    Question,
    /// What the agent means to do, and how far it is.
    Plan,
    /// Somebody worked for the agent.
    Worker,
    /// A skill came, went or was looked for.
    Skill,
    /// What the agent is to keep in mind.
    Reminder,
    /// Somebody wanted something of the running session.
    Control,
    /// A client came or went.
    Client,
    /// A setting, or what there is to work with.
    Setting,
    /// The session as a whole, and its turns.
    Session,
    /// Anything else.
    Other,
}
