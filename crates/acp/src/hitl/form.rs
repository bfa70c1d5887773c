//! `elicitation/create`: a question to a person as a form.

use agent_client_protocol::{
    Error, UntypedMessage,
    v1::schema::{
        BooleanPropertySchema, CreateElicitationRequest, CreateElicitationResponse,
        ElicitationAction, ElicitationContentValue, ElicitationFormMode, ElicitationSchema,
        ElicitationSessionScope, StringPropertySchema,
    },
};
use harn_model::{HitlKind, HitlRequest, SessionId};
use serde_json::Value;

use super::{HitlClientAnswer, build_decision, build_text_answer};
use crate::methods::wire_id;

const METHOD: &str = "elicitation/create";

pub(super) fn message(session: &SessionId, request: &HitlRequest) -> Result<UntypedMessage, Error> {
    let scope = ElicitationSessionScope::new(wire_id(session));
    let mode = ElicitationFormMode::new(scope, fields(request));
    UntypedMessage::new(METHOD, CreateElicitationRequest::new(mode, request.text()))
}

fn fields(request: &HitlRequest) -> ElicitationSchema {
    let form = ElicitationSchema::new();
    let decision = |name: &str, title: &str| {
        let decision = BooleanPropertySchema::new().title(title.to_owned());
        let reason = StringPropertySchema::new().title("Reason".to_owned());
        let form = ElicitationSchema::new().property(name, decision, true);
        form.property("reason", reason, false)
    };
    match request.kind {
        HitlKind::Question => {
            let choices = &request.choices;
            let answer = StringPropertySchema::new()
                .title("Answer".to_owned())
                .default_value(request.default.clone())
                .enum_values((!choices.is_empty()).then(|| choices.clone()));
            form.property("answer", answer, true)
        }
        HitlKind::Approval | HitlKind::DualControl => decision("approved", "Approve"),
        HitlKind::Escalation => decision("accepted", "Take over"),
    }
}

pub(super) fn read(request: &HitlRequest, answer: Value) -> Option<HitlClientAnswer> {
    let answer: CreateElicitationResponse = serde_json::from_value(answer).ok()?;
    let accepted = match answer.action {
        ElicitationAction::Accept(accepted) => accepted,
        ElicitationAction::Decline => return Some(build_decision(request.kind, false, None)),
        ElicitationAction::Cancel => return Some(HitlClientAnswer::Declined),
        _ => return None,
    };
    let content = accepted.content?;
    let text = |name: &str| match content.get(name) {
        Some(ElicitationContentValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let decision = |name: &str| match content.get(name) {
        Some(ElicitationContentValue::Boolean(yes)) => {
            Some(build_decision(request.kind, *yes, text("reason")))
        }
        _ => None,
    };
    match request.kind {
        HitlKind::Question => text("answer").map(build_text_answer),
        HitlKind::Approval | HitlKind::DualControl => decision("approved"),
        HitlKind::Escalation => decision("accepted"),
    }
}
