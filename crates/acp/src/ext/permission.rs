//! What Harn adds to a permission request, and what a host may answer.
//!
//! The contract's own fields stand beside ACP's in the profile `harn` and are repeated under `_meta.harn` in
//! every profile. Keys of the envelope are camelCase; the records in it are snake_case inside.

use std::borrow::Cow;

use crate::JsonSchema;
use harn_model::{
    ApprovalEvidence, ApprovalRequest, GrantScope, LineageEntry, MutationSession, PermissionAsked,
    PermissionOption, PolicyDecision, rfc3339,
};
use serde::{Deserialize, Deserializer, Serialize, de::IgnoredAny};
use serde_json::{Map, Value};

use super::{
    event_id::EventId,
    lend::{RecordCow, wire_fields},
};

/// What a host renders a question from, and why it is asked.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Approval")]
pub struct PermissionContext<'a> {
    /// What would be done, by whom, and until when somebody may decide.
    pub approval_request: RecordCow<'a, ApprovalRequest>,
    /// The receipt of the policy that asks; absent where an agent asks of its own accord.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_decision: Option<RecordCow<'a, PolicyDecision>>,
    /// Under which right the call would act; null where it changes nothing.
    pub mutation: Option<RecordCow<'a, MutationSession>>,
    /// The paths the call declares, as a person reads them.
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
    /// When it is settled without an answer, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<String>,
    /// The workers from the session down to the one that asks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(!default)]
    pub lineage: Vec<LineageStep<'a>>,
    /// How long each of the options holds.
    pub options: Vec<OptionScope<'a>>,
    /// How many messages and reminders waited for the agent when it was asked; absent where none did. The
    /// agent reads them after the answer, unless one interrupts: the question is taken back then.
    #[serde(rename = "pendingCount", skip_serializing_if = "Option::is_none")]
    pub pending_count: Option<u64>,
    /// The client it is put to, where that has a name of its own: a broker may have several.
    #[serde(rename = "clientId", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<Cow<'a, str>>,
    /// Its place in the session's stream, for clients that have event ids; absent where it is put again.
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
            deadline: ask.deadline.map(rfc3339),
            lineage: ask.lineage.iter().map(LineageStep::from).collect(),
            options: ask.options.iter().map(OptionScope::from).collect(),
            pending_count: (ask.pending > 0).then_some(ask.pending),
            client_id: client_id.map(Cow::from),
            event_id,
        }
    }
}

wire_fields! {
    /// A worker on the way.
    #[schemars(deny_unknown_fields)]
    pub LineageStep from LineageEntry {
        /// The worker.
        worker_id: Cow<'a, str>,
        /// Its name.
        worker_name: Cow<'a, str>,
        /// The session it works in.
        session_id: Cow<'a, str>,
    }

    /// How long an answer holds: ACP has one word for "this session" and "from now on".
    #[schemars(deny_unknown_fields)]
    pub OptionScope from PermissionOption {
        /// The option.
        option_id: Cow<'a, str>,
        /// How long it holds.
        scope: GrantScope,
    }
}

/// What a host may answer: ACP's `outcome`, the contract's `granted`, or both if they agree. A member that is
/// null is no member, and so no answer.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(
    rename = "PermissionResponse",
    deny_unknown_fields,
    extend("anyOf" = [{"required": ["outcome"]}, {"required": ["granted"]}]),
    extend("dependentRequired" = {"args": ["granted"]})
)]
pub(crate) struct PermissionResponse {
    /// ACP's answer.
    #[serde(default, deserialize_with = "given")]
    pub(crate) outcome: Option<PermissionOutcome>,
    /// The contract's: whether the call may run.
    #[serde(default, deserialize_with = "given")]
    pub(crate) granted: Option<bool>,
    /// With `granted: true`: arguments that take the place of the call's. The policy judges them again.
    #[serde(default, deserialize_with = "given")]
    pub(crate) args: Option<Map<String, Value>>,
    /// With `granted: false`: why.
    #[serde(default)]
    pub(crate) reason: Option<String>,
    /// What else the host says of it.
    #[serde(rename = "_meta", default)]
    pub(crate) meta: Option<PermissionResponseMeta>,
}

/// ACP's answer.
#[derive(Deserialize, JsonSchema)]
#[serde(
    tag = "outcome",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[schemars(rename = "PermissionOutcome", deny_unknown_fields)]
pub(crate) enum PermissionOutcome {
    /// An option was chosen.
    Selected {
        /// Which. Without one it is `allow_once`, in the profile `harn` only.
        #[serde(default, deserialize_with = "given")]
        option_id: Option<String>,
        /// What else the client says of it.
        #[serde(rename = "_meta", default)]
        #[schemars(with = "Option<Map<String, Value>>")]
        _meta: Option<IgnoredAny>,
    },
    /// The turn is cancelled.
    Cancelled {
        /// None.
        #[serde(default, deserialize_with = "given")]
        #[schemars(skip)]
        option_id: Option<String>,
    },
}

/// `_meta` of an answer.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "PermissionResponseMeta", extend("additionalProperties" = true))]
pub(crate) struct PermissionResponseMeta {
    /// Ours.
    #[serde(default)]
    harn: Option<PermissionResponseHarn>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PermissionResponseHarn", extend("additionalProperties" = true))]
struct PermissionResponseHarn {
    /// The decision as the host recorded it.
    #[serde(default, deserialize_with = "given")]
    permission_decision: Option<HostDecision>,
}

/// A decision as a host recorded it. Only its outcome is read; it has to be what was answered.
#[derive(Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
pub(crate) struct HostDecision {
    /// What was decided.
    pub(crate) outcome: HostOutcome,
}

/// What was decided, in the words of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HostOutcome {
    /// The call may run.
    #[serde(alias = "allowed", alias = "granted")]
    Approved,
    /// It may not.
    #[serde(alias = "denied")]
    Rejected,
    /// The turn is cancelled.
    #[serde(alias = "canceled")]
    Cancelled,
}

impl PermissionResponse {
    /// The decision as the host recorded it, where it says.
    pub(crate) fn recorded(&self) -> Option<HostOutcome> {
        let harn = self.meta.as_ref()?.harn.as_ref()?;
        Some(harn.permission_decision.as_ref()?.outcome)
    }
}

/// A member that is there has a value: null does not stand for absence where absence means something.
fn given<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    T::deserialize(from).map(Some)
}
