//! `ToolApprovalPolicy`: the rules as people and hosts write them.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Policy, PolicyError, PolicyRule, SandboxRules};

/// The largest accepted TOML text, in bytes.
const LARGEST: usize = 1024 * 1024;

/// The lists and rules that decide about tool calls. Every list is empty unless given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolApprovalPolicy {
    /// Tools that run without approval.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub auto_approve: Vec<String>,
    /// Tools that never run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub auto_deny: Vec<String>,
    /// Tools that need approval.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub require_approval: Vec<String>,
    /// Paths that may be written; if empty, all paths in the session's directories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write_path_allowlist: Vec<String>,
    /// Rules; of two matches with the same action, the first counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<PolicyRule>,
    /// What confined commands may reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxRules>,
    /// Whether approvals of this policy, and of the policies in it, only narrow those of others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub only_tightens: bool,
    /// Policies that must agree as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub all_of: Vec<ToolApprovalPolicy>,
}

impl ToolApprovalPolicy {
    /// Parses a policy from TOML. `origin` names it in errors.
    pub fn from_toml(origin: &str, text: &str) -> Result<Self, PolicyError> {
        let syntax = |message: String| PolicyError::Syntax {
            origin: origin.to_owned(),
            message,
        };
        if text.len() > LARGEST {
            return Err(syntax(format!("it is larger than {LARGEST} bytes")));
        }
        toml::from_str(text).map_err(|error| syntax(error.to_string()))
    }

    /// Parses a policy from JSON. `origin` names it in errors.
    pub fn from_json(origin: &str, value: Value) -> Result<Self, PolicyError> {
        serde_json::from_value(value).map_err(|error| PolicyError::Syntax {
            origin: origin.to_owned(),
            message: error.to_string(),
        })
    }

    /// Writes the policy as TOML.
    pub fn to_toml(&self) -> String {
        // Lists of texts in tables: TOML can express all of it.
        toml::to_string(self).unwrap_or_default()
    }

    /// Combines this policy with another one; both must agree. If one asks or denies, so does the result; if
    /// both approve something, only the common part is approved.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        if self.only_tightens {
            // Inside of this policy, the other one could not give approval.
            return Self {
                all_of: vec![self, other],
                ..Self::default()
            };
        }
        self.all_of.push(other);
        self
    }

    /// Returns the policy as one that can restrict but not approve.
    #[must_use]
    pub fn with_only_tightens(mut self) -> Self {
        self.only_tightens = true;
        self
    }

    /// Compiles the policy into one that can decide.
    pub fn compile(&self) -> Result<Policy, PolicyError> {
        Policy::new(self)
    }
}
