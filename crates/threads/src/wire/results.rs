//! The results of methods.

use crate::JsonSchema;
use harn_model::{SessionId, Timestamp, TurnId};
use serde::Serialize;

use super::ThreadNotification;

/// The result of `initialize`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// The version of the protocol.
    pub version: String,
    /// The program that serves.
    pub server_info: ServerInfo,
    /// Its capabilities.
    pub capabilities: ThreadsCapabilities,
}

/// The program that serves, described as `clientInfo` describes the client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ServerInfo {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The capabilities of the server: all that the protocol has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Capabilities")]
pub struct ThreadsCapabilities {
    /// It has threads.
    pub threads: bool,
    /// It has turns.
    pub turns: bool,
    /// A person decides about tool calls.
    pub approvals: bool,
    /// It sends events as they happen.
    pub streaming: bool,
    /// Its threads outlive the process.
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
    /// Its working directory.
    pub directory: String,
    /// When it was created, and when it last changed.
    pub time: ThreadTime,
}

/// Times of a thread, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ThreadTime {
    /// When it was created.
    pub created: Timestamp,
    /// When it last changed.
    pub updated: Timestamp,
}

/// The result of `thread.create`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ThreadResult {
    /// The thread.
    pub thread: Thread,
}

/// The result of `thread.list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ThreadListResult {
    /// All threads, the one that changed last first.
    pub threads: Vec<Thread>,
}

/// The result of `thread.get`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ThreadGetResult {
    /// The thread.
    pub thread: Thread,
    /// All notifications of the thread so far.
    pub events: Vec<ThreadEvent>,
}

/// The params of a notification, with their time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Event")]
pub struct ThreadEvent {
    /// The notification.
    #[serde(flatten)]
    pub notification: ThreadNotification,
    /// When it happened, in milliseconds since 1970; greater than that of the event before.
    pub timestamp: Timestamp,
}

/// The result of `turn.start`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnStartResult {
    /// The id of the turn that started.
    pub turn_id: TurnId,
}

/// The result of a method that succeeded and returns nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Done")]
pub struct OkResult {
    /// Always true.
    pub ok: bool,
}

impl OkResult {
    /// The only value.
    pub const YES: Self = Self { ok: true };
}
