//! Grants: what somebody chose to have remembered, as narrow as what they were shown.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ToolKind;

/// An answer that holds for calls exactly like the one it was given to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Grant {
    /// Names it, and follows from all it says: the same grant twice is one.
    pub id: String,
    /// What it decides.
    pub effect: GrantEffect,
    /// The directory it holds in.
    pub workspace: String,
    /// The tool.
    pub tool: String,
    /// What sort of tool it was: one that says otherwise of itself does something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// What of the tool.
    #[serde(flatten)]
    pub subject: GrantSubject,
}

/// What a grant decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GrantEffect {
    /// Such a call runs.
    Allow,
    /// Such a call does not.
    Deny,
}

/// What a grant is about. Compared whole: nothing is covered that was not shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GrantSubject {
    /// One command, word by word.
    Argv(Vec<String>),
    /// A line that is more than one command, letter by letter.
    Line(String),
    /// These files, from the workspace, sorted.
    Paths(Vec<String>),
    /// These arguments.
    Arguments(Value),
}

/// How long an answer holds.
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
    /// As long as the session is there.
    Session,
    /// Until it is revoked.
    Always,
}
