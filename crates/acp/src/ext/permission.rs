//! Harn's additions to a permission request, and the answers that a host may send.
//!
//! The contract's own fields are beside ACP's in the profile `harn` and are repeated under `_meta.harn` in
//! every profile. Keys of the envelope are camelCase; the records in it keep snake_case.

use std::borrow::Cow;

use crate::JsonSchema;
use harn_model::{
    ApprovalEvidence, ApprovalRequest, GrantScope, LineageEntry, MutationSession, PermissionAsked,
    PermissionOption, PolicyDecision, format_rfc3339,
};
use serde::{Deserialize, Deserializer, Serialize, de::IgnoredAny};
use serde_json::{Map, Value};

use super::{
    event_id::EventId,
    lend::{RecordCow, wire_fields},
};

/// The data from which a host renders a permission request, and the reason for the request.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Approval")]
pub struct PermissionContext<'a> {
    /// The proposed action, its requester, and the deadline for a decision.
    pub approval_request: RecordCow<'a, ApprovalRequest>,
    /// The receipt of the policy that asks; absent if the agent asks without a policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_decision: Option<RecordCow<'a, PolicyDecision>>,
    /// The mutation session in which the call would act; null if the call changes nothing.
    pub mutation: Option<RecordCow<'a, MutationSession>>,
    /// The paths that the call declares, in readable form.
    pub declared_paths: Vec<Cow<'a, str>>,
}

impl<'a> PermissionContext<'a> {
    pub(crate) fn new(ask: &'a PermissionAsked, request: &'a ApprovalRequest) -> Self {
        let evidence = request.evidence_refs.iter();
        let paths = evidence.filter(|it| it.kind == ApprovalEvidence::WORKSPACE_PATH);
        let paths = paths.map(|it| (&it.reference).into());
        Self {
            approval_request: RecordCow::Borrowed(request),
            policy_decision: ask.policy_decision.as_ref().map(RecordCow::Borrowed),
            mutation: ask.tool_call.audit.as_deref().map(RecordCow::Borrowed),
            declared_paths: paths.collect(),
        }
    }
}

/// `_meta.harn` of the params of `session/request_permission`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PermissionMeta<'a> {
    #[allow(missing_docs, reason = "a doc would be a description in the schema")]
    #[serde(flatten)]
    pub approval: PermissionContext<'a>,
    /// The time when the request is settled without an answer, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<String>,
    /// The workers from the session down to the one that asks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(!default)]
    pub lineage: Vec<LineageStep<'a>>,
    /// The scope of each option.
    pub options: Vec<OptionScope<'a>>,
    /// The number of messages and reminders that were pending when the agent asked; absent if none. The agent
    /// reads them after the answer, unless one interrupts and so withdraws the request.
    #[serde(rename = "pendingCount", skip_serializing_if = "Option::is_none")]
    pub pending_count: Option<u64>,
    /// The name of the client that receives the request, if it has one; a broker may represent several.
    #[serde(rename = "clientId", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<Cow<'a, str>>,
    /// The position in the session's stream, for clients with event ids; absent if the request is sent again.
    #[serde(rename = "eventId", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub event_id: Option<EventId>,
}

impl<'a> PermissionMeta<'a> {
    pub(crate) fn new(
        ask: &'a PermissionAsked,
        approval: PermissionContext<'a>,
        client_id: Option<&'a str>,
        event_id: Option<EventId>,
    ) -> Self {
        Self {
            approval,
            deadline: ask.deadline.map(format_rfc3339),
            lineage: ask.lineage.iter().map(LineageStep::from).collect(),
            options: ask.options.iter().map(OptionScope::from).collect(),
            pending_count: (ask.pending > 0).then_some(ask.pending),
            client_id: client_id.map(Cow::from),
            event_id,
        }
    }
}

