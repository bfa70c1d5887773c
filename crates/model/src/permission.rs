//! Questions about a tool call, what became of them, and the record of every decision.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AskId, Grant, GrantScope, LiveClient, PolicyDecision, SessionId, Timestamp, ToolCall,
    ToolCallId, ToolKind, WorkerId, WorkspacePathInfo, event::value_weight,
};

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
    pub lineage: Vec<LineageEntry>,
    /// Why somebody is asked: the policy's receipt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_decision: Option<PolicyDecision>,
    /// What of the call was judged, as a person reads it.
    #[serde(default, skip_serializing_if = "JudgedAct::is_empty")]
    pub judged: JudgedAct,
    /// What an answer that is to be remembered would say; absent where none can be narrow enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<Grant>,
    /// When it was asked.
    #[serde(default)]
    pub requested_at: Timestamp,
    /// When it is settled without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// How many messages and reminders waited for the agent when it was asked; filled by the runtime.
    #[serde(default, skip_serializing_if = "crate::event::is_zero")]
    pub pending: u64,
}

impl PermissionAsked {
    /// A question of a session's own that no policy had asked for.
    pub fn new(ask_id: AskId, tool_call: ToolCall, options: Vec<PermissionOption>) -> Self {
        Self {
            ask_id,
            tool_call,
            options,
            lineage: Vec::new(),
            policy_decision: None,
            judged: JudgedAct::default(),
            grant: None,
            requested_at: 0,
            deadline: None,
            pending: 0,
        }
    }

    /// The paths the call declares.
    #[must_use]
    pub fn paths(&self) -> &[WorkspacePathInfo] {
        let receipt = self.policy_decision.as_ref();
        receipt.map_or(&[], |receipt| &receipt.context.paths)
    }

    /// The command that the call would run, as a person reads it.
    #[must_use]
    pub fn command(&self) -> Option<&str> {
        let call = &self.tool_call;
        let judged = self.judged.line.as_deref();
        judged.or_else(|| match call.kind {
            Some(ToolKind::Execute) => call.raw_input.get("command")?.as_str(),
            _ => None,
        })
    }

    /// The paths that the call declares, as a person reads them.
    #[must_use]
    pub fn shown_paths(&self) -> Vec<&str> {
        match &self.judged.paths[..] {
            [] => self
                .paths()
                .iter()
                .map(WorkspacePathInfo::display)
                .collect(),
            judged => judged.iter().map(String::as_str).collect(),
        }
    }

    /// About how many bytes this keeps alive.
    #[must_use]
    pub fn weight(&self) -> usize {
        const RECEIPT: usize = 512;
        let line = self.judged.line.as_ref().map_or(0, String::len);
        self.tool_call.weight() + line + RECEIPT
    }
}

/// The command and the paths of a call as they were judged, for a person to read: words of a command are
/// quoted, and control characters and characters that reorder text are spelt out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedAct {
    /// The command line; absent where the call runs no command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The paths, by where they lead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

impl JudgedAct {
    /// Whether there is neither a command nor a path.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.line.is_none() && self.paths.is_empty()
    }
}

/// A worker on the way from a session to who asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineageEntry {
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
    /// How long the answer holds.
    #[serde(default, skip_serializing_if = "is_once")]
    pub scope: GrantScope,
}

fn is_once(scope: &GrantScope) -> bool {
    *scope == GrantScope::Once
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PermissionResolved {
    /// Which question.
    pub ask_id: AskId,
    /// How it ended.
    #[serde(flatten)]
    pub decision: Decision,
    /// What is remembered of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered: Option<RememberedGrant>,
}

/// What is remembered of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RememberedGrant {
    /// For how long.
    pub scope: GrantScope,
    /// What.
    pub grant: Grant,
}

/// How a question ended. Only `Allowed` lets the call run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// Somebody chose an option that allows.
    Allowed {
        /// Which.
        option_id: String,
        /// Arguments they put in the place of the agent's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        args: Option<Value>,
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

/// The record of a decision about a call: that it may run, that it may not, or that somebody was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PermissionRecord {
    /// Which call.
    pub tool_call_id: ToolCallId,
    /// The tool.
    pub tool_name: String,
    /// Its arguments, as they were decided about.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub arguments: Value,
    /// Why.
    pub reason: String,
    /// Whether somebody was asked.
    #[serde(default)]
    pub escalated: bool,
    /// The policy's receipt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_decision: Option<PolicyDecision>,
}

impl PermissionRecord {
    /// About how many bytes this keeps alive.
    #[must_use]
    pub fn weight(&self) -> usize {
        const RECEIPT: usize = 512;
        value_weight(&self.arguments) + self.reason.len() + RECEIPT
    }
}

/// A question was put to whoever controls the session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PermissionRoute {
    /// Which question: the id of the call, or of what a person is asked.
    pub request_id: String,
    /// The question itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_id: Option<AskId>,
    /// To whom.
    pub client: LiveClient,
    /// What the host says of it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub metadata: Value,
}
