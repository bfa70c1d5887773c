//! Questions about a tool call, and what became of them.

use serde::{Deserialize, Serialize};

use crate::{AskId, ToolCall};

/// A tool call waits for a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PermissionAsked {
    /// The question's id.
    pub ask_id: AskId,
    /// The whole call, so that whoever decides sees what they decide about.
    pub tool_call: ToolCall,
    /// What they may answer.
    pub options: Vec<PermissionOption>,
}

/// One possible answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionOption {
    /// Its id.
    pub option_id: String,
    /// Its label, which names its scope.
    pub name: String,
    /// What choosing it means.
    pub kind: PermissionOptionKind,
}

/// What choosing an option means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionOptionKind {
    /// Yes, this time.
    AllowOnce,
    /// Yes, from now on.
    AllowAlways,
    /// No, this time.
    RejectOnce,
    /// No, from now on.
    RejectAlways,
}

impl PermissionOptionKind {
    /// Whether choosing it lets the call run.
    #[must_use]
    pub fn allows(self) -> bool {
        match self {
            Self::AllowOnce | Self::AllowAlways => true,
            Self::RejectOnce | Self::RejectAlways => false,
        }
    }
}

/// A question is settled. Exactly one of these follows each [`PermissionAsked`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionResolved {
    /// Which question.
    pub ask_id: AskId,
    /// How it ended.
    #[serde(flatten)]
    pub decision: Decision,
}

/// How a question ended. Only `Allowed` lets the call run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// Somebody chose an option that allows.
    Allowed {
        /// Which.
        option_id: String,
    },
    /// Somebody chose an option that rejects, or a rule rejected.
    Rejected {
        /// Which option, if one was chosen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        option_id: Option<String>,
        /// Why, where it was said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The turn was cancelled first.
    Cancelled,
    /// Nobody could be asked, or the answer made no sense.
    Unavailable {
        /// What happened.
        reason: String,
    },
}

impl Decision {
    /// Whether the call may run.
    #[must_use]
    pub fn allows(&self) -> bool {
        match self {
            Self::Allowed { .. } => true,
            Self::Rejected { .. } | Self::Cancelled | Self::Unavailable { .. } => false,
        }
    }
}
