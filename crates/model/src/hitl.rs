//! What an agent asks a person, what is told of it, and what they answer.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ApprovalRequest, Lineage, MutationSession, Timestamp, TurnId};

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

    /// The id of a question of this kind; the kind can be told from it.
    #[must_use]
    pub fn request_id(self, unique: &str) -> String {
        format!("hitl_{}_{unique}", self.as_str())
    }
}

/// Something a person is asked, for as long as it is open. The record of it is its
/// [`HitlRequested`](crate::AgentEvent::HitlRequested) event.
#[derive(Clone, Debug, PartialEq)]
pub struct HitlRequest {
    /// Its id, `hitl_<kind>_…`.
    pub request_id: String,
    /// What sort of thing is asked.
    pub kind: HitlKind,
    /// The question, the action to approve, or why somebody is called.
    pub subject: String,
    /// More about it.
    pub detail: Option<String>,
    /// What may be answered to a question; anything where there are none.
    pub choices: Vec<String>,
    /// What counts where nobody answers a question.
    pub default: Option<String>,
    /// Who should take it over.
    pub to: Option<String>,
    /// Who may decide; anybody where nobody is named.
    pub reviewers: Vec<String>,
    /// How many have to agree.
    pub quorum: u64,
    /// What is to be approved, as hosts show it.
    pub approval: Option<Box<ApprovalRequest>>,
    /// The right that the action would use; none if the session may change nothing.
    pub mutation: Option<Arc<MutationSession>>,
    /// Who asks: the agent's name, or the worker's.
    pub agent: String,
    /// The turn it belongs to.
    pub turn: TurnId,
    /// When it was asked.
    pub requested_at: Timestamp,
    /// When it is settled without an answer.
    pub deadline: Timestamp,
    /// The workers it came through, from the one next to the session down to the one that asks.
    pub lineage: Vec<Lineage>,
}

/// [`HitlRequest`] as its event tells it. The names are the contract's.
#[derive(Serialize)]
struct Payload<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    choices: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quorum: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reviewers: Option<&'a [String]>,
    deadline_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval_request: Option<&'a ApprovalRequest>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    lineage: &'a [Lineage],
}

/// Whether two names of reviewers are one person's: neither case nor space around a name makes another.
#[must_use]
pub fn same_reviewer(one: &str, other: &str) -> bool {
    let letters = |name: &str| name.trim().to_lowercase();
    letters(one) == letters(other)
}

impl HitlRequest {
    /// Whether somebody of this name may decide.
    #[must_use]
    pub fn may_decide(&self, name: &str) -> bool {
        let mut named = self.reviewers.iter();
        self.reviewers.is_empty() || named.any(|reviewer| same_reviewer(reviewer, name))
    }

    /// What its event and its hosts are told.
    #[must_use]
    pub fn payload(&self) -> Value {
        let subject = |kinds: &[HitlKind]| kinds.contains(&self.kind).then_some(&*self.subject);
        let approval = self.approval.as_deref();
        let payload = Payload {
            prompt: subject(&[HitlKind::Question]),
            action: subject(&[HitlKind::Approval, HitlKind::DualControl]),
            reason: subject(&[HitlKind::Escalation]),
            detail: self.detail.as_deref(),
            choices: &self.choices,
            default: self.default.as_deref(),
            to: self.to.as_deref(),
            quorum: approval.map(|_| self.quorum),
            reviewers: approval.map(|_| &*self.reviewers),
            deadline_ms: self.deadline.saturating_sub(self.requested_at),
            approval_request: approval,
            lineage: &self.lineage,
        };
        // Values and strings always serialise.
        serde_json::to_value(payload).unwrap_or_default()
    }

    /// The question in a line.
    #[must_use]
    pub fn headline(&self) -> String {
        let subject = &self.subject;
        let text = match (self.kind, &self.to) {
            (HitlKind::Question, _) => subject.clone(),
            (HitlKind::Approval | HitlKind::DualControl, _) => {
                format!("May this be done: {subject}?")
            }
            (HitlKind::Escalation, Some(to)) => {
                format!("Will somebody take over ({to})? {subject}")
            }
            (HitlKind::Escalation, None) => format!("Will somebody take over? {subject}"),
        };
        match self.lineage.last() {
            Some(worker) => format!("{} asks: {text}", worker.worker_name),
            None => text,
        }
    }

    /// What there is to know before answering: what would be done exactly, and what to look at.
    #[must_use]
    pub fn particulars(&self) -> Option<String> {
        let approval = self.approval.as_deref();
        let args = approval.map(|approval| &approval.args);
        let args = args.filter(|args| !args.is_null());
        let evidence = approval.map_or(&[][..], |approval| &approval.evidence_refs);
        let detail = self.detail.clone();
        let args = args.map(|args| format!("With {args}"));
        let evidence = evidence
            .iter()
            .map(|evidence| format!("See {}", evidence.reference));
        let parts: Vec<_> = detail.into_iter().chain(args).chain(evidence).collect();
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }

    /// All of it as text, for hosts that show nothing else.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = self.headline();
        if let Some(particulars) = self.particulars() {
            text.push_str("\n\n");
            text.push_str(&particulars);
        }
        text
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// When, as whoever answered says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub responded_at: Option<String>,
    /// What proves that it was them; kept, not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}
