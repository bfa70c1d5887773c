//! What an agent gets for what it asked.

use harn_model::HitlResponse;
use serde_json::Value;

use super::HitlEnd;
use crate::AgentError;

/// What was answered to a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The answer; one of the choices, if there were any.
    pub value: Value,
    /// Who gave it, where they said so; nobody gave a default.
    pub reviewer: Option<String>,
    /// Whether nobody answered, and this is the question's default.
    pub is_default: bool,
}

/// Whether something was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "what was not approved must not be done"]
pub struct Verdict {
    /// Whether it was.
    pub approved: bool,
    /// Who decided: everybody who agreed, or who refused.
    pub reviewers: Vec<String>,
    /// What the last of them said about it.
    pub reason: Option<String>,
}

/// Whether somebody takes over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Takeover {
    /// Whether they do.
    pub accepted: bool,
    /// Who.
    pub by: String,
    /// What they said about it.
    pub reason: Option<String>,
}

impl Answer {
    /// The answer as text.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }

    pub(super) fn of(end: HitlEnd, default: Option<String>) -> Result<Self, AgentError> {
        match (end, default) {
            (HitlEnd::Unanswered { .. }, Some(default)) => Ok(Self {
                value: default.into(),
                reviewer: None,
                is_default: true,
            }),
            (end, _) => {
                let last = counted(end)?.pop().unwrap_or_default();
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
    /// Goes on only with an approval; a refusal becomes [`AgentError::Denied`].
    pub fn granted(self) -> Result<Self, AgentError> {
        if self.approved {
            return Ok(self);
        }
        let reason = self.reason;
        Err(AgentError::Denied {
            reason: reason.unwrap_or_else(|| "it was not approved".to_owned()),
        })
    }

    pub(super) fn of(end: HitlEnd) -> Result<Self, AgentError> {
        let counted = counted(end)?;
        // The last one decides: it refuses, or it is the one that was still missing.
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
    pub(super) fn of(end: HitlEnd) -> Result<Self, AgentError> {
        let last = counted(end)?.pop().unwrap_or_default();
        Ok(Self {
            accepted: last.accepted == Some(true),
            by: last.reviewer.unwrap_or_default(),
            reason: last.reason,
        })
    }
}

/// The answers that counted; an error where there are none.
fn counted(end: HitlEnd) -> Result<Vec<HitlResponse>, AgentError> {
    match end {
        HitlEnd::Answered(counted) => Ok(counted),
        HitlEnd::Unanswered { reason, .. } => Err(AgentError::Unanswered { reason }),
        HitlEnd::Cancelled => Err(AgentError::Cancelled),
    }
}
