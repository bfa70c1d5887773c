//! The policy of a mutation session, as hosts receive it: the four lists of the contract.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

/// The policy in a [`MutationSession`](crate::MutationSession).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ApprovalPolicy {
    /// The policy in force.
    Lists(ApprovalLists),
    /// No policy is in force.
    None,
    /// Another record of the same call or question has the policy; this one omits the key.
    #[default]
    #[serde(skip)]
    Omitted,
}

impl ApprovalPolicy {
    /// Whether the record omits the key.
    pub fn is_omitted(&self) -> bool {
        *self == Self::Omitted
    }
}

/// The four lists of the contract. They never allow more than the policy does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ApprovalLists {
    // A journal of an earlier version has the policy in another form; it is then read as the strictest lists.
    /// Tools that run without a question, with any arguments.
    #[serde(default = "nothing")]
    #[schemars(!default)]
    pub auto_approve: Vec<String>,
    /// Tools that never run.
    #[serde(default = "everything")]
    #[schemars(!default)]
    pub auto_deny: Vec<String>,
    /// Tools that need an approval.
    #[serde(default)]
    #[schemars(!default)]
    pub require_approval: Vec<String>,
    /// Paths that may be written; if empty, all paths in the session's directories.
    #[serde(default = "nothing")]
    #[schemars(!default)]
    pub write_path_allowlist: Vec<String>,
    /// The size of the lists if they are too large for the record, which then has the strictest lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted_bytes: Option<usize>,
}

impl ApprovalLists {
    /// A pattern that matches no tool and no path.
    pub const NOTHING: &'static str = "<nothing>";

    /// Returns the strictest lists, in place of lists of `bytes` bytes.
    pub fn deny_all(bytes: usize) -> Self {
        Self {
            auto_approve: nothing(),
            auto_deny: everything(),
            require_approval: Vec::new(),
            write_path_allowlist: nothing(),
            omitted_bytes: Some(bytes),
        }
    }
}

fn nothing() -> Vec<String> {
    vec![ApprovalLists::NOTHING.to_owned()]
}

fn everything() -> Vec<String> {
    vec!["*".to_owned()]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(policy: Value) -> ApprovalLists {
        serde_json::from_value(policy).unwrap()
    }

    #[test]
    fn a_policy_of_an_earlier_version_is_read_as_the_strictest_lists() {
        let earlier = read(json!({"all_of": [{"auto_approve": ["*"]}]}));
        assert_eq!(earlier.auto_approve, ["<nothing>"]);
        assert_eq!(earlier.auto_deny, ["*"]);
        assert_eq!(earlier.write_path_allowlist, ["<nothing>"]);
    }

    #[test]
    fn absent_policy_is_null_and_omitted_policy_has_no_key() {
        let record = |approval_policy| {
            let record = crate::MutationSession {
                session_id: "s".into(),
                parent_session_id: None,
                run_id: None,
                worker_id: None,
                execution_kind: None,
                mutation_scope: crate::MutationScope::ReadOnly,
                approval_policy,
            };
            let written = serde_json::to_value(&record).unwrap();
            let again: crate::MutationSession = serde_json::from_value(written.clone()).unwrap();
            assert_eq!(again, record);
            written.get("approval_policy").cloned()
        };
        assert_eq!(record(ApprovalPolicy::None), Some(Value::Null));
        assert_eq!(record(ApprovalPolicy::Omitted), None);
        let lists =
            read(json!({"auto_approve": [], "auto_deny": ["x"], "write_path_allowlist": []}));
        let expected = json!({
            "auto_approve": [], "auto_deny": ["x"], "require_approval": [], "write_path_allowlist": [],
        });
        assert_eq!(record(ApprovalPolicy::Lists(lists)), Some(expected));
    }
}
