//! What a host lends over its bridge, in one form for every way a host sends it: tools, capabilities, skills and
//! their ranking.

use std::collections::{BTreeMap, BTreeSet};

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool that a host offers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct HostTool {
    /// Its name.
    pub name: String,
    /// A description; may be empty.
    pub description: String,
    /// The JSON Schema of its arguments, or null.
    pub schema: Value,
    /// Whether the tool should no longer be used.
    pub deprecated: bool,
}

/// The operations of a host, by capability.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostCapabilities(pub BTreeMap<String, BTreeSet<String>>);

impl HostCapabilities {
    /// Whether the host has an operation, such as `process` and `list_shells`.
    pub fn has(&self, capability: &str, operation: &str) -> bool {
        let operations = self.0.get(capability);
        operations.is_some_and(|operations| operations.contains(operation))
    }
}

/// A skill in a host's list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillRef {
    /// The id to fetch it by.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its purpose.
    #[serde(default)]
    pub description: String,
    /// Where the host got it.
    #[serde(default)]
    pub source: String,
    /// When to use it, if the list has that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when_to_use: Option<String>,
    /// Globs of the files that it applies to, if the list has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
}

/// A skill with its text. A host sends its manifest nested or flat.
#[derive(Clone, Debug, PartialEq)]
pub struct HostSkill {
    /// Its name.
    pub name: String,
    /// Its purpose.
    pub description: String,
    /// Its text.
    pub body: String,
    /// Further keys of its manifest, as in the front matter of a file.
    pub manifest: serde_json::Map<String, Value>,
}

/// A request that a host rank skills.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkillMatchRequest {
    /// `host` or `embedding`, as the session is configured.
    pub strategy: String,
    /// The user's last message.
    pub prompt: String,
    /// Files that are in use.
    pub working_files: Vec<String>,
    /// The skills to rank.
    pub candidates: Vec<SkillToMatch>,
}

/// A skill to rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillToMatch {
    /// Its name, or its id if the name is ambiguous.
    pub name: String,
    /// Its purpose.
    pub description: String,
    /// When to use it.
    pub when_to_use: String,
    /// Globs of the files that it applies to.
    pub paths: Vec<String>,
}
