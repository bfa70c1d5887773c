//! What an agent asks a person, and what they answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What sort of thing a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HitlKind {
    /// A question with an answer.
    Question,
    /// A yes or a no.
    Approval,
    /// A yes of several people.
    DualControl,
    /// Somebody takes it over.
    Escalation,
}

impl HitlKind {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Approval => "approval",
            Self::DualControl => "dual_control",
            Self::Escalation => "escalation",
        }
    }
}

/// How a question to a person ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HitlOutcome {
    /// With an answer.
    Answered,
    /// Too late.
    Timeout,
    /// Withdrawn.
    Cancelled,
}

/// What one person answered. An approval may need several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HitlResponse {
    /// The question.
    pub request_id: String,
    /// Who answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<String>,
    /// The answer to a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// Whether they agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<bool>,
    /// Whether they take it over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<bool>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Anything else.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub metadata: Value,
}
