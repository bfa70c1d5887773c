//! One rule as people and hosts write it: an action, and the calls it applies to. An unknown entry is an
//! error and is never ignored. Makes no decision.

use crate::JsonSchema;
use harn_model::{PolicyAction, SideEffectLevel, ToolKind};
use serde::Serialize;

use crate::SessionMode;

mod deserialize;

/// A rule: an action for the calls that match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Rule")]
pub struct PolicyRule {
    /// The name of the rule, for receipts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The action for the calls that match.
    pub action: PolicyAction,
    /// The calls that the rule applies to.
    #[serde(rename = "match")]
    pub matcher: RuleMatcher,
    /// The reason, for a person; the receipt repeats it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl PolicyRule {
    /// Creates a rule for these calls, without a name.
    pub fn new(action: PolicyAction, matcher: RuleMatcher) -> Self {
        Self {
            id: None,
            action,
            matcher,
            reason: None,
        }
    }

    /// Returns the rule with this name.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Returns the rule with this reason.
    #[must_use]
    pub fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }
}

/// The calls that a rule applies to. Every given field must match, by at least one entry of its list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Matcher")]
pub struct RuleMatcher {
    /// Patterns of tool names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool: Vec<String>,
    /// Kinds of tools; a tool without a kind is `other`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_kind: Vec<ToolKind>,
    /// Side-effect levels that tools declare.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub side_effect: Vec<SideEffectLevel>,
    /// Declared paths: all of them for an allow rule, any for an ask or deny rule. The latter also matches
    /// paths that a command names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// Commands, word by word: all of a line for an allow rule, any for an ask or deny rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Programs that commands run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command_identity: Vec<String>,
    /// Names of workers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agent: Vec<String>,
    /// Modes of the session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mode: Vec<SessionMode>,
    /// Capabilities that a tool declares, as `capability.operation`: all of them for an allow rule, any for an
    /// ask or deny rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capability: Vec<String>,
    /// Commands in the sandbox (true), or commands that ask to run outside of it (false). An allow rule covers the
    /// latter only with this condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<bool>,
}

impl RuleMatcher {
    /// Returns a matcher for calls of the tools that match this pattern.
    pub fn tool(pattern: impl Into<String>) -> Self {
        Self {
            tool: vec![pattern.into()],
            ..Self::default()
        }
    }

    /// Whether no field is given.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
