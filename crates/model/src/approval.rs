//! `ApprovalRequest`: the one record that hosts render for a tool call or an agent's question that needs an
//! approval. The field names are the contract's.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{MutationSession, PermissionAsked, PolicyDecision, SessionId, WorkspacePathInfo, time};

/// An action that a person is asked to approve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ApprovalRequest {
    /// The id of the tool call or of the question.
    pub id: String,
    /// The name of the tool or of the action.
    pub action: String,
    /// The arguments of the action.
    #[serde(default)]
    pub args: Value,
    /// The worker that wants the action, else the session.
    pub principal: String,
    /// When the approval was requested, RFC 3339.
    pub requested_at: String,
    /// When the request expires, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<String>,
    /// How many people have to approve.
    pub approvers_required: u64,
    /// References to read before deciding.
    #[serde(default)]
    pub evidence_refs: Vec<ApprovalEvidence>,
    /// The mutation record of the action, and the receipt of the policy that asks.
    #[serde(default)]
    #[schemars(with = "Option<UndoShape>")]
    pub undo_metadata: Option<UndoMetadata>,
    /// The capabilities that the action needs, as `capability.operation`.
    #[serde(default)]
    pub capabilities_requested: Vec<String>,
}

/// A reference to read before deciding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ApprovalEvidence {
    /// `workspace_path`, or a kind that the agent names.
    pub kind: String,
    /// The path or the address.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Details about the reference.
    #[serde(default)]
    pub metadata: Value,
}

/// The mutation record, with the receipt next to its fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UndoMetadata {
    /// The mutation record of the action.
    #[serde(flatten)]
    pub mutation: Option<MutationSession>,
    /// The receipt of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_decision: Option<PolicyDecision>,
}

// The schema of `UndoMetadata`: its own would make every field of the mutation record optional.
/// The mutation record, with the receipt next to its fields.
#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "UndoMetadata")]
#[allow(dead_code, reason = "only its schema is of use")]
enum UndoShape {
    /// With a mutation record.
    Mutation(MutationUndo),
    /// For a call that changes nothing.
    Receipt(ReceiptUndo),
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is of use")]
struct MutationUndo {
    /// The mutation record of the action.
    #[serde(flatten)]
    mutation: MutationSession,
    /// The receipt of the policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy_decision: Option<PolicyDecision>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is of use")]
struct ReceiptUndo {
    /// The receipt of the policy.
    policy_decision: PolicyDecision,
}

impl ApprovalRequest {
    /// Builds the request for a tool call that waits in `session`.
    pub fn from_permission_asked(session: &SessionId, ask: &PermissionAsked) -> Self {
        let call = &ask.tool_call;
        let mutation = call.audit.as_deref();
        let receipt = ask.policy_decision.as_ref();
        let worker = mutation.and_then(|m| m.worker_id.as_ref().map(|id| id.as_str()));
        let acting = mutation.map(|m| m.session_id.as_str());
        // The first that has a name: the worker, the session it acts for, the session that asks.
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
            requested_at: time::format_rfc3339(ask.requested_at),
            deadline: ask.deadline.map(time::format_rfc3339),
            approvers_required: 1,
            evidence_refs: ask
                .paths()
                .iter()
                .map(ApprovalEvidence::from_path)
                .collect(),
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

    fn from_path(path: &WorkspacePathInfo) -> Self {
        Self {
            kind: Self::WORKSPACE_PATH.to_owned(),
            reference: path.display().to_owned(),
            metadata: serde_json::to_value(path).unwrap_or_default(),
        }
    }
}
