//! The notifications to clients.

use crate::JsonSchema;
use harn_model::{SessionId, StopReason, Timestamp, ToolCallId, TurnId};
use serde::Serialize;
use serde_json::Value;

use super::{ApprovalData, Item, ItemEnd};

/// The params of a notification. They repeat the method, so that they are complete without it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "notification", rename_all_fields = "camelCase")]
#[schemars(rename = "Notification")]
pub enum ThreadNotification {
    /// A thread was created.
    #[serde(rename = "thread.created")]
    ThreadCreated {
        /// The id of the thread.
        thread_id: SessionId,
        /// Its title.
        title: String,
    },
    /// A turn started.
    #[serde(rename = "turn.started")]
    TurnStarted {
        /// The id of the turn.
        turn_id: TurnId,
        /// The id of its thread.
        thread_id: SessionId,
        /// When it started, in milliseconds since 1970.
        time: Timestamp,
        /// The turn.
        turn: ThreadTurn,
    },
    /// A turn ended by itself.
    #[serde(rename = "turn.completed")]
    TurnCompleted {
        /// The id of the turn.
        turn_id: TurnId,
        /// The id of its thread.
        thread_id: SessionId,
        /// Always `completed`.
        status: CompletedStatus,
        /// When it ended, in milliseconds since 1970.
        time: Timestamp,
        /// Why the agent stopped.
        stop_reason: StopReason,
        /// The turn.
        turn: ThreadTurn,
    },
    /// A turn failed, or was cancelled.
    #[serde(rename = "turn.error")]
    TurnError {
        /// The id of the turn.
        turn_id: TurnId,
        /// The id of its thread.
        thread_id: SessionId,
        /// Whether it failed or was cancelled.
        status: BrokenStatus,
        /// A description for people.
        error: String,
        /// When it ended, in milliseconds since 1970.
        time: Timestamp,
        /// The turn.
        turn: ThreadTurn,
    },
    /// An item started.
    #[serde(rename = "item.started")]
    ItemStarted {
        /// The item.
        item: Item,
    },
    /// An item grew.
    #[serde(rename = "item.delta")]
    ItemDelta {
        /// The id of the item.
        item_id: String,
        /// The id of its thread.
        thread_id: SessionId,
        /// The id of its turn.
        turn_id: TurnId,
        /// The addition to the item.
        #[serde(flatten)]
        delta: ItemDelta,
    },
    /// An item ended.
    #[serde(rename = "item.completed")]
    ItemCompleted {
        /// The id of the item.
        item_id: String,
        /// The id of its thread.
        thread_id: SessionId,
        /// The id of its turn.
        turn_id: TurnId,
        /// The data of the item at its end; none for a message of the user.
        #[serde(flatten)]
        end: Option<ItemEnd>,
    },
    /// A tool call waits for the decision of a person.
    #[serde(rename = "approval.requested")]
    ApprovalRequested(Box<ThreadApproval>),
}

impl ThreadNotification {
    /// Returns the method that it is sent as.
    pub fn method(&self) -> &'static str {
        match self {
            Self::ThreadCreated { .. } => "thread.created",
            Self::TurnStarted { .. } => "turn.started",
            Self::TurnCompleted { .. } => "turn.completed",
            Self::TurnError { .. } => "turn.error",
            Self::ItemStarted { .. } => "item.started",
            Self::ItemDelta { .. } => "item.delta",
            Self::ItemCompleted { .. } => "item.completed",
            Self::ApprovalRequested(_) => "approval.requested",
        }
    }
}

/// A turn as the protocol describes it. Notifications repeat its members beside it, where the first clients of
/// this protocol read them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Turn")]
pub struct ThreadTurn {
    /// Its id.
    pub turn_id: TurnId,
    /// The id of its thread.
    pub thread_id: SessionId,
    /// Whether it runs, or how it ended.
    pub status: TurnStatus,
    /// When it started and ended.
    pub time: TurnTime,
}

/// Whether a turn runs, or how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// It has not ended.
    Running,
    /// It ended by itself.
    Completed,
    /// It was cancelled.
    Cancelled,
    /// It failed.
    Error,
}

impl From<BrokenStatus> for TurnStatus {
    fn from(status: BrokenStatus) -> Self {
        match status {
            BrokenStatus::Cancelled => Self::Cancelled,
            BrokenStatus::Error => Self::Error,
        }
    }
}

/// Times of a turn, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TurnTime {
    /// When it started.
    pub started: Timestamp,
    /// When it ended, in any way; absent while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed: Option<Timestamp>,
}

/// The status of a turn that ended by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompletedStatus {
    /// `completed`.
    #[default]
    Completed,
}

/// The status of a turn that did not end by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BrokenStatus {
    /// It was cancelled.
    Cancelled,
    /// It failed.
    Error,
}

/// An addition to an item.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "Delta")]
pub enum ItemDelta {
    /// More text of the agent.
    AssistantMessage {
        /// The added text.
        delta: String,
        /// Whether it is reasoning; absent if it is not.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        reasoning: bool,
    },
    /// More output of a tool; the item is the one of the call.
    ToolLog {
        /// The added text, if any.
        #[serde(skip_serializing_if = "Option::is_none")]
        delta: Option<String>,
        /// The call that shows it.
        data: ToolLogData,
    },
}

/// The call that shows more output.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolLogData {
    /// The id of the call.
    pub call_id: ToolCallId,
    /// The name of the tool.
    pub tool: String,
    /// Its arguments, if they became known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
}

/// A tool call that waits for the decision of a person.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Approval")]
pub struct ThreadApproval {
    /// The id of the thread.
    pub thread_id: SessionId,
    /// The id of the turn.
    pub turn_id: TurnId,
    /// The id of the item that waits.
    pub item_id: String,
    /// The question about the call.
    #[serde(flatten)]
    pub ask: ApprovalData,
    /// The call that waits; absent for the call of a worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<AskedCall>,
}

/// The call that a person decides about.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AskedCall {
    /// The id of the last message before it.
    #[serde(rename = "messageID")]
    pub message_id: String,
    /// The id of the call.
    #[serde(rename = "callID")]
    pub call_id: ToolCallId,
}
