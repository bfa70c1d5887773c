//! Plans: a bare list of entries, or a document with its reasons around it.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::hash;

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

    /// What every document has, filled in where its author left it out; one of another version is no more
    /// than its entries.
    pub fn complete(&mut self) {
        let Self::Document(doc) = self else {
            return;
        };
        if doc.schema_version == PlanDocument::VERSION {
            doc.complete();
        } else {
            *self = Self::Entries(doc.entries());
        }
    }
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
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
#[schemars(deny_unknown_fields)]
pub struct PlanDocument {
    /// `plan_artifact`.
    #[serde(rename = "_type", default = "plan_artifact")]
    #[schemars(extend("const" = "plan_artifact"))]
    pub artifact: String,
    /// `harn.plan.v1`.
    #[schemars(extend("const" = "harn.plan.v1"))]
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
    /// The version these types are of.
    pub const VERSION: &str = "harn.plan.v1";

    fn complete(&mut self) {
        self.artifact = plan_artifact();
        if self.title.trim().is_empty() {
            self.title = plan_title();
        }
        for (step, n) in self.steps.iter_mut().zip(1..) {
            if step.id.is_empty() {
                step.id = format!("step-{n}");
            }
        }
        self.approval
            .get_or_insert_with(|| serde_json::json!({ "state": "unrequested" }));
        if self.id.is_empty() {
            // The same plan has the same id, whoever makes it.
            let written = serde_json::to_string(self).unwrap_or_default();
            let hash = hash::sha256(&[b"harn.plan.v1", written.as_bytes()]);
            self.id = format!("plan_{}", &hash[..12]);
        }
    }

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
#[schemars(deny_unknown_fields)]
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn completed(plan: Value) -> Value {
        let mut plan: Plan = serde_json::from_value(plan).unwrap();
        plan.complete();
        serde_json::to_value(plan).unwrap()
    }

    #[test]
    fn a_document_gets_what_its_author_left_out() {
        let steps = json!([{"content": "Look"}, {"id": "mine", "content": "Answer"}]);
        let given = json!({"schema_version": "harn.plan.v1", "title": " ", "steps": steps});
        let plan = completed(given.clone());
        assert_eq!(plan["_type"], "plan_artifact");
        assert_eq!(plan["title"], "Plan");
        assert_eq!(plan["steps"][0]["id"], "step-1");
        assert_eq!(plan["steps"][1]["id"], "mine");
        assert_eq!(plan["approval"], json!({"state": "unrequested"}));
        let id = plan["id"].as_str().unwrap();
        let digits = id.strip_prefix("plan_").unwrap();
        assert!(digits.len() == 12 && digits.bytes().all(|b| b.is_ascii_hexdigit()));
        assert_eq!(completed(given), plan, "the same plan, the same id");
        assert_eq!(completed(plan.clone()), plan, "nothing is completed twice");
    }

    #[test]
    fn another_version_is_no_more_than_its_entries() {
        let steps = json!([{"content": "Look"}]);
        let plan = completed(json!({"schema_version": "harn.plan.v2", "steps": steps}));
        let look = json!({"content": "Look", "status": "pending", "priority": "medium"});
        assert_eq!(plan, json!([look]));
    }
}
