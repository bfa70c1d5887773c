//! Handoffs: the record of work that one agent or worker passes on to a person or another agent.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The record of a handoff: the work done, the work left, and the recipient.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct HandoffArtifact {
    /// Always `handoff_artifact`.
    #[serde(rename = "_type")]
    pub artifact: String,
    /// Its id; the runtime generates one if it is empty.
    pub id: String,
    /// The run that it comes from.
    pub parent_run_id: Option<String>,
    /// The sender.
    pub source_persona: String,
    /// The recipient.
    pub target_persona_or_human: HandoffTarget,
    /// The task to do.
    pub task: String,
    /// The reason for the handoff.
    pub reason: String,
    /// References that support it.
    pub evidence_refs: Vec<EvidenceRef>,
    /// Files or entities that were changed or read.
    pub files_or_entities_touched: Vec<String>,
    /// Questions without an answer.
    pub open_questions: Vec<String>,
    /// Obstacles to the task.
    pub blocked_on: Vec<String>,
    /// The capabilities that the recipient needs.
    pub requested_capabilities: Vec<String>,
    /// The side effects that the recipient may cause.
    pub allowed_side_effects: Vec<String>,
    /// The remaining budget.
    pub budget_remaining: Option<HandoffBudget>,
    /// The deadline.
    pub deadline_checkback: Option<HandoffDeadline>,
    /// The sender's confidence, from 0 to 1.
    pub confidence: Option<f64>,
    /// Links to the records.
    pub receipt_links: Vec<ReceiptLink>,
    /// When it was created, RFC 3339; the runtime fills it if it is empty.
    pub created_at: String,
    /// Further data.
    pub metadata: Map<String, Value>,
}

impl Default for HandoffArtifact {
    fn default() -> Self {
        Self {
            artifact: "handoff_artifact".to_owned(),
            id: String::new(),
            parent_run_id: None,
            source_persona: String::new(),
            target_persona_or_human: HandoffTarget::default(),
            task: String::new(),
            reason: String::new(),
            evidence_refs: Vec::new(),
            files_or_entities_touched: Vec::new(),
            open_questions: Vec::new(),
            blocked_on: Vec::new(),
            requested_capabilities: Vec::new(),
            allowed_side_effects: Vec::new(),
            budget_remaining: None,
            deadline_checkback: None,
            confidence: None,
            receipt_links: Vec::new(),
            created_at: String::new(),
            metadata: Map::new(),
        }
    }
}

/// The recipient of a handoff.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct HandoffTarget {
    /// `human`, `persona` or another kind.
    pub kind: String,
    /// Its id.
    pub id: Option<String>,
    /// Its name, for people.
    pub label: Option<String>,
}

/// A reference that supports a handoff.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct EvidenceRef {
    /// The artifact, if it is one.
    pub artifact_id: Option<String>,
    /// The kind of reference.
    pub kind: Option<String>,
    /// Its name, for people.
    pub label: Option<String>,
    /// The file, if it is one.
    pub path: Option<String>,
    /// The address.
    pub uri: Option<String>,
}

/// The remaining budget of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct HandoffBudget {
    /// Tokens left.
    pub tokens: Option<u64>,
    /// Tool calls left.
    pub tool_calls: Option<u64>,
    /// Dollars left.
    pub dollars: Option<f64>,
}

/// The deadline of a handoff.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct HandoffDeadline {
    /// When the task must be done.
    pub deadline: Option<String>,
    /// When to ask about progress.
    pub checkback_at: Option<String>,
}

/// A link to a record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct ReceiptLink {
    /// The kind of record.
    pub kind: Option<String>,
    /// Its name, for people.
    pub label: Option<String>,
    /// The id of the run.
    pub run_id: Option<String>,
    /// The id of the artifact.
    pub artifact_id: Option<String>,
    /// The path of the file.
    pub path: Option<String>,
    /// The address.
    pub href: Option<String>,
}
