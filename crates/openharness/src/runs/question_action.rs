//! Converts a Shell's answers into actions on the open questions. Checks all answers before any takes effect.
//! Pure.

use std::sync::Arc;

use harn_model::{
    AskId, Decision, HitlKind, HitlRequest, HitlResponse, PermissionAsked, PermissionOptionKind,
    Principal,
};

use crate::{
    error::OpenHarnessError,
    request::{AnswerValue, DirectiveAnswer},
};

/// An action on a question.
#[derive(Debug, PartialEq)]
pub(super) enum QuestionAction {
    /// Allows or rejects a tool call.
    Answer(AskId, Decision),
    /// Sends a person's answer to the agent.
    Respond(HitlResponse),
    /// Declines the agent's question.
    Decline(String),
}

impl QuestionAction {
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Answer(ask, _) => ask.as_str(),
            Self::Respond(response) => &response.request_id,
            Self::Decline(id) => id,
        }
    }
}

/// Converts answers into actions; each answer must be for an open question.
pub(super) fn plan_actions(
    verdicts: &[DirectiveAnswer],
    asks: &[PermissionAsked],
    questions: &[Arc<HitlRequest>],
    principal: &Principal,
) -> Result<Vec<QuestionAction>, OpenHarnessError> {
    let mut deeds: Vec<QuestionAction> = Vec::with_capacity(verdicts.len());
    for verdict in verdicts {
        if deeds.iter().any(|deed| deed.id() == verdict.id) {
            return Err(unfit_answer("a request may answer each question only once"));
        }
        let ask = asks.iter().find(|ask| ask.ask_id.as_str() == verdict.id);
        let question = questions.iter().find(|it| it.request_id == verdict.id);
        deeds.push(match (ask, question) {
            (Some(ask), _) => {
                QuestionAction::Answer(ask.ask_id.clone(), decision(ask, &verdict.given)?)
            }
            (None, Some(question)) => respond(question, &verdict.given, principal)?,
            (None, None) => return Err(OpenHarnessError::QuestionUnknown),
        });
    }
    Ok(deeds)
}

/// Chooses an offered option that allows no more than the answer does.
fn decision(ask: &PermissionAsked, given: &AnswerValue) -> Result<Decision, OpenHarnessError> {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectOnce};
    let widest = |kind| {
        let offered = ask.options.iter().filter(|option| option.kind == kind);
        let widest = offered.max_by_key(|option| option.scope);
        widest.map(|option| option.option_id.clone())
    };
    let allow = |option_id: Option<String>| match option_id {
        Some(option_id) => Ok(Decision::Allowed {
            option_id,
            args: None,
        }),
        None => Err(unfit_answer("this call can only be rejected")),
    };
    match given {
        AnswerValue::Once => allow(widest(AllowOnce)),
        // An answer that cannot be remembered narrowly enough allows the call once.
        AnswerValue::Always => allow(widest(AllowAlways).or_else(|| widest(AllowOnce))),
        AnswerValue::Reject => Ok(Decision::Rejected {
            option_id: widest(RejectOnce),
            reason: Some("the client rejected the call".to_owned()),
        }),
        AnswerValue::Words(_) => Err(unfit_answer("a permission needs a decision, not a text")),
    }
}

/// The reviewer is always the principal: a Shell cannot prove that another person decided.
fn respond(
    question: &HitlRequest,
    given: &AnswerValue,
    principal: &Principal,
) -> Result<QuestionAction, OpenHarnessError> {
    let response = HitlResponse {
        request_id: question.request_id.clone(),
        ..HitlResponse::default()
    };
    let yes = match given {
        AnswerValue::Once | AnswerValue::Always => true,
        AnswerValue::Reject => false,
        AnswerValue::Words(words) => return respond_with_text(question, words, response),
    };
    let reviewer = principal.as_str();
    if question.kind != HitlKind::Question && !question.may_decide(reviewer) {
        return Err(unfit_answer("another person must decide this"));
    }
    let reviewer = Some(reviewer.to_owned());
    match question.kind {
        HitlKind::Question if yes => Err(unfit_answer("this question needs a text as its answer")),
        HitlKind::Question => Ok(QuestionAction::Decline(question.request_id.clone())),
        HitlKind::Approval | HitlKind::DualControl => Ok(QuestionAction::Respond(HitlResponse {
            reviewer,
            approved: Some(yes),
            ..response
        })),
        HitlKind::Escalation => Ok(QuestionAction::Respond(HitlResponse {
            reviewer,
            accepted: Some(yes),
            ..response
        })),
    }
}

fn respond_with_text(
    question: &HitlRequest,
    words: &str,
    response: HitlResponse,
) -> Result<QuestionAction, OpenHarnessError> {
    match question.kind {
        HitlKind::Question => {}
        HitlKind::Approval | HitlKind::DualControl | HitlKind::Escalation => {
            return Err(unfit_answer("this question needs a decision, not a text"));
        }
    }
    let choices = &question.choices;
    if !choices.is_empty() && !choices.iter().any(|choice| choice == words) {
        let choices = choices.join(", ");
        let problem = format!("the answer must be one of {choices}");
        return Err(OpenHarnessError::AnswerUnfit { problem });
    }
    Ok(QuestionAction::Respond(HitlResponse {
        answer: Some(words.into()),
        ..response
    }))
}

fn unfit_answer(problem: &str) -> OpenHarnessError {
    let problem = problem.to_owned();
    OpenHarnessError::AnswerUnfit { problem }
}

#[cfg(test)]
mod tests;
