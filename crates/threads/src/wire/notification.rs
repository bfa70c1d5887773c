//! What is told unasked.

use crate::JsonSchema;
use harn_model::{SessionId, StopReason, Timestamp, ToolCallId, TurnId};
use serde::Serialize;
use serde_json::Value;

use super::{ApprovalData, Item, ItemEnd};

/// The params of a notification. They repeat the method, and so are whole where only they are kept.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "notification", rename_all_fields = "camelCase")]
#[schemars(rename = "Notification")]
pub enum ThreadNotification {
    /// A thread was created.
    #[serde(rename = "thread.created")]
    ThreadCreated {
        /// Which.
        thread_id: SessionId,
        /// Its title.
        title: String,
    },
    /// A turn began.
    #[serde(rename = "turn.started")]
    TurnStarted {
        /// Which.
        turn_id: TurnId,
        /// In which thread.
        thread_id: SessionId,
        /// When, in milliseconds since 1970.
        time: Timestamp,
        /// The turn.
        turn: ThreadTurn,
    },
    /// A turn ended.
    #[serde(rename = "turn.completed")]
    TurnCompleted {
        /// Which.
        turn_id: TurnId,
        /// In which thread.
        thread_id: SessionId,
        /// Always `completed`.
        status: CompletedStatus,
        /// When, in milliseconds since 1970.
        time: Timestamp,
        /// Why the agent stopped.
        stop_reason: StopReason,
        /// The turn.
        turn: ThreadTurn,
    },
    /// A turn failed, or was cancelled.
    #[serde(rename = "turn.error")]
    TurnError {
        /// Which.
        turn_id: TurnId,
        /// In which thread.
        thread_id: SessionId,
        /// Which of the two.
        status: BrokenStatus,
        /// What happened, for people.
        error: String,
        /// When, in milliseconds since 1970.
        time: Timestamp,
        /// The turn.
        turn: ThreadTurn,
    },
    /// An item began.
    #[serde(rename = "item.started")]
    ItemStarted {
        /// The item.
        item: Item,
    },
    /// An item grew.
    #[serde(rename = "item.delta")]
    ItemDelta {
        /// Which.
        item_id: String,
        /// In which thread.
        thread_id: SessionId,
        /// Of which turn.
        turn_id: TurnId,
        /// By what.
        #[serde(flatten)]
        delta: ItemDelta,
    },
    /// An item ended.
    #[serde(rename = "item.completed")]
    ItemCompleted {
        /// Which.
        item_id: String,
        /// In which thread.
        thread_id: SessionId,
        /// Of which turn.
        turn_id: TurnId,
        /// What is known of it now; nothing of a message of the user.
        #[serde(flatten)]
        end: Option<ItemEnd>,
    },
    /// A person has to decide.
    #[serde(rename = "approval.requested")]
    ApprovalRequested(Box<ThreadApproval>),
}

impl ThreadNotification {
    /// The method it is sent as.
    #[must_use]
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

/// A turn as the protocol describes it. Notifications repeat its members beside it, where the first clients
/// of this protocol read them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Turn")]
pub struct ThreadTurn {
    /// Its id.
    pub turn_id: TurnId,
    /// Its thread.
    pub thread_id: SessionId,
    /// Whether it runs, or how it ended.
    pub status: TurnStatus,
    /// When it began and ended.
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
    /// When it began.
    pub started: Timestamp,
    /// When it ended, however it did; absent while it runs.
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

/// The status of a turn that did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BrokenStatus {
    /// Somebody cancelled it.
    Cancelled,
    /// It failed.
    Error,
}

/// What an item grows by.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "Delta")]
pub enum ItemDelta {
    /// More of what the agent says.
    AssistantMessage {
        /// The text.
        delta: String,
        /// True where it is reasoning.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        reasoning: bool,
    },
    /// More of what a tool shows; the item is the call's.
    ToolLog {
        /// The text, where there is more.
        #[serde(skip_serializing_if = "Option::is_none")]
        delta: Option<String>,
        /// Of which call.
        data: ToolLogData,
    },
}

/// Which call shows more.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolLogData {
    /// The call.
    pub call_id: ToolCallId,
    /// The tool.
    pub tool: String,
    /// Its arguments, where they became known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
}

/// A person has to decide.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Approval")]
pub struct ThreadApproval {
    /// In which thread.
    pub thread_id: SessionId,
    /// In which turn.
    pub turn_id: TurnId,
    /// The item that waits.
    pub item_id: String,
    /// What is asked.
    #[serde(flatten)]
    pub ask: ApprovalData,
    /// The call that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<AskedCall>,
}

/// The call a person decides about.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AskedCall {
    /// The last message before it.
    #[serde(rename = "messageID")]
    pub message_id: String,
    /// The call.
    #[serde(rename = "callID")]
    pub call_id: ToolCallId,
}