wire_fields! {
    /// A worker in the lineage.
    #[schemars(deny_unknown_fields)]
    pub LineageStep from LineageEntry {
        /// The id of the worker.
        worker_id: Cow<'a, str>,
        /// The name of the worker.
        worker_name: Cow<'a, str>,
        /// The session in which the worker runs.
        session_id: Cow<'a, str>,
    }

    /// The duration of an answer: ACP has one word for "this session" and "from now on".
    #[schemars(deny_unknown_fields)]
    pub OptionScope from PermissionOption {
        /// The id of the option.
        option_id: Cow<'a, str>,
        /// The duration of the answer.
        scope: GrantScope,
    }
}

/// A host's answer: ACP's `outcome`, the contract's `granted`, or both if they agree. A null member counts as
/// absent and so is no answer.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(
    rename = "PermissionResponse",
    deny_unknown_fields,
    extend("anyOf" = [{"required": ["outcome"]}, {"required": ["granted"]}]),
    extend("dependentRequired" = {"args": ["granted"]})
)]
pub(crate) struct PermissionResponse {
    /// ACP's form of the answer.
    #[serde(default, deserialize_with = "deserialize_present")]
    pub(crate) outcome: Option<PermissionOutcome>,
    /// The contract's form of the answer: whether the call may run.
    #[serde(default, deserialize_with = "deserialize_present")]
    pub(crate) granted: Option<bool>,
    /// With `granted: true`: arguments that replace the call's. The policy checks them again.
    #[serde(default, deserialize_with = "deserialize_present")]
    pub(crate) args: Option<Map<String, Value>>,
    /// With `granted: false`: the reason.
    #[serde(default)]
    pub(crate) reason: Option<String>,
    /// Additional data of the host.
    #[serde(rename = "_meta", default)]
    pub(crate) meta: Option<PermissionResponseMeta>,
}

/// ACP's form of the answer.
#[derive(Deserialize, JsonSchema)]
#[serde(
    tag = "outcome",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[schemars(rename = "PermissionOutcome", deny_unknown_fields)]
pub(crate) enum PermissionOutcome {
    /// The person chose an option.
    Selected {
        /// The id of the option. If it is absent, `allow_once`, in the profile `harn` only.
        #[serde(default, deserialize_with = "deserialize_present")]
        option_id: Option<String>,
        /// Additional data of the client.
        #[serde(rename = "_meta", default)]
        #[schemars(with = "Option<Map<String, Value>>")]
        _meta: Option<IgnoredAny>,
    },
    /// The turn is cancelled.
    Cancelled {
        /// Rejected if present.
        #[serde(default, deserialize_with = "deserialize_present")]
        #[schemars(skip)]
        option_id: Option<String>,
    },
}

/// `_meta` of an answer.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "PermissionResponseMeta", extend("additionalProperties" = true))]
pub(crate) struct PermissionResponseMeta {
    /// Harn's own member.
    #[serde(default)]
    harn: Option<PermissionResponseHarn>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PermissionResponseHarn", extend("additionalProperties" = true))]
struct PermissionResponseHarn {
    /// The decision as the host recorded it.
    #[serde(default, deserialize_with = "deserialize_present")]
    permission_decision: Option<HostDecision>,
}

/// A decision as a host recorded it. Only its outcome is read; it must match the answer.
#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
pub(crate) struct HostDecision {
    /// The decision about the call.
    pub(crate) outcome: HostOutcome,
}

/// The decision, in the words of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HostOutcome {
    /// The call may run.
    #[serde(alias = "allowed", alias = "granted")]
    Approved,
    /// The call may not run.
    #[serde(alias = "denied")]
    Rejected,
    /// The turn is cancelled.
    #[serde(alias = "canceled")]
    Cancelled,
}

impl PermissionResponse {
    /// Returns the outcome that the host recorded, if any.
    pub(crate) fn recorded_outcome(&self) -> Option<HostOutcome> {
        let harn = self.meta.as_ref()?.harn.as_ref()?;
        Some(harn.permission_decision.as_ref()?.outcome)
    }
}

/// Deserializes a member that must not be null: null is not absence where absence has a meaning.
fn deserialize_present<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    T::deserialize(from).map(Some)
}
