//! One rule, as people and hosts write it: what it says, and of which calls. What is not understood is
//! refused, never left out. Judges nothing.

use crate::JsonSchema;
use harn_model::{PolicyAction, SideEffectLevel, ToolKind};
use serde::Serialize;

use crate::SessionMode;

mod read;

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Rule")]
pub struct PolicyRule {
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What it says.
    pub action: PolicyAction,
    /// Of which calls.
    #[serde(rename = "match")]
    pub matcher: RuleMatcher,
    /// Why, for a person; the receipt's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl PolicyRule {
    /// A rule about these calls, without a name.
    #[must_use]
    pub fn new(action: PolicyAction, matcher: RuleMatcher) -> Self {
        Self {
            id: None,
            action,
            matcher,
            reason: None,
        }
    }

    /// The same, named.
    #[must_use]
    pub fn named(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// The same, with a reason.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }
}

/// Which calls a rule is about: all that is given has to hold, and of each list one entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Matcher")]
pub struct RuleMatcher {
    /// Names of tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool: Vec<String>,
    /// Sorts of tools; one that does not say is `other`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_kind: Vec<ToolKind>,
    /// How far tools say they reach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub side_effect: Vec<SideEffectLevel>,
    /// Declared paths: all of them for what allows, any for what asks or denies, and for these whatever a
    /// command names as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// Commands, word by word: all of a line for what allows, any for what asks or denies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Programs of commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command_identity: Vec<String>,
    /// Names of workers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agent: Vec<String>,
    /// Modes of the session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mode: Vec<SessionMode>,
    /// What a tool says it needs, as `capability.operation`: all of it for what allows, any for what asks
    /// or denies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capability: Vec<String>,
}

impl RuleMatcher {
    /// Calls of the tools that match this.
    #[must_use]
    pub fn tool(pattern: impl Into<String>) -> Self {
        Self {
            tool: vec![pattern.into()],
            ..Self::default()
        }
    }

    /// Whether nothing is given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
