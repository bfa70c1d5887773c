//! Questions to a person, as a client receives them: over the bridge, as a form, as a choice, or not at all.
//! Defines the route to each client and the meaning of its answer; the pump decides which client is asked,
//! and when.

mod approval;
mod choice;
mod form;
#[cfg(test)]
mod tests;

use agent_client_protocol::{Error, UntypedMessage};
use harn_model::{HitlKind, HitlRequest, HitlResponse, LiveClient, PermissionRoute, SessionId};
use serde_json::Value;

use crate::{
    Profile,
    connection::InitializeFacts,
    permission::{NOT_UNDERSTOOD, describe_request_error},
};

/// The way in which a client is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HitlRoute {
    /// With `harn.hitl.requested`; the client answers at any time.
    Bridge,
    /// With an `elicitation/create` form.
    Form,
    /// With a permission request that offers the answers.
    Choice,
    /// Not at all, for this reason.
    Nobody(String),
}

/// A client's answer to a question.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum HitlClientAnswer {
    Answer(Box<HitlResponse>),
    /// The client declined to answer.
    Declined,
    /// No valid answer, for this reason.
    Nothing(String),
}

/// Returns whether a client is a host that asks people itself and names the person who answered. The answers
/// of any other client count as those of its principal.
pub(crate) fn names_people(client: InitializeFacts) -> bool {
    let extended = match client.dialect.profile {
        Profile::Harn | Profile::Meta => true,
        Profile::Acp => false,
    };
    extended && client.offers.tools
}

/// Returns the best way to ask this client, whose answers count as those of `principal`.
pub(crate) fn route(request: &HitlRequest, client: InitializeFacts, principal: &str) -> HitlRoute {
    if names_people(client) {
        return HitlRoute::Bridge;
    }
    // The client's answer names no person, and a client chooses its own name, so the principal is the
    // reviewer.
    if !request.may_decide(principal) {
        let reviewers = request.reviewers.join(", ");
        return HitlRoute::Nobody(format!(
            "only {reviewers} may decide, and this client's principal is not one of them"
        ));
    }
    // The contract's dialect, even if several people must agree: a yes counts once, and the approval stays
    // open for the others.
    if client.dialect.profile == Profile::Harn && request.approval.is_some() {
        return HitlRoute::Choice;
    }
    // One client could agree only once, and the request would wait for the others in vain.
    if request.quorum > 1 {
        return HitlRoute::Nobody(
            "several people must agree, and this client is only one".to_owned(),
        );
    }
    if !client.dialect.hitl_calls.contains(request.kind) {
        return HitlRoute::Form;
    }
    match request.kind {
        HitlKind::Question if choice::FEW.contains(&request.choices.len()) => HitlRoute::Choice,
        HitlKind::Question => {
            HitlRoute::Nobody("this client cannot ask a person a question".to_owned())
        }
        HitlKind::Approval | HitlKind::Escalation | HitlKind::DualControl => HitlRoute::Choice,
    }
}

/// Returns the request to send on this route, if there is one. `client` is the client's own name, if it has
/// one.
pub(crate) fn message(
    route: &HitlRoute,
    session: &SessionId,
    request: &HitlRequest,
    profile: Profile,
    client: Option<&str>,
) -> Option<Result<UntypedMessage, Error>> {
    match route {
        HitlRoute::Form => Some(form::message(session, request)),
        HitlRoute::Choice => Some(match &request.approval {
            Some(record) => approval::message(session, request, record, profile, client),
            None => choice::message(session, request),
        }),
        HitlRoute::Bridge | HitlRoute::Nobody(_) => None,
    }
}

/// Interprets the answer to that request. The client's principal is the reviewer.
pub(crate) fn interpret_answer(
    route: &HitlRoute,
    request: &HitlRequest,
    profile: Profile,
    reviewer: &str,
    answer: Result<Value, Error>,
) -> HitlClientAnswer {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return HitlClientAnswer::Nothing(describe_request_error(&error)),
    };
    let read = match route {
        HitlRoute::Form => form::read(request, answer),
        HitlRoute::Choice if request.approval.is_some() => {
            Some(approval::read(request, profile, answer))
        }
        HitlRoute::Choice => choice::read(request, &answer),
        HitlRoute::Bridge | HitlRoute::Nobody(_) => None,
    };
    match read {
        Some(HitlClientAnswer::Answer(mut response)) => {
            response.request_id.clone_from(&request.request_id);
            response.reviewer = Some(reviewer.to_owned());
            HitlClientAnswer::Answer(response)
        }
        Some(given) => given,
        None => HitlClientAnswer::Nothing(NOT_UNDERSTOOD.to_owned()),
    }
}

/// Builds a yes or a no to a question of this kind.
fn build_decision(kind: HitlKind, yes: bool, reason: Option<String>) -> HitlClientAnswer {
    let (approved, accepted) = match kind {
        // A person who does not want to answer has not answered.
        HitlKind::Question => return HitlClientAnswer::Declined,
        HitlKind::Approval | HitlKind::DualControl => (Some(yes), None),
        HitlKind::Escalation => (None, Some(yes)),
    };
    HitlClientAnswer::Answer(Box::new(HitlResponse {
        approved,
        accepted,
        reason: reason.filter(|reason| !reason.trim().is_empty()),
        ..HitlResponse::default()
    }))
}

fn build_text_answer(answer: String) -> HitlClientAnswer {
    HitlClientAnswer::Answer(Box::new(HitlResponse {
        answer: Some(Value::String(answer)),
        ..HitlResponse::default()
    }))
}

/// Returns the record that this client was asked.
pub(crate) fn permission_route(request: &HitlRequest, client: LiveClient) -> PermissionRoute {
    PermissionRoute {
        request_id: request.request_id.clone(),
        ask_id: None,
        client,
        metadata: Value::Null,
    }
}
