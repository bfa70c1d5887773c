//! What a host lends over its bridge, in one form, however the host puts it: tools, capabilities, skills and
//! how it ranks them.

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
    /// What it does; may be empty.
    pub description: String,
    /// The JSON Schema of its arguments, or null.
    pub schema: Value,
    /// Whether it should not be used any more.
    pub deprecated: bool,
}

/// Which operations a host has, by capability.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostCapabilities(pub BTreeMap<String, BTreeSet<String>>);

impl HostCapabilities {
    /// Whether it has an operation, such as `process` and `list_shells`.
    #[must_use]
    pub fn has(&self, capability: &str, operation: &str) -> bool {
        let operations = self.0.get(capability);
        operations.is_some_and(|operations| operations.contains(operation))
    }
}

/// A skill that a host has, as its list tells of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillRef {
    /// What it is fetched by.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// Where the host has it from.
    #[serde(default)]
    pub source: String,
    /// When it helps, where the list says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when_to_use: Option<String>,
    /// Globs of the files it is about, where the list says them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
}

/// A skill as a host hands it over: the manifest as it came, nested or flat, and its text.
#[derive(Clone, Debug, PartialEq)]
pub struct HostSkill {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its text.
    pub body: String,
    /// Further keys of its manifest, as in the front matter of a file.
    pub manifest: serde_json::Map<String, Value>,
}

/// Skills to be ranked by a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkillMatchRequest {
    /// `host` or `embedding`, as the session is configured.
    pub strategy: String,
    /// What the user said last.
    pub prompt: String,
    /// Files that are in use.
    pub working_files: Vec<String>,
    /// What to choose from.
    pub candidates: Vec<SkillToMatch>,
}

/// A skill to be ranked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillToMatch {
    /// Its name, or its id where the name could mean another skill.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// When it helps.
    pub when_to_use: String,
    /// Globs of the files it is about.
    pub paths: Vec<String>,
}
