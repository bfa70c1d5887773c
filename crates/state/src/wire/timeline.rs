//! The timeline: the events of a session as rows, for people who look back.

use crate::JsonSchema;
use harn_model::Timestamp;
use serde::Serialize;

/// A page of a timeline, oldest row first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimelinePage {
    /// The rows.
    pub rows: Vec<TimelineRow>,
    /// The value of `after` for the next page; null at the end of the log.
    pub next: Option<u64>,
    /// The last event that was read: the value of `after` to get new rows later.
    pub last: u64,
}

/// A row of a timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimelineRow {
    /// The position of its event in the log; that of the first if it has several.
    pub seq: u64,
    /// When it happened.
    pub at: Timestamp,
    /// The turn it belongs to, if any.
    pub turn: Option<String>,
    /// The kind of row.
    pub kind: TimelineKind,
    /// A title of one line.
    pub title: String,
    /// More text; ends in `…` if it is longer than shown here.
    pub text: String,
}

/// The kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimelineKind {
    /// A message to the agent.
    Prompt,
    /// A message of the agent.
    Text,
    /// A thought of the agent.
    Thought,
    /// The use of a tool.
    Tool,
    /// A permission for a tool call.
    Permission,
    /// A question to a person.
    Question,
    /// A plan of the agent, and its progress.
    Plan,
    /// A worker of the agent.
    Worker,
    /// A skill that became active or inactive, or a search for one.
    Skill,
    /// A reminder for the agent.
    Reminder,
    /// A control request to the running session.
    Control,
    /// A client that attached or detached.
    Client,
    /// A setting, or the tools, commands and servers.
    Setting,
    /// The session as a whole, and its turns.
    Session,
    /// Anything else.
    Other,
}
