//! The start and end of a turn, and the seams of an agent's loop.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AskId, ContentBlock, DeliveryMode, LiveAuthor, MessageId, ToolCallId};

/// A prompt was accepted and its turn began. The turn's id is in the envelope.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnStarted {
    /// The id of the prompt as a message.
    pub message_id: MessageId,
    /// The prompt.
    pub prompt: Vec<ContentBlock>,
    /// The client that sent it, if it gave a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_session: Option<Box<LiveAuthor>>,
}

/// A turn ended. No event of the turn follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnEnded {
    /// How it ended.
    #[serde(flatten)]
    pub outcome: TurnOutcome,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum TurnOutcome {
    /// The agent stopped, or was stopped.
    Stopped {
        /// The reason.
        stop_reason: StopReason,
    },
    /// The agent failed.
    Failed {
        /// The error message.
        message: String,
    },
}

impl TurnOutcome {
    /// Builds the outcome of an agent that stopped for this reason.
    pub fn stopped(stop_reason: StopReason) -> Self {
        Self::Stopped { stop_reason }
    }
}

/// Why an agent stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It completed its work.
    EndTurn,
    /// It reached its token limit.
    MaxTokens,
    /// It reached its request limit.
    MaxTurnRequests,
    /// It refused the prompt.
    Refusal,
    /// It was cancelled.
    Cancelled,
}

/// A crash interrupted a turn, which was closed when the session was opened. The calls and asks it left open were
/// ended as failed just before; nothing with effects was run again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRecovered {
    /// Calls that were open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interrupted_calls: Vec<ToolCallId>,
    /// Asks that were open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withdrawn_asks: Vec<AskId>,
    /// Bytes of a partial last line that were dropped.
    #[serde(default, skip_serializing_if = "crate::event::is_zero")]
    pub torn_bytes: u64,
}

/// A point in an agent's loop where it is safe to change course and the runtime delivers messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Seam {
    /// Before the first step of an iteration.
    TurnStart,
    /// Before older messages are compacted.
    PreCompact,
    /// After older messages were compacted.
    PostCompact,
    /// After the model answered, before tools run.
    PreToolDispatch,
    /// After tools ran.
    PostToolDispatch,
    /// When the agent has nothing more to do.
    TurnEnd,
    /// Before an idle daemon sleeps.
    DaemonIdlePre,
    /// After an idle daemon slept.
    DaemonIdlePost,
    /// Before the loop exits.
    LoopExit,
}

impl Seam {
    /// Returns the delivery modes that are delivered at this seam.
    pub fn delivery_modes(self) -> &'static [DeliveryMode] {
        use DeliveryMode::{AuditOnly, FinishStep, InterruptImmediate};
        match self {
            Self::TurnStart | Self::PostToolDispatch | Self::TurnEnd => {
                &[InterruptImmediate, FinishStep]
            }
            Self::PreToolDispatch | Self::DaemonIdlePre | Self::DaemonIdlePost => {
                &[InterruptImmediate]
            }
            Self::PreCompact | Self::PostCompact => &[],
            Self::LoopExit => &[AuditOnly],
        }
    }
}

/// An agent passed a seam.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopCheckpoint {
    /// The number of iterations that the turn has started.
    pub iteration: u64,
    /// The seam.
    pub seam: Seam,
    /// How many messages and reminders were delivered there.
    #[serde(default)]
    pub delivered: u64,
    /// Whether tools that waited to run were skipped for the delivery.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dispatch_skipped: bool,
}
