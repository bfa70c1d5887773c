//! Who wants something of a running session, and what came of it: the record of every control.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{MessageId, SessionId, TurnId};

/// Whoever sent a control, as they named themselves.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Actor {
    /// The client.
    pub client_id: String,
    /// What it is to the session.
    pub role: String,
    /// Which way it came.
    pub source: String,
}

impl Actor {
    /// Whether everything that is pending is theirs to change.
    #[must_use]
    pub fn is_host_owner(&self) -> bool {
        self.role == "host_owner"
    }
}

/// What was wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlKind {
    /// A message for the running turn.
    Inject,
    /// To take one back.
    RevokeInject,
    /// To say it differently.
    ReplaceInject,
    /// A reminder.
    Remind,
    /// To take one back.
    RevokeReminder,
    /// To stop the turn.
    Cancel,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlResult {
    /// It waits for its delivery.
    Accepted,
    /// It is taken back.
    Revoked,
    /// It says something else now.
    Replaced,
    /// The turn was told to stop.
    Cancelled,
    /// The turn had been told before.
    AlreadyCancelled,
    /// It had been taken back before.
    AlreadyRevoked,
    /// The agent has it.
    AlreadyDelivered,
    /// No such message.
    UnknownMessageId,
    /// No such reminder.
    UnknownReminderId,
    /// It belongs to somebody else, or somebody else is in control.
    NotOwnerOrNotAuthorized,
    /// Nothing is running.
    NoActivePrompt,
    /// Too much is waiting.
    QueueFull,
    /// There is one of this name already.
    IdInUse,
}

/// How a control went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ControlStatus {
    /// It did something.
    Accepted,
    /// It had been done.
    Idempotent,
    /// It was refused.
    Rejected,
}

impl ControlResult {
    /// How a control with this result went.
    #[must_use]
    pub fn status(self, of: ControlKind) -> ControlStatus {
        match self {
            Self::Accepted | Self::Revoked | Self::Replaced | Self::Cancelled => {
                ControlStatus::Accepted
            }
            Self::AlreadyCancelled => ControlStatus::Idempotent,
            // Taking back twice is fine; saying it differently is too late.
            Self::AlreadyRevoked if of != ControlKind::ReplaceInject => ControlStatus::Idempotent,
            Self::AlreadyRevoked
            | Self::AlreadyDelivered
            | Self::UnknownMessageId
            | Self::UnknownReminderId
            | Self::NotOwnerOrNotAuthorized
            | Self::NoActivePrompt
            | Self::QueueFull
            | Self::IdInUse => ControlStatus::Rejected,
        }
    }

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Revoked => "revoked",
            Self::Replaced => "replaced",
            Self::Cancelled => "cancelled",
            Self::AlreadyCancelled => "already_cancelled",
            Self::AlreadyRevoked => "already_revoked",
            Self::AlreadyDelivered => "already_delivered",
            Self::UnknownMessageId => "unknown_message_id",
            Self::UnknownReminderId => "unknown_reminder_id",
            Self::NotOwnerOrNotAuthorized => "not_owner_or_not_authorized",
            Self::NoActivePrompt => "no_active_prompt",
            Self::QueueFull => "queue_full",
            Self::IdInUse => "id_in_use",
        }
    }
}

/// What a control was about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlTarget {
    /// The session.
    pub session_id: SessionId,
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// The reminder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reminder_id: Option<String>,
    /// The turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
}

/// A control and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlOutcome {
    /// The control's id.
    pub control_id: String,
    /// What was wanted.
    pub control: ControlKind,
    /// What came of it.
    pub result: ControlResult,
    /// Who wanted it.
    pub actor: Actor,
    /// Of what.
    pub target: ControlTarget,
}

impl ControlOutcome {
    /// How it went.
    #[must_use]
    pub fn status(&self) -> ControlStatus {
        self.result.status(self.control)
    }
}
