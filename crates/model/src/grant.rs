//! Grants: remembered answers, for exactly what the person was shown.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ToolKind;

/// An answer that applies to calls exactly like the one it was given to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Grant {
    /// The id, derived from all other fields: the same grant twice is one.
    pub id: String,
    /// Whether it allows or denies.
    pub effect: GrantEffect,
    /// The directory it applies to.
    pub workspace: String,
    /// The name of the tool.
    pub tool: String,
    /// The kind of tool: the grant does not cover a tool of the same name with another kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// The arguments that it covers.
    #[serde(flatten)]
    pub subject: GrantSubject,
}

/// Whether a grant allows or denies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GrantEffect {
    /// The call runs.
    Allow,
    /// The call does not run.
    Deny,
}

/// The part of a call that a grant covers. Compared as a whole: a grant covers only what was shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GrantSubject {
    /// One command, word by word.
    Argv(Vec<String>),
    /// A line of more than one command, character by character.
    Line(String),
    /// These files, relative to the workspace, sorted.
    Paths(Vec<String>),
    /// These exact arguments.
    Arguments(Value),
}

/// How long an answer applies.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum GrantScope {
    /// For this call.
    #[default]
    Once,
    /// As long as the session exists.
    Session,
    /// Until it is revoked.
    Always,
}
