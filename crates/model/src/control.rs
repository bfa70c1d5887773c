//! Controls of a running session (inject, remind, revoke, cancel): their senders, targets and results.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{MessageId, SessionId, TurnId};

/// The sender of a control, as it identified itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Actor {
    /// The id of the client.
    pub client_id: String,
    /// Its role in the session.
    pub role: String,
    /// The route it used, such as `acp`.
    pub source: String,
}

impl Actor {
    /// Whether it may change everything that is pending.
    pub fn is_host_owner(&self) -> bool {
        self.role == "host_owner"
    }
}

/// The kind of a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlKind {
    /// Inject a message into the running turn.
    Inject,
    /// Revoke an injected message.
    RevokeInject,
    /// Replace the content of an injected message.
    ReplaceInject,
    /// Queue a reminder.
    Remind,
    /// Revoke a reminder.
    RevokeReminder,
    /// Cancel the turn.
    Cancel,
}

/// The result of a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlResult {
    /// The message or reminder waits for its delivery.
    Accepted,
    /// The message or reminder is revoked.
    Revoked,
    /// The message has new content.
    Replaced,
    /// The turn receives the cancellation.
    Cancelled,
    /// The turn was cancelled before.
    AlreadyCancelled,
    /// The message or reminder was revoked before.
    AlreadyRevoked,
    /// The agent has already received the message or reminder.
    AlreadyDelivered,
    /// No message has this id.
    UnknownMessageId,
    /// No reminder has this id.
    UnknownReminderId,
    /// It belongs to another actor, or another client is the controller.
    NotOwnerOrNotAuthorized,
    /// No turn is running.
    NoActivePrompt,
    /// Too many messages or reminders are pending.
    QueueFull,
    /// A reminder with this id exists already.
    IdInUse,
}

/// Whether a control had an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ControlStatus {
    /// It had an effect.
    Accepted,
    /// Its effect existed before.
    Idempotent,
    /// It was rejected.
    Rejected,
}

impl ControlResult {
    /// Returns the status of a control of the kind `of` with this result.
    pub fn status(self, of: ControlKind) -> ControlStatus {
        match self {
            Self::Accepted | Self::Revoked | Self::Replaced | Self::Cancelled => {
                ControlStatus::Accepted
            }
            Self::AlreadyCancelled => ControlStatus::Idempotent,
            // Revoking twice is fine; replacing a revoked message is too late.
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

    /// Returns its wire name.
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

/// The target of a control.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlTarget {
    /// The id of the session.
    pub session_id: SessionId,
    /// The id of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// The id of the reminder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reminder_id: Option<String>,
    /// The id of the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
}

/// A control and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlOutcome {
    /// The control's id.
    pub control_id: String,
    /// The kind of the control.
    pub control: ControlKind,
    /// The result.
    pub result: ControlResult,
    /// The sender.
    pub actor: Actor,
    /// The target.
    pub target: ControlTarget,
}

impl ControlOutcome {
    /// Returns the status of the control.
    pub fn status(&self) -> ControlStatus {
        self.result.status(self.control)
    }
}
