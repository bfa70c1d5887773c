//! Plans: a bare list of entries, or a document with summary, assumptions and open questions.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::hash;

/// An agent's plan. Each plan replaces the one before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Plan {
    /// Only the entries.
    Entries(Vec<PlanEntry>),
    /// A `harn.plan.v1` document.
    Document(Box<PlanDocument>),
}

impl Plan {
    /// Returns the entries, which every host can show. Blank steps of a document are omitted; a document with no
    /// step becomes one entry with its summary.
    pub fn entries(&self) -> Vec<PlanEntry> {
        match self {
            Self::Entries(entries) => entries.clone(),
            Self::Document(doc) => doc.entries(),
        }
    }

    /// Fills in the fields that a document's author omitted; a document of another version becomes its entries.
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

/// One entry of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PlanEntry {
    /// The text of the entry.
    pub content: String,
    /// Its status.
    #[serde(default)]
    pub status: PlanEntryStatus,
    /// Its priority.
    #[serde(default)]
    pub priority: PlanPriority,
}

/// The status of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanEntryStatus {
    /// Not started.
    #[default]
    Pending,
    /// Started, not done.
    InProgress,
    /// Done.
    Completed,
}

/// The priority of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanPriority {
    /// Highest priority.
    High,
    /// Middle priority.
    #[default]
    Medium,
    /// Lowest priority.
    Low,
}

/// A structured plan, `harn.plan.v1`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PlanDocument {
    /// Always `plan_artifact`.
    #[serde(rename = "_type", default = "plan_artifact")]
    #[schemars(extend("const" = "plan_artifact"))]
    pub artifact: String,
    /// Always `harn.plan.v1`.
    #[schemars(extend("const" = "harn.plan.v1"))]
    pub schema_version: String,
    /// Its id.
    #[serde(default)]
    pub id: String,
    /// The tool that created it.
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
    /// The assumptions that it makes.
    #[serde(default)]
    pub assumptions: Vec<String>,
    /// Questions without an answer.
    #[serde(default)]
    pub open_questions: Vec<String>,
    /// Commands that verify the result.
    #[serde(default)]
    pub verification_commands: Vec<String>,
    /// The state of its approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Value>,
}

impl PlanDocument {
    /// The version that these types implement.
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
            // The same plan has the same id, independent of its author.
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
    /// The id, `step-N` by default.
    #[serde(default)]
    pub id: String,
    /// The text of the step.
    pub content: String,
    /// Its status.
    #[serde(default)]
    pub status: PlanEntryStatus,
    /// Its priority, if one was given.
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

    fn complete_json(plan: Value) -> Value {
        let mut plan: Plan = serde_json::from_value(plan).unwrap();
        plan.complete();
        serde_json::to_value(plan).unwrap()
    }

    #[test]
    fn complete_fills_in_omitted_fields() {
        let steps = json!([{"content": "Look"}, {"id": "mine", "content": "Answer"}]);
        let given = json!({"schema_version": "harn.plan.v1", "title": " ", "steps": steps});
        let plan = complete_json(given.clone());
        assert_eq!(plan["_type"], "plan_artifact");
        assert_eq!(plan["title"], "Plan");
        assert_eq!(plan["steps"][0]["id"], "step-1");
        assert_eq!(plan["steps"][1]["id"], "mine");
        assert_eq!(plan["approval"], json!({"state": "unrequested"}));
        let id = plan["id"].as_str().unwrap();
        let digits = id.strip_prefix("plan_").unwrap();
        assert!(digits.len() == 12 && digits.bytes().all(|b| b.is_ascii_hexdigit()));
        assert_eq!(complete_json(given), plan, "the same plan, the same id");
        assert_eq!(
            complete_json(plan.clone()),
            plan,
            "nothing is completed twice"
        );
    }

    #[test]
    fn document_of_another_version_becomes_its_entries() {
        let steps = json!([{"content": "Look"}]);
        let plan = complete_json(json!({"schema_version": "harn.plan.v2", "steps": steps}));
        let look = json!({"content": "Look", "status": "pending", "priority": "medium"});
        assert_eq!(plan, json!([look]));
    }
}
