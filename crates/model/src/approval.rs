//! `ApprovalRequest`: the one record that hosts render, whether a tool waits or an agent asks a person. The
//! names are the contract's.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{MutationSession, PermissionAsked, PolicyDecision, SessionId, WorkspacePathInfo, time};

/// What somebody is asked to approve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ApprovalRequest {
    /// The tool call's id, or that of the question.
    pub id: String,
    /// What would be done: a tool's name, or an action's.
    pub action: String,
    /// With what.
    #[serde(default)]
    pub args: Value,
    /// Who wants it: a worker, else a session.
    pub principal: String,
    /// Since when, RFC 3339.
    pub requested_at: String,
    /// Until when, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<String>,
    /// How many have to agree.
    pub approvers_required: u64,
    /// What to look at before deciding.
    #[serde(default)]
    pub evidence_refs: Vec<ApprovalEvidence>,
    /// Under which right it would act, and the receipt of the policy that asks.
    #[serde(default)]
    #[schemars(with = "Option<UndoShape>")]
    pub undo_metadata: Option<UndoMetadata>,
    /// What it needs, as `capability.operation`.
    #[serde(default)]
    pub capabilities_requested: Vec<String>,
}

/// Something to look at before deciding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ApprovalEvidence {
    /// `workspace_path`, or what an agent names.
    pub kind: String,
    /// Where it is.
    #[serde(rename = "ref")]
    pub reference: String,
    /// What is known of it.
    #[serde(default)]
    pub metadata: Value,
}

/// The mutation record, with the receipt beside its fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UndoMetadata {
    /// Under which right it would act.
    #[serde(flatten)]
    pub mutation: Option<MutationSession>,
    /// What the policy decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_decision: Option<PolicyDecision>,
}

// The schema of `UndoMetadata`: its own would make every field of the mutation record one that may be missing.
/// The mutation record, with the receipt beside its fields.
#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "UndoMetadata")]
#[allow(dead_code, reason = "only its schema is of use")]
enum UndoShape {
    /// With the right it would act under.
    Mutation(MutationUndo),
    /// Of a call that changes nothing.
    Receipt(ReceiptUndo),
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is of use")]
struct MutationUndo {
    /// Under which right it would act.
    #[serde(flatten)]
    mutation: MutationSession,
    /// What the policy decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy_decision: Option<PolicyDecision>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is of use")]
struct ReceiptUndo {
    /// What the policy decided.
    policy_decision: PolicyDecision,
}

impl ApprovalRequest {
    /// The request for a tool call that waits in `session`.
    #[must_use]
    pub fn of_tool(session: &SessionId, ask: &PermissionAsked) -> Self {
        let call = &ask.tool_call;
        let mutation = call.audit.as_deref();
        let receipt = ask.policy_decision.as_ref();
        let worker = mutation.and_then(|m| m.worker_id.as_ref().map(|id| id.as_str()));
        let acting = mutation.map(|m| m.session_id.as_str());
        // The first that has a name: the worker, the session it acts for, the one that is asked in.
        let mut named = [worker, acting].into_iter().flatten();
        let principal = named.find(|name| !name.is_empty());
        let capabilities = receipt.map(|receipt| receipt.context.capabilities.clone());
        let undo = UndoMetadata {
            mutation: mutation.map(MutationSession::without_policy),
            policy_decision: receipt.cloned(),
        };
        Self {
            id: call.tool_call_id.to_string(),
            action: call.tool_name.clone(),
            args: call.raw_input.clone(),
            principal: principal.unwrap_or(session.as_str()).to_owned(),
            requested_at: time::rfc3339(ask.requested_at),
            deadline: ask.deadline.map(time::rfc3339),
            approvers_required: 1,
            evidence_refs: ask.paths().iter().map(ApprovalEvidence::path).collect(),
            undo_metadata: (mutation.is_some() || receipt.is_some()).then_some(undo),
            capabilities_requested: capabilities
                .filter(|all| !all.is_empty())
                .unwrap_or_else(|| vec![format!("tool.{}", call.tool_name)]),
        }
    }
}

impl ApprovalEvidence {
    /// The kind of a path in the session's directories.
    pub const WORKSPACE_PATH: &'static str = "workspace_path";

    fn path(path: &WorkspacePathInfo) -> Self {
        Self {
            kind: Self::WORKSPACE_PATH.to_owned(),
            reference: path.display().to_owned(),
            metadata: serde_json::to_value(path).unwrap_or_default(),
        }
    }
}
