//! The results that an agent receives for its requests.

use harn_model::HitlResponse;
use serde_json::Value;

use super::HitlEnd;
use crate::AgentError;

/// The answer to a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The answer; one of the choices, if there were any.
    pub value: Value,
    /// The person who answered, if given; `None` for a default.
    pub reviewer: Option<String>,
    /// Whether no person answered and this is the question's default.
    pub is_default: bool,
}

/// The result of an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "an action that was not approved must not run"]
pub struct Verdict {
    /// Whether it was approved.
    pub approved: bool,
    /// The people who decided: all who agreed, or the one who refused.
    pub reviewers: Vec<String>,
    /// The reason that the last of them gave.
    pub reason: Option<String>,
}

/// The result of an escalation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Takeover {
    /// Whether a person takes over.
    pub accepted: bool,
    /// The person who answered.
    pub by: String,
    /// The reason that the person gave.
    pub reason: Option<String>,
}

impl Answer {
    /// Returns the answer as text.
    pub fn text(&self) -> String {
        match &self.value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }

    pub(super) fn from_end(end: HitlEnd, default: Option<String>) -> Result<Self, AgentError> {
        match (end, default) {
            (HitlEnd::Unanswered { .. }, Some(default)) => Ok(Self {
                value: default.into(),
                reviewer: None,
                is_default: true,
            }),
            (end, _) => {
                let last = into_responses(end)?.pop().unwrap_or_default();
                Ok(Self {
                    value: last.answer.unwrap_or_default(),
                    reviewer: last.reviewer,
                    is_default: false,
                })
            }
        }
    }
}

impl Verdict {
    /// Returns the verdict if it is an approval; a refusal becomes [`AgentError::Denied`].
    pub fn require_approval(self) -> Result<Self, AgentError> {
        if self.approved {
            return Ok(self);
        }
        let reason = self.reason;
        Err(AgentError::Denied {
            reason: reason.unwrap_or_else(|| "it was not approved".to_owned()),
        })
    }

    pub(super) fn from_end(end: HitlEnd) -> Result<Self, AgentError> {
        let counted = into_responses(end)?;
        // The last response decides: it refuses, or it completes the quorum.
        let approved = counted
            .last()
            .is_some_and(|last| last.approved == Some(true));
        let reason = counted.last().and_then(|last| last.reason.clone());
        let deciders = counted.into_iter();
        let deciders = deciders.filter(|one| one.approved == Some(approved));
        Ok(Self {
            approved,
            reviewers: deciders.filter_map(|one| one.reviewer).collect(),
            reason,
        })
    }
}

impl Takeover {
    pub(super) fn from_end(end: HitlEnd) -> Result<Self, AgentError> {
        let last = into_responses(end)?.pop().unwrap_or_default();
        Ok(Self {
            accepted: last.accepted == Some(true),
            by: last.reviewer.unwrap_or_default(),
            reason: last.reason,
        })
    }
}

/// Returns the counted answers; an error if there are none.
fn into_responses(end: HitlEnd) -> Result<Vec<HitlResponse>, AgentError> {
    match end {
        HitlEnd::Answered(counted) => Ok(counted),
        HitlEnd::Unanswered { reason, .. } => Err(AgentError::Unanswered { reason }),
        HitlEnd::Cancelled => Err(AgentError::Cancelled),
    }
}
