//! `ToolApprovalPolicy`: the rules as people and hosts write them.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Policy, PolicyError, PolicyRule};

/// A larger file is not read.
const LARGEST: usize = 1024 * 1024;

/// What tools may do. Every list is empty unless given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolApprovalPolicy {
    /// Tools that run unasked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub auto_approve: Vec<String>,
    /// Tools that never run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub auto_deny: Vec<String>,
    /// Tools that ask.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub require_approval: Vec<String>,
    /// Paths that may be written; without any, all in the session's directories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write_path_allowlist: Vec<String>,
    /// Rules; of two that say the same, the first counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<PolicyRule>,
    /// Whether what it approves, and what is approved inside of it, only narrows what others approve.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub only_tightens: bool,
    /// Policies that have to agree as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub all_of: Vec<ToolApprovalPolicy>,
}

impl ToolApprovalPolicy {
    /// Reads one from TOML. `origin` names it in errors.
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

    /// Reads one from JSON. `origin` names it in errors.
    pub fn from_json(origin: &str, value: Value) -> Result<Self, PolicyError> {
        serde_json::from_value(value).map_err(|error| PolicyError::Syntax {
            origin: origin.to_owned(),
            message: error.to_string(),
        })
    }

    /// As a file has it.
    #[must_use]
    pub fn to_toml(&self) -> String {
        // Lists of texts in tables: all of it can be written.
        toml::to_string(self).unwrap_or_default()
    }

    /// This policy and another, which both have to agree: what one of them asks or denies is asked or
    /// denied, and where both approve something, what both do.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        if self.only_tightens {
            // What is inside of it could not give any more.
            return Self {
                all_of: vec![self, other],
                ..Self::default()
            };
        }
        self.all_of.push(other);
        self
    }

    /// The same, as one that can take away and not give.
    #[must_use]
    pub fn tightening(mut self) -> Self {
        self.only_tightens = true;
        self
    }

    /// Makes it ready to decide.
    pub fn compile(&self) -> Result<Policy, PolicyError> {
        Policy::new(self)
    }
}
