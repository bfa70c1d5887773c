//! Composition runs: a snippet that calls several tools under one ceiling.

use std::collections::BTreeMap;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{ErrorCategory, ToolCallStatus, ToolExecutor, ToolKind, hash};

/// How far a tool may reach, from nothing to the network.
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
pub enum SideEffectLevel {
    /// Touches nothing.
    #[default]
    None,
    /// Reads.
    ReadOnly,
    /// Writes in the workspace.
    WorkspaceWrite,
    /// Runs processes.
    ProcessExec,
    /// Reaches the network.
    Network,
}

/// What is known about a tool before it runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ToolAnnotations {
    /// What sort of tool.
    #[serde(default)]
    pub kind: ToolKind,
    /// How far it reaches.
    #[serde(default)]
    pub side_effect_level: SideEffectLevel,
    /// Which arguments are paths, and how arguments are named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arg_schema: Option<Value>,
    /// Operations it needs, by capability.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capabilities: BTreeMap<String, Vec<String>>,
    /// Whether it makes artifacts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emits_artifacts: Option<bool>,
    /// Tools that read what it leaves behind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub result_readers: Vec<String>,
    /// Whether its result is small enough to stand in the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline_result: Option<bool>,
}

/// The parent of a composition: the same envelope at start, finish and error; at the start the result
/// parts are empty. An agent gives the snippet and the manifest at the start; the runtime hashes them,
/// and repeats language, hashes and ceiling at the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CompositionRun {
    /// Groups parent and children.
    pub run_id: String,
    /// The snippet's language.
    #[serde(default)]
    pub language: String,
    /// The snippet; stays in the journal.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub snippet: String,
    /// What the snippet may call; stays in the journal.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub binding_manifest: Value,
    /// See [`snippet_hash`]; filled by the runtime.
    #[serde(default)]
    pub snippet_hash: String,
    /// See [`binding_manifest_hash`]; filled by the runtime.
    #[serde(default)]
    pub binding_manifest_hash: String,
    /// How far children may reach.
    #[serde(default = "read_only")]
    pub requested_side_effect_ceiling: SideEffectLevel,
    /// What it printed.
    #[serde(default)]
    pub stdout: Option<String>,
    /// What it complained about.
    #[serde(default)]
    pub stderr: Option<String>,
    /// What it made.
    #[serde(default)]
    pub artifacts: Vec<Value>,
    /// What it returned.
    #[serde(default)]
    pub result: Option<Value>,
    /// Why it failed.
    #[serde(default)]
    pub failure_category: Option<FailureCategory>,
    /// What it said when it failed.
    #[serde(default)]
    pub error: Option<String>,
    /// How long it took.
    #[serde(default)]
    pub duration_ms: Option<u64>,
    /// Anything else.
    #[serde(default)]
    pub metadata: Map<String, Value>,
}

/// Why a composition failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureCategory {
    /// No such language.
    UnsupportedLanguage,
    /// Arguments did not fit.
    SchemaValidation,
    /// A rule said no.
    PolicyDenied,
    /// A child failed.
    ChildToolError,
    /// The snippet failed.
    ExecutionError,
    /// It took too long.
    Timeout,
    /// It was cancelled.
    Cancelled,
    /// None of these.
    Unknown,
}

/// A child of a composition begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChildCall {
    /// Its parent.
    pub run_id: String,
    /// Its id.
    pub tool_call_id: String,
    /// The tool.
    pub tool_name: String,
    /// Its place, from 0.
    #[serde(default)]
    pub operation_index: u64,
    /// What decides its mutation class; not the parent.
    #[serde(default)]
    pub annotations: Option<ToolAnnotations>,
    /// How far it reaches.
    #[serde(default)]
    pub requested_side_effect_level: SideEffectLevel,
    /// What the policy saw.
    #[serde(default)]
    pub policy_context: Map<String, Value>,
    /// Its arguments.
    #[serde(default)]
    pub raw_input: Value,
}

/// A child of a composition ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChildResult {
    /// Its parent.
    pub run_id: String,
    /// Its id.
    pub tool_call_id: String,
    /// The tool.
    pub tool_name: String,
    /// Its place, from 0.
    #[serde(default)]
    pub operation_index: u64,
    /// How it ended.
    pub status: ToolCallStatus,
    /// Its result.
    #[serde(default)]
    pub raw_output: Option<Value>,
    /// What went wrong.
    #[serde(default)]
    pub error: Option<String>,
    /// Which sort of wrong.
    #[serde(default)]
    pub error_category: Option<ErrorCategory>,
    /// Who ran it.
    #[serde(default)]
    pub executor: Option<ToolExecutor>,
    /// From call to result.
    #[serde(default)]
    pub duration_ms: Option<u64>,
    /// While it ran.
    #[serde(default)]
    pub execution_duration_ms: Option<u64>,
}

fn read_only() -> SideEffectLevel {
    SideEffectLevel::ReadOnly
}

/// `sha256:` and the digest, in hex, of the domain, the language and the snippet, NUL between them.
#[must_use]
pub fn snippet_hash(language: &str, snippet: &str) -> String {
    let domain = b"harn.composition.snippet.v1";
    let hash = hash::sha256(&[domain, language.as_bytes(), snippet.as_bytes()]);
    format!("sha256:{hash}")
}

/// `sha256:` and the digest, in hex, of the domain and the manifest as compact JSON with sorted keys,
/// NUL between them.
#[must_use]
pub fn binding_manifest_hash(manifest: &Value) -> String {
    let mut canonical = manifest.clone();
    canonical.sort_all_objects();
    let canonical = canonical.to_string();
    let domain = b"harn.composition.binding_manifest.v1";
    format!("sha256:{}", hash::sha256(&[domain, canonical.as_bytes()]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The digests are those of `printf 'harn.composition.snippet.v1\0lua\0return 1' | sha256sum` and its like.
    #[test]
    fn hashes_cover_the_domain_and_every_part() {
        assert_eq!(
            snippet_hash("lua", "return 1"),
            "sha256:7c90cf9699a51c98a42ebfdfca722c6cd1f3eaaab076f654a2c674a95fe67e66"
        );
        assert_eq!(
            binding_manifest_hash(&json!({"b": 1, "a": [{"d": 2, "c": 3}]})),
            "sha256:647c3d74998ad421bc0be1e8563ca62909ec947c961bcd2148fc991f0578712d"
        );
        assert_eq!(
            binding_manifest_hash(&json!({"a": [{"c": 3, "d": 2}], "b": 1})),
            binding_manifest_hash(&json!({"b": 1, "a": [{"d": 2, "c": 3}]}))
        );
        assert_ne!(snippet_hash("lua", "x"), snippet_hash("luax", ""));
    }
}
