//! What methods give.

use crate::JsonSchema;
use harn_model::{SessionId, Timestamp, TurnId};
use serde::Serialize;

use super::ThreadNotification;

/// Who answers, and what it can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// The version of the protocol.
    pub version: String,
    /// The program that answers.
    pub server_info: ServerInfo,
    /// What it can do.
    pub capabilities: ThreadsCapabilities,
}

/// The program that answers, as `clientInfo` describes the one that asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ServerInfo {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// What the server can do: all there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Capabilities")]
pub struct ThreadsCapabilities {
    /// Threads.
    pub threads: bool,
    /// Turns in them.
    pub turns: bool,
    /// A person decides about tool calls.
    pub approvals: bool,
    /// What happens is told as it happens.
    pub streaming: bool,
    /// Threads outlive the process.
    pub persistence: bool,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    /// Its id.
    pub thread_id: SessionId,
    /// Its title.
    pub title: String,
    /// Where it works.
    pub directory: String,
    /// Since when, and when something happened last.
    pub time: ThreadTime,
}

/// Times of a thread, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ThreadTime {
    /// When it was created.
    pub created: Timestamp,
    /// When something happened last.
    pub updated: Timestamp,
}

/// One thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ThreadResult {
    /// The thread.
    pub thread: Thread,
}

/// All threads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ThreadListResult {
    /// The one that changed last comes first.
    pub threads: Vec<Thread>,
}

/// A thread with its history.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ThreadGetResult {
    /// The thread.
    pub thread: Thread,
    /// Everything that was told of it up to here.
    pub events: Vec<ThreadEvent>,
}

/// The params of a notification, with their time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Event")]
pub struct ThreadEvent {
    /// What was told.
    #[serde(flatten)]
    pub notification: ThreadNotification,
    /// When, in milliseconds since 1970; greater than that of the event before.
    pub timestamp: Timestamp,
}

/// The turn that began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnStartResult {
    /// Its id.
    pub turn_id: TurnId,
}

/// It was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Done")]
pub struct OkResult {
    /// Always true.
    pub ok: bool,
}

impl OkResult {
    /// It was.
    pub const YES: Self = Self { ok: true };
}
