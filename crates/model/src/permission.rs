//! Questions about a tool call, and what became of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AskId, SessionId, ToolCall, WorkerId};

/// A tool call waits for a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PermissionAsked {
    /// The question's id.
    pub ask_id: AskId,
    /// The whole call, so that whoever decides sees what they decide about.
    pub tool_call: ToolCall,
    /// What they may answer.
    pub options: Vec<PermissionOption>,
    /// The workers it came through, from the one next to the session down to the one that asks; empty
    /// for a call of the session's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lineage: Vec<Lineage>,
}

impl PermissionAsked {
    /// About how many bytes this keeps alive.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.tool_call.weight()
    }
}

/// A worker on the way from a session to who asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage {
    /// The worker.
    pub worker_id: WorkerId,
    /// Its name.
    pub worker_name: String,
    /// The session it works in.
    pub session_id: SessionId,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
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
