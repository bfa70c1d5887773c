//! What a person is asked, at a client: by the bridge, a form, a choice or not at all. Says how each client
//! is asked and what its answer means; who is asked when is the pump's affair.

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
    connection::Facts,
    permission::{NOT_UNDERSTOOD, not_asked},
};

/// How a client is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// With `harn.hitl.requested`; it answers when it wants.
    Bridge,
    /// With a form.
    Form,
    /// With a choice of answers.
    Choice,
    /// Not at all, because of this.
    Nobody(String),
}

/// What a client answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Given {
    /// This.
    Answer(Box<HitlResponse>),
    /// That it does not want to.
    Declined,
    /// Nothing that can be understood.
    Nothing(String),
}

/// Whether a client is a host that asks people by itself, and says which of them answered. The answers of any other
/// client are those of its principal.
pub(crate) fn names_people(client: Facts) -> bool {
    let extended = match client.dialect.profile {
        Profile::Harn | Profile::Meta => true,
        Profile::Acp => false,
    };
    extended && client.offers.tools
}

/// The best way to ask this client, whose answers count as those of `principal`.
pub(crate) fn route(request: &HitlRequest, client: Facts, principal: &str) -> Route {
    if names_people(client) {
        return Route::Bridge;
    }
    // Its answer names no person, and a client chooses its own name, so the principal is the reviewer.
    if !request.may_decide(principal) {
        let reviewers = request.reviewers.join(", ");
        return Route::Nobody(format!(
            "only {reviewers} may decide, and this client's principal is none of them"
        ));
    }
    // The contract's dialect, also if several people have to agree: a yes counts once, and the approval stays
    // open for the others.
    if client.dialect.profile == Profile::Harn && request.approval.is_some() {
        return Route::Choice;
    }
    // Alone it would say yes once, and the others would be waited for in vain.
    if request.quorum > 1 {
        return Route::Nobody("several people have to agree, and this client is one".to_owned());
    }
    if !client.dialect.hitl_calls.contains(request.kind) {
        return Route::Form;
    }
    match request.kind {
        HitlKind::Question if choice::FEW.contains(&request.choices.len()) => Route::Choice,
        HitlKind::Question => Route::Nobody("this client has no way to ask a question".to_owned()),
        HitlKind::Approval | HitlKind::Escalation | HitlKind::DualControl => Route::Choice,
    }
}

/// The request to send on this route, if it has one. `client` is the client's own name, if it has one.
pub(crate) fn message(
    route: &Route,
    session: &SessionId,
    request: &HitlRequest,
    profile: Profile,
    client: Option<&str>,
) -> Option<Result<UntypedMessage, Error>> {
    match route {
        Route::Form => Some(form::message(session, request)),
        Route::Choice => Some(match &request.approval {
            Some(record) => approval::message(session, request, record, profile, client),
            None => choice::message(session, request),
        }),
        Route::Bridge | Route::Nobody(_) => None,
    }
}

/// What the answer to that request means. The client's principal is the reviewer.
pub(crate) fn given(
    route: &Route,
    request: &HitlRequest,
    profile: Profile,
    reviewer: &str,
    answer: Result<Value, Error>,
) -> Given {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return Given::Nothing(not_asked(&error)),
    };
    let read = match route {
        Route::Form => form::read(request, answer),
        Route::Choice if request.approval.is_some() => {
            Some(approval::read(request, profile, answer))
        }
        Route::Choice => choice::read(request, &answer),
        Route::Bridge | Route::Nobody(_) => None,
    };
    match read {
        Some(Given::Answer(mut response)) => {
            response.request_id.clone_from(&request.request_id);
            response.reviewer = Some(reviewer.to_owned());
            Given::Answer(response)
        }
        Some(given) => given,
        None => Given::Nothing(NOT_UNDERSTOOD.to_owned()),
    }
}

/// A yes or a no to whatever was asked.
fn decided(kind: HitlKind, yes: bool, reason: Option<String>) -> Given {
    let (approved, accepted) = match kind {
        // A person who does not want to answer has not answered.
        HitlKind::Question => return Given::Declined,
        HitlKind::Approval | HitlKind::DualControl => (Some(yes), None),
        HitlKind::Escalation => (None, Some(yes)),
    };
    Given::Answer(Box::new(HitlResponse {
        approved,
        accepted,
        reason: reason.filter(|reason| !reason.trim().is_empty()),
        ..HitlResponse::default()
    }))
}

fn answered(answer: String) -> Given {
    Given::Answer(Box::new(HitlResponse {
        answer: Some(Value::String(answer)),
        ..HitlResponse::default()
    }))
}

/// That this client was asked.
pub(crate) fn put_to(request: &HitlRequest, client: LiveClient) -> PermissionRoute {
    PermissionRoute {
        request_id: request.request_id.clone(),
        ask_id: None,
        client,
        metadata: Value::Null,
    }
}
