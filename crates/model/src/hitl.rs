//! What an agent asks a person, what is told of it, and what they answer.

use std::sync::Arc;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ApprovalRequest, LineageEntry, MutationSession, Timestamp, TurnId};

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

    /// The kind of the question that has this id; none if the id has another form.
    #[must_use]
    pub fn of_request(id: &str) -> Option<Self> {
        let all = [
            Self::Question,
            Self::Approval,
            Self::DualControl,
            Self::Escalation,
        ];
        let rest = id.strip_prefix("hitl_")?;
        let begins = |kind: &Self| {
            let unique = rest.strip_prefix(kind.as_str());
            unique.is_some_and(|unique| unique.starts_with('_'))
        };
        all.into_iter().find(begins)
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
    pub lineage: Vec<LineageEntry>,
}

/// [`HitlRequest`] as its event tells it. The names are the contract's.
#[derive(Serialize)]
struct HitlRequestPayload<'a> {
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
    lineage: &'a [LineageEntry],
}

/// Whether two names of reviewers are one person's: neither case nor space around a name makes another.
#[must_use]
pub fn same_reviewer(one: &str, other: &str) -> bool {
    let letters = |name: &str| name.trim().to_lowercase();
    letters(one) == letters(other)
}

/// What is asked, from the payload of its event: each kind has its own name for it.
#[must_use]
pub fn hitl_subject(payload: &Value) -> Option<&str> {
    let mut names = ["prompt", "action", "reason"].into_iter();
    names.find_map(|name| payload.get(name)?.as_str())
}

/// [`HitlRequest::headline`] from the payload of its event.
#[must_use]
pub fn hitl_headline(kind: HitlKind, payload: &Value) -> String {
    let subject = match kind {
        HitlKind::Question => "prompt",
        HitlKind::Approval | HitlKind::DualControl => "action",
        HitlKind::Escalation => "reason",
    };
    let subject = payload[subject].as_str().unwrap_or_default();
    let workers = payload["lineage"].as_array();
    let worker = workers.and_then(|all| all.last()?["worker_name"].as_str());
    headline(kind, subject, payload["to"].as_str(), worker)
}

fn headline(kind: HitlKind, subject: &str, to: Option<&str>, worker: Option<&str>) -> String {
    let text = match (kind, to) {
        (HitlKind::Question, _) => subject.to_owned(),
        (HitlKind::Approval | HitlKind::DualControl, _) => {
            format!("May this be done: {subject}?")
        }
        (HitlKind::Escalation, Some(to)) => {
            format!("Will somebody take over ({to})? {subject}")
        }
        (HitlKind::Escalation, None) => format!("Will somebody take over? {subject}"),
    };
    match worker {
        Some(worker) => format!("{worker} asks: {text}"),
        None => text,
    }
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
        let payload = HitlRequestPayload {
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
        let worker = self.lineage.last().map(|worker| &*worker.worker_name);
        headline(self.kind, &self.subject, self.to.as_deref(), worker)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_states_its_kind() {
        for kind in [
            HitlKind::Question,
            HitlKind::Approval,
            HitlKind::DualControl,
            HitlKind::Escalation,
        ] {
            assert_eq!(HitlKind::of_request(&kind.request_id("1")), Some(kind));
        }
        for other in ["", "question-1", "hitl_", "hitl_question", "hitl_wish_1"] {
            assert_eq!(HitlKind::of_request(other), None, "{other}");
        }
    }

    #[test]
    fn the_payload_has_the_headline() {
        let lineage = vec![LineageEntry {
            worker_id: "w".into(),
            worker_name: "tester".to_owned(),
            session_id: "s".into(),
        }];
        for kind in [HitlKind::Question, HitlKind::Approval, HitlKind::Escalation] {
            for (to, lineage) in [(None, Vec::new()), (Some("on-call"), lineage.clone())] {
                let request = HitlRequest {
                    request_id: kind.request_id("1"),
                    kind,
                    subject: "deploy".to_owned(),
                    detail: None,
                    choices: Vec::new(),
                    default: None,
                    to: to.map(str::to_owned),
                    reviewers: Vec::new(),
                    quorum: 1,
                    approval: None,
                    mutation: None,
                    agent: "harn".to_owned(),
                    turn: "t".into(),
                    requested_at: 0,
                    deadline: 1,
                    lineage,
                };
                assert_eq!(hitl_headline(kind, &request.payload()), request.headline());
            }
        }
    }
}
