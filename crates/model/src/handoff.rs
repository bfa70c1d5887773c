//! Handing work over to a person or another agent.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What was done, what is left, and who should go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct HandoffArtifact {
    /// `handoff_artifact`.
    #[serde(rename = "_type")]
    pub artifact: String,
    /// Its id; minted by the runtime where it is empty.
    pub id: String,
    /// The run it comes out of.
    pub parent_run_id: Option<String>,
    /// Who hands over.
    pub source_persona: String,
    /// Who should go on.
    pub target_persona_or_human: HandoffTarget,
    /// What to do.
    pub task: String,
    /// Why it is handed over.
    pub reason: String,
    /// What supports it.
    pub evidence_refs: Vec<EvidenceRef>,
    /// What was changed or looked at.
    pub files_or_entities_touched: Vec<String>,
    /// What is not known.
    pub open_questions: Vec<String>,
    /// What stands in the way.
    pub blocked_on: Vec<String>,
    /// What who goes on needs to be able to do.
    pub requested_capabilities: Vec<String>,
    /// What who goes on may change.
    pub allowed_side_effects: Vec<String>,
    /// What is left of the budget.
    pub budget_remaining: Option<HandoffBudget>,
    /// By when.
    pub deadline_checkback: Option<HandoffDeadline>,
    /// How sure who hands over is, from 0 to 1.
    pub confidence: Option<f64>,
    /// Where the records are.
    pub receipt_links: Vec<ReceiptLink>,
    /// When it was made, RFC 3339; filled by the runtime where it is empty.
    pub created_at: String,
    /// Anything else.
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

/// Who should go on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct HandoffTarget {
    /// `human`, `persona`, …
    pub kind: String,
    /// Its id.
    pub id: Option<String>,
    /// Its name, for people.
    pub label: Option<String>,
}

/// Something that supports a handoff.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct EvidenceRef {
    /// The artifact, where it is one.
    pub artifact_id: Option<String>,
    /// What sort.
    pub kind: Option<String>,
    /// Its name, for people.
    pub label: Option<String>,
    /// The file, where it is one.
    pub path: Option<String>,
    /// Where it is.
    pub uri: Option<String>,
}

/// What is left to spend.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct HandoffBudget {
    /// Tokens.
    pub tokens: Option<u64>,
    /// Tool calls.
    pub tool_calls: Option<u64>,
    /// Money.
    pub dollars: Option<f64>,
}

/// By when something is due.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct HandoffDeadline {
    /// When it must be done.
    pub deadline: Option<String>,
    /// When to ask how it goes.
    pub checkback_at: Option<String>,
}

/// Where a record is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct ReceiptLink {
    /// What sort.
    pub kind: Option<String>,
    /// Its name, for people.
    pub label: Option<String>,
    /// The run.
    pub run_id: Option<String>,
    /// The artifact.
    pub artifact_id: Option<String>,
    /// The file.
    pub path: Option<String>,
    /// The address.
    pub href: Option<String>,
}
