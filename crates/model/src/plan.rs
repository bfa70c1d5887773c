//! Plans: a bare list of entries, or a document with its reasons around it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An agent's plan. Each plan replaces the one before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Plan {
    /// Just the entries.
    Entries(Vec<PlanEntry>),
    /// A `harn.plan.v1` document.
    Document(Box<PlanDocument>),
}

impl Plan {
    /// The entries every host can show. A document's blank steps are left out; a document with no
    /// step at all becomes one entry made of its summary.
    #[must_use]
    pub fn entries(&self) -> Vec<PlanEntry> {
        match self {
            Self::Entries(entries) => entries.clone(),
            Self::Document(doc) => doc.entries(),
        }
    }
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanEntry {
    /// What.
    pub content: String,
    /// How far.
    #[serde(default)]
    pub status: PlanEntryStatus,
    /// How important.
    #[serde(default)]
    pub priority: PlanPriority,
}

/// How far an entry is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanEntryStatus {
    /// Not begun.
    #[default]
    Pending,
    /// Under way.
    InProgress,
    /// Done.
    Completed,
}

/// How important an entry is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanPriority {
    /// First.
    High,
    /// In between.
    #[default]
    Medium,
    /// Last.
    Low,
}

/// A structured plan, `harn.plan.v1`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanDocument {
    /// `plan_artifact`.
    #[serde(rename = "_type", default = "plan_artifact")]
    pub artifact: String,
    /// `harn.plan.v1`.
    pub schema_version: String,
    /// Its id.
    #[serde(default)]
    pub id: String,
    /// The tool that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// A title.
    #[serde(default = "plan_title")]
    pub title: String,
    /// A summary.
    #[serde(default)]
    pub summary: String,
    /// The steps.
    #[serde(default)]
    pub steps: Vec<PlanStep>,
    /// What it takes for granted.
    #[serde(default)]
    pub assumptions: Vec<String>,
    /// What it does not know.
    #[serde(default)]
    pub open_questions: Vec<String>,
    /// How to check the result.
    #[serde(default)]
    pub verification_commands: Vec<String>,
    /// Whether somebody agreed to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Value>,
}

impl PlanDocument {
    fn entries(&self) -> Vec<PlanEntry> {
        let mut entries: Vec<_> = self
            .steps
            .iter()
            .filter(|step| !step.content.trim().is_empty())
            .map(|step| PlanEntry {
                content: step.content.clone(),
                status: step.status,
                priority: step.priority.unwrap_or_default(),
            })
            .collect();
        if entries.is_empty() {
            let content = match self.summary.trim() {
                "" => self.title.clone(),
                summary => summary.to_owned(),
            };
            entries.push(PlanEntry {
                content,
                status: PlanEntryStatus::Pending,
                priority: PlanPriority::Medium,
            });
        }
        entries
    }
}

/// One step of a [`PlanDocument`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanStep {
    /// `step-N`.
    #[serde(default)]
    pub id: String,
    /// What.
    pub content: String,
    /// How far.
    #[serde(default)]
    pub status: PlanEntryStatus,
    /// How important, where somebody said.
    #[serde(default)]
    pub priority: Option<PlanPriority>,
}

fn plan_artifact() -> String {
    "plan_artifact".to_owned()
}

fn plan_title() -> String {
    "Plan".to_owned()
}
