//! Questions of an agent to a person, their payloads, and the answers.

use std::sync::Arc;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ApprovalRequest, LineageEntry, MutationSession, Timestamp, TurnId};

/// The kind of a question to a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HitlKind {
    /// A question with a free or chosen answer.
    Question,
    /// An approval or a rejection by one person.
    Approval,
    /// An approval by several people.
    DualControl,
    /// A request that a person take over.
    Escalation,
}

impl HitlKind {
    /// Returns its wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Approval => "approval",
            Self::DualControl => "dual_control",
            Self::Escalation => "escalation",
        }
    }

    /// Returns the id of a question of this kind; the id contains the kind.
    #[must_use]
    pub fn request_id(self, unique: &str) -> String {
        format!("hitl_{}_{unique}", self.as_str())
    }

    /// Returns the kind of the question with this id; none if the id has another form.
    pub fn from_request_id(id: &str) -> Option<Self> {
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

/// An open question to a person. The journal records it as a [`HitlRequested`](crate::AgentEvent::HitlRequested)
/// event.
#[derive(Clone, Debug, PartialEq)]
pub struct HitlRequest {
    /// Its id, `hitl_<kind>_…`.
    pub request_id: String,
    /// The kind of question.
    pub kind: HitlKind,
    /// The question, the action to approve, or the reason for an escalation.
    pub subject: String,
    /// Further explanation.
    pub detail: Option<String>,
    /// The possible answers to a question; any answer if empty.
    pub choices: Vec<String>,
    /// The answer to a question after its deadline.
    pub default: Option<String>,
    /// The person who should take over.
    pub to: Option<String>,
    /// The people who may decide; anyone if empty.
    pub reviewers: Vec<String>,
    /// How many people have to approve.
    pub quorum: u64,
    /// The action to approve, as hosts show it.
    pub approval: Option<Box<ApprovalRequest>>,
    /// The mutation record that the action would run under; none if the session may change nothing.
    pub mutation: Option<Arc<MutationSession>>,
    /// The name of the agent or worker that asks.
    pub agent: String,
    /// The turn it belongs to.
    pub turn: TurnId,
    /// When it was asked.
    pub requested_at: Timestamp,
    /// When it ends without an answer.
    pub deadline: Timestamp,
    /// The chain of workers, from the one directly below the session to the one that asks.
    pub lineage: Vec<LineageEntry>,
}

/// The payload of the event of a [`HitlRequest`]. The field names are the contract's.
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

/// Whether two names of reviewers are equal, ignoring case and surrounding space.
pub fn is_same_reviewer(one: &str, other: &str) -> bool {
    let letters = |name: &str| name.trim().to_lowercase();
    letters(one) == letters(other)
}

/// Returns the subject from the payload of the event: each kind has its own key for it.
pub fn hitl_subject(payload: &Value) -> Option<&str> {
    let mut names = ["prompt", "action", "reason"].into_iter();
    names.find_map(|name| payload.get(name)?.as_str())
}

/// [`HitlRequest::headline`] from the payload of its event.
pub fn hitl_headline(kind: HitlKind, payload: &Value) -> String {
    let subject = match kind {
        HitlKind::Question => "prompt",
        HitlKind::Approval | HitlKind::DualControl => "action",
        HitlKind::Escalation => "reason",
    };
    let subject = payload[subject].as_str().unwrap_or_default();
    let workers = payload["lineage"].as_array();
    let worker = workers.and_then(|all| all.last()?["worker_name"].as_str());
    format_headline(kind, subject, payload["to"].as_str(), worker)
}

fn format_headline(
    kind: HitlKind,
    subject: &str,
    to: Option<&str>,
    worker: Option<&str>,
) -> String {
    let text = match (kind, to) {
        (HitlKind::Question, _) => subject.to_owned(),
        (HitlKind::Approval | HitlKind::DualControl, _) => {
            format!("May this be done: {subject}?")
        }
        (HitlKind::Escalation, Some(to)) => {
            format!("Take over ({to})? {subject}")
        }
        (HitlKind::Escalation, None) => format!("Take over? {subject}"),
    };
    match worker {
        Some(worker) => format!("{worker} asks: {text}"),
        None => text,
    }
}

impl HitlRequest {
    /// Whether a reviewer of this name may decide.
    pub fn may_decide(&self, name: &str) -> bool {
        let mut named = self.reviewers.iter();
        self.reviewers.is_empty() || named.any(|reviewer| is_same_reviewer(reviewer, name))
    }

    /// Returns the payload for its event and for hosts.
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

    /// Returns the question in one line.
    pub fn headline(&self) -> String {
        let worker = self.lineage.last().map(|worker| &*worker.worker_name);
        format_headline(self.kind, &self.subject, self.to.as_deref(), worker)
    }

    /// Returns the details to read before answering: explanation, exact arguments and references.
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

    /// Returns headline and particulars as text, for hosts that show nothing else.
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
    /// A person answered.
    Answered,
    /// The deadline passed.
    Timeout,
    /// The question was withdrawn.
    Cancelled,
}

/// The answer of one person. An approval may need several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HitlResponse {
    /// The id of the question.
    pub request_id: String,
    /// The name of the person who answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<String>,
    /// The answer to a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// Whether the person approves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<bool>,
    /// Whether the person takes over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<bool>,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Further data.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub metadata: Value,
    /// When the person answered, as stated by the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub responded_at: Option<String>,
    /// A proof of the person's identity; stored, not verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_id_contains_its_kind() {
        for kind in [
            HitlKind::Question,
            HitlKind::Approval,
            HitlKind::DualControl,
            HitlKind::Escalation,
        ] {
            assert_eq!(HitlKind::from_request_id(&kind.request_id("1")), Some(kind));
        }
        for other in ["", "question-1", "hitl_", "hitl_question", "hitl_wish_1"] {
            assert_eq!(HitlKind::from_request_id(other), None, "{other}");
        }
    }

    #[test]
    fn headline_of_payload_equals_headline_of_request() {
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
