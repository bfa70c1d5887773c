//! `session/request_permission` for approvals: the same request as for a tool call, and the contract's
//! answers to it, except that an answer cannot replace arguments.

use agent_client_protocol::{Error, UntypedMessage};
use harn_model::{
    ApprovalRequest, GrantScope, HitlRequest, PermissionAsked, PermissionOption,
    PermissionOptionKind, SessionId, ToolCall, ToolContent, ToolKind,
};
use serde_json::Value;

use super::{HitlClientAnswer, build_decision};
use crate::{
    Profile,
    permission::{self, HostVerdict, NOT_OFFERED, QuestionAddressee},
};

/// Builds the request, with the action as the tool.
pub(super) fn message(
    session: &SessionId,
    request: &HitlRequest,
    approval: &ApprovalRequest,
    profile: Profile,
    client: Option<&str>,
) -> Result<UntypedMessage, Error> {
    let call = ToolCall {
        title: Some(request.headline()),
        kind: Some(ToolKind::Think),
        raw_input: approval.args.clone(),
        content: request
            .particulars()
            .map(ToolContent::text)
            .into_iter()
            .collect(),
        audit: request.mutation.clone(),
        ..ToolCall::new(request.request_id.as_str(), &*request.subject)
    };
    let ask = PermissionAsked {
        lineage: request.lineage.clone(),
        requested_at: request.requested_at,
        deadline: Some(request.deadline),
        ..PermissionAsked::new(request.request_id.as_str().into(), call, options())
    };
    let to = QuestionAddressee {
        client,
        place: None,
    };
    permission::approval_message(session, &ask, approval, profile, to)
}

fn options() -> Vec<PermissionOption> {
    let option = |id: &str, name: &str, kind| PermissionOption {
        option_id: id.to_owned(),
        name: name.to_owned(),
        kind,
        scope: GrantScope::Once,
    };
    vec![
        option("approve", "Approve", PermissionOptionKind::AllowOnce),
        option("reject", "Refuse", PermissionOptionKind::RejectOnce),
    ]
}

/// Parses an answer. The person approves the action that the request shows, so an answer with other arguments
/// decides nothing.
pub(super) fn read(request: &HitlRequest, profile: Profile, answer: Value) -> HitlClientAnswer {
    if answer.get("args").is_some() {
        let why = "the client's answer has `args`; the answer to an approval must not have any";
        return HitlClientAnswer::Nothing(why.to_owned());
    }
    match permission::verdict(&options(), profile, answer) {
        Ok(HostVerdict::Allowed { .. }) => build_decision(request.kind, true, None),
        Ok(HostVerdict::Rejected { reason, .. }) => build_decision(request.kind, false, reason),
        Ok(HostVerdict::NotOffered) => HitlClientAnswer::Nothing(NOT_OFFERED.to_owned()),
        Ok(HostVerdict::Cancelled) => HitlClientAnswer::Declined,
        Err(why) => HitlClientAnswer::Nothing(why.to_owned()),
    }
}
