//! The beginning and end of a turn.

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
    /// The client that said it, where one did under a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_session: Option<Box<LiveAuthor>>,
}

/// A turn ended. Nothing of the turn follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnEnded {
    /// How.
    #[serde(flatten)]
    pub outcome: TurnOutcome,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum TurnOutcome {
    /// The agent stopped, or was stopped.
    Stopped {
        /// Why.
        stop_reason: StopReason,
    },
    /// The agent failed.
    Failed {
        /// What it said.
        message: String,
    },
}

impl TurnOutcome {
    /// The agent stopped for this reason.
    #[must_use]
    pub fn stopped(stop_reason: StopReason) -> Self {
        Self::Stopped { stop_reason }
    }
}

/// Why an agent stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was done.
    EndTurn,
    /// It reached its token limit.
    MaxTokens,
    /// It reached its request limit.
    MaxTurnRequests,
    /// It would not.
    Refusal,
    /// It was cancelled.
    Cancelled,
}

/// A turn was cut short by a crash and has been closed on opening the session. The calls and asks it
/// left open were settled as failed just before; nothing with effects was run again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRecovered {
    /// Calls that were open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interrupted_calls: Vec<ToolCallId>,
    /// Asks that were open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withdrawn_asks: Vec<AskId>,
    /// Bytes of a torn last line that were dropped.
    #[serde(default, skip_serializing_if = "crate::event::is_zero")]
    pub torn_bytes: u64,
}

/// A safe place in an agent's loop, where steering is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Seam {
    /// Before the first step of an iteration.
    TurnStart,
    /// Before older messages are folded away.
    PreCompact,
    /// After that.
    PostCompact,
    /// After the model answered, before tools run.
    PreToolDispatch,
    /// After tools ran.
    PostToolDispatch,
    /// When there is nothing more to do.
    TurnEnd,
    /// Before an idle daemon sleeps.
    DaemonIdlePre,
    /// After it slept.
    DaemonIdlePost,
    /// On the way out.
    LoopExit,
}

impl Seam {
    /// What is delivered there.
    #[must_use]
    pub fn delivers(self) -> &'static [DeliveryMode] {
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
    /// How often the turn has started an iteration.
    pub iteration: u64,
    /// Which seam.
    pub seam: Seam,
    /// How many messages and reminders were delivered there.
    #[serde(default)]
    pub delivered: u64,
    /// Whether tools that waited to run were skipped for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dispatch_skipped: bool,
}
