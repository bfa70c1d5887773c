//! What verdicts of a Shell come to at the questions that are open. All of them are checked before any is
//! done. Pure.

use std::sync::Arc;

use harn_model::{
    AskId, Decision, HitlKind, HitlRequest, HitlResponse, PermissionAsked, PermissionOptionKind,
    Principal,
};

use crate::{
    asked::{AnswerValue, DirectiveAnswer},
    error::OpenHarnessError,
};

/// What is done with a question.
#[derive(Debug, PartialEq)]
pub(super) enum QuestionAction {
    /// A tool call may run or not.
    Answer(AskId, Decision),
    /// A person answers the agent.
    Respond(HitlResponse),
    /// A person will not answer the agent.
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

/// What these verdicts come to, where each is one on a question that is open.
pub(super) fn deeds(
    verdicts: &[DirectiveAnswer],
    asks: &[PermissionAsked],
    questions: &[Arc<HitlRequest>],
    principal: &Principal,
) -> Result<Vec<QuestionAction>, OpenHarnessError> {
    let mut deeds: Vec<QuestionAction> = Vec::with_capacity(verdicts.len());
    for verdict in verdicts {
        if deeds.iter().any(|deed| deed.id() == verdict.id) {
            return Err(unfit("each question takes one answer in a request"));
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

/// Only what was offered is chosen, and never more than was said.
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
        None => Err(unfit("this can only be rejected")),
    };
    match given {
        AnswerValue::Once => allow(widest(AllowOnce)),
        // What cannot be remembered narrowly enough is allowed this once.
        AnswerValue::Always => allow(widest(AllowAlways).or_else(|| widest(AllowOnce))),
        AnswerValue::Reject => Ok(Decision::Rejected {
            option_id: widest(RejectOnce),
            reason: Some("whoever was asked rejected the call".to_owned()),
        }),
        AnswerValue::Words(_) => Err(unfit(
            "whether a tool may run is decided with a decision, not with words",
        )),
    }
}

/// Whoever decides is the principal: a Shell's word for somebody else would prove nothing.
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
        AnswerValue::Words(words) => return say(question, words, response),
    };
    let reviewer = principal.as_str();
    if question.kind != HitlKind::Question && !question.may_decide(reviewer) {
        return Err(unfit("somebody else has to decide this"));
    }
    let reviewer = Some(reviewer.to_owned());
    match question.kind {
        HitlKind::Question if yes => Err(unfit("this question is answered with words")),
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

fn say(
    question: &HitlRequest,
    words: &str,
    response: HitlResponse,
) -> Result<QuestionAction, OpenHarnessError> {
    match question.kind {
        HitlKind::Question => {}
        HitlKind::Approval | HitlKind::DualControl | HitlKind::Escalation => {
            return Err(unfit("this is decided with a decision, not with words"));
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

fn unfit(problem: &str) -> OpenHarnessError {
    let problem = problem.to_owned();
    OpenHarnessError::AnswerUnfit { problem }
}

#[cfg(test)]
mod tests;
