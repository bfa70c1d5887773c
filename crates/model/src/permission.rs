//! Permission questions about tool calls, their results, and the record of every decision.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AskId, Grant, GrantScope, LiveClient, PolicyDecision, SessionId, Timestamp, ToolCall,
    ToolCallId, ToolKind, WorkerId, WorkspacePathInfo, event::value_weight,
};

/// A permission question: a tool call waits for a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PermissionAsked {
    /// The question's id.
    pub ask_id: AskId,
    /// The whole call, so that the person who decides sees all of it.
    pub tool_call: ToolCall,
    /// The possible answers.
    pub options: Vec<PermissionOption>,
    /// The chain of workers, from the one directly below the session to the one that asks; empty for a call of the
    /// session itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lineage: Vec<LineageEntry>,
    /// The receipt of the policy that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_decision: Option<PolicyDecision>,
    /// The command and paths that the policy judged, as a person reads them.
    #[serde(default, skip_serializing_if = "JudgedAct::is_empty")]
    pub judged: JudgedAct,
    /// The grant that a remembered answer would create; absent if no grant would be narrow enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<Grant>,
    /// When it was asked.
    #[serde(default)]
    pub requested_at: Timestamp,
    /// When it ends without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// How many messages and reminders waited for the agent at that time; the runtime fills it.
    #[serde(default, skip_serializing_if = "crate::event::is_zero")]
    pub pending: u64,
}

impl PermissionAsked {
    /// Builds a question of the session itself, without a policy's receipt.
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

    /// Returns the paths that the call declares.
    pub fn paths(&self) -> &[WorkspacePathInfo] {
        let receipt = self.policy_decision.as_ref();
        receipt.map_or(&[], |receipt| &receipt.context.paths)
    }

    /// Returns the command that the call would run, as a person reads it.
    pub fn command(&self) -> Option<&str> {
        let call = &self.tool_call;
        let judged = self.judged.line.as_deref();
        judged.or_else(|| match call.kind {
            Some(ToolKind::Execute) => call.raw_input.get("command")?.as_str(),
            _ => None,
        })
    }

    /// Returns the paths that the call declares, as a person reads them.
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

    /// Returns the approximate number of bytes that this keeps in memory.
    pub fn weight(&self) -> usize {
        const RECEIPT: usize = 512;
        let line = self.judged.line.as_ref().map_or(0, String::len);
        self.tool_call.weight() + line + RECEIPT
    }
}

/// The command and the paths of a call as they were judged, for a person to read: words of a command are quoted;
/// control characters and characters that reorder text are escaped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedAct {
    /// The command line; absent if the call runs no command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The paths after resolution.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

impl JudgedAct {
    /// Whether there is neither a command nor a path.
    pub fn is_empty(&self) -> bool {
        self.line.is_none() && self.paths.is_empty()
    }
}

/// A worker in the chain from a session to the worker that asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineageEntry {
    /// The id of the worker.
    pub worker_id: WorkerId,
    /// Its name.
    pub worker_name: String,
    /// The session it works in.
    pub session_id: SessionId,
}

/// A possible answer to a permission question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionOption {
    /// Its id.
    pub option_id: String,
    /// Its label, which names its scope.
    pub name: String,
    /// The effect of choosing it.
    pub kind: PermissionOptionKind,
    /// How long the answer applies.
    #[serde(default, skip_serializing_if = "is_once")]
    pub scope: GrantScope,
}

fn is_once(scope: &GrantScope) -> bool {
    *scope == GrantScope::Once
}

/// The effect of choosing an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionOptionKind {
    /// Allows this call.
    AllowOnce,
    /// Allows such calls from now on.
    AllowAlways,
    /// Rejects this call.
    RejectOnce,
    /// Rejects such calls from now on.
    RejectAlways,
}

impl PermissionOptionKind {
    /// Whether choosing it lets the call run.
    pub fn allows(self) -> bool {
        match self {
            Self::AllowOnce | Self::AllowAlways => true,
            Self::RejectOnce | Self::RejectAlways => false,
        }
    }
}

/// The end of a permission question. Exactly one of these follows each [`PermissionAsked`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PermissionResolved {
    /// The id of the question.
    pub ask_id: AskId,
    /// The decision.
    #[serde(flatten)]
    pub decision: Decision,
    /// The grant that is remembered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered: Option<RememberedGrant>,
}

/// A grant with the time that it is remembered for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RememberedGrant {
    /// How long it is remembered.
    pub scope: GrantScope,
    /// The grant.
    pub grant: Grant,
}

/// The decision about a question. Only `Allowed` lets the call run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// A person chose an option that allows.
    Allowed {
        /// The id of the option.
        option_id: String,
        /// Arguments that replace the agent's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        args: Option<Value>,
    },
    /// A person chose an option that rejects, or a rule rejected.
    Rejected {
        /// The id of the option, if one was chosen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        option_id: Option<String>,
        /// The reason, if one was given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The turn was cancelled first.
    Cancelled,
    /// No client could be asked, or the answer was invalid.
    Unavailable {
        /// The cause.
        reason: String,
    },
}

impl Decision {
    /// Whether the call may run.
    pub fn allows(&self) -> bool {
        match self {
            Self::Allowed { .. } => true,
            Self::Rejected { .. } | Self::Cancelled | Self::Unavailable { .. } => false,
        }
    }
}

/// The record of a decision about a call: it may run, it may not, or a person was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PermissionRecord {
    /// The id of the call.
    pub tool_call_id: ToolCallId,
    /// The name of the tool.
    pub tool_name: String,
    /// Its arguments at the time of the decision.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub arguments: Value,
    /// The reason.
    pub reason: String,
    /// Whether a person was asked.
    #[serde(default)]
    pub escalated: bool,
    /// The policy's receipt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_decision: Option<PolicyDecision>,
}

impl PermissionRecord {
    /// Returns the approximate number of bytes that this keeps in memory.
    pub fn weight(&self) -> usize {
        const RECEIPT: usize = 512;
        value_weight(&self.arguments) + self.reason.len() + RECEIPT
    }
}

/// A question was sent to the controller of the session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PermissionRoute {
    /// The id of the call, or of the question to a person.
    pub request_id: String,
    /// The id of the permission question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_id: Option<AskId>,
    /// The client that received it.
    pub client: LiveClient,
    /// The host's metadata.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub metadata: Value,
}
