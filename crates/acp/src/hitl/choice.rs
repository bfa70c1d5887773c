//! `session/request_permission` for questions and escalations: every client can show a few options. Only
//! ACP's own answers count; the contract's answers are for approvals.

use std::ops::RangeInclusive;

use agent_client_protocol::{
    Error, UntypedMessage,
    v1::schema::{
        PermissionOption, PermissionOptionKind, RequestPermissionRequest, ToolCallStatus,
        ToolCallUpdate, ToolCallUpdateFields, ToolKind,
    },
};
use harn_model::{HitlKind, HitlRequest, SessionId};
use serde_json::Value;

use super::{HitlClientAnswer, build_decision, build_text_answer};
use crate::{methods::wire_id, permission::METHOD};

/// The number of choices that a permission request can show.
pub(super) const FEW: RangeInclusive<usize> = 2..=8;

const YES: &str = "approve";
const NO: &str = "reject";

/// Builds the request. A tool call that never runs carries the question.
pub(super) fn message(session: &SessionId, request: &HitlRequest) -> Result<UntypedMessage, Error> {
    let shown = request.particulars().map(|text| vec![text.into()]);
    let fields = ToolCallUpdateFields::new()
        .title(request.headline())
        .kind(ToolKind::Think)
        .status(ToolCallStatus::Pending)
        .content(shown);
    let call = ToolCallUpdate::new(request.request_id.clone(), fields);
    let asked = RequestPermissionRequest::new(wire_id(session), call, options(request));
    UntypedMessage::new(METHOD, asked)
}

fn options(request: &HitlRequest) -> Vec<PermissionOption> {
    let option =
        |id: &str, name: &str, kind| PermissionOption::new(id.to_owned(), name.to_owned(), kind);
    let (yes, no) = match request.kind {
        HitlKind::Question => {
            let choices = request.choices.iter().enumerate();
            let choices = choices
                .map(|(i, choice)| option(&choice_id(i), choice, PermissionOptionKind::AllowOnce));
            let none = option(NO, "No answer", PermissionOptionKind::RejectOnce);
            return choices.chain([none]).collect();
        }
        HitlKind::Approval | HitlKind::DualControl => ("Approve", "Refuse"),
        HitlKind::Escalation => ("Take over", "Decline"),
    };
    vec![
        option(YES, yes, PermissionOptionKind::AllowOnce),
        option(NO, no, PermissionOptionKind::RejectOnce),
    ]
}

fn choice_id(index: usize) -> String {
    format!("choice_{index}")
}

/// Parses an answer; only an offered option is valid.
pub(super) fn read(request: &HitlRequest, answer: &Value) -> Option<HitlClientAnswer> {
    let outcome = &answer["outcome"];
    let chosen = match outcome["outcome"].as_str()? {
        "cancelled" => return Some(HitlClientAnswer::Declined),
        "selected" => outcome["optionId"].as_str()?,
        _ => return None,
    };
    match (request.kind, chosen) {
        (kind, NO) => Some(build_decision(kind, false, None)),
        (HitlKind::Question, chosen) => {
            let mut choices = request.choices.iter().enumerate();
            let choice = choices.find(|(i, _)| choice_id(*i) == chosen);
            choice.map(|(_, choice)| build_text_answer(choice.clone()))
        }
        (kind, YES) => Some(build_decision(kind, true, None)),
        _ => None,
    }
}
