//! Composition runs: a snippet calls several tools under one limit of side effects.

use std::collections::BTreeMap;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{ErrorCategory, ToolCallStatus, ToolExecutor, ToolKind, hash};

/// The side effects that a tool may have, the least first.
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
    /// No side effects.
    #[default]
    None,
    /// Reads only.
    ReadOnly,
    /// Writes in the workspace.
    WorkspaceWrite,
    /// Runs processes.
    ProcessExec,
    /// Uses the network.
    Network,
}

/// The properties of a tool as known before it runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ToolAnnotations {
    /// The kind of tool.
    #[serde(default)]
    pub kind: ToolKind,
    /// Its side effects.
    #[serde(default)]
    pub side_effect_level: SideEffectLevel,
    /// Which arguments are paths, and how arguments are named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arg_schema: Option<Value>,
    /// Operations it needs, by capability.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capabilities: BTreeMap<String, Vec<String>>,
    /// Whether it creates artifacts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emits_artifacts: Option<bool>,
    /// Tools that read its stored result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub result_readers: Vec<String>,
    /// Whether its result is small enough to be part of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline_result: Option<bool>,
}

/// The parent of a composition: the same record at start, finish and error; at the start the result fields are
/// empty. An agent gives the snippet and the manifest at the start; the runtime hashes them, and repeats language,
/// hashes and ceiling at the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CompositionRun {
    /// The id that parent and children share.
    pub run_id: String,
    /// The snippet's language.
    #[serde(default)]
    pub language: String,
    /// The snippet; stored only in the journal.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub snippet: String,
    /// The tools that the snippet may call; stored only in the journal.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub binding_manifest: Value,
    /// See [`snippet_hash`]; the runtime fills it.
    #[serde(default)]
    pub snippet_hash: String,
    /// See [`binding_manifest_hash`]; the runtime fills it.
    #[serde(default)]
    pub binding_manifest_hash: String,
    /// The highest level of side effects that children may have.
    #[serde(default = "read_only")]
    pub requested_side_effect_ceiling: SideEffectLevel,
    /// Its standard output.
    #[serde(default)]
    pub stdout: Option<String>,
    /// Its standard error.
    #[serde(default)]
    pub stderr: Option<String>,
    /// The artifacts it created.
    #[serde(default)]
    pub artifacts: Vec<Value>,
    /// Its return value.
    #[serde(default)]
    pub result: Option<Value>,
    /// Why it failed.
    #[serde(default)]
    pub failure_category: Option<FailureCategory>,
    /// The error message.
    #[serde(default)]
    pub error: Option<String>,
    /// The duration in milliseconds.
    #[serde(default)]
    pub duration_ms: Option<u64>,
    /// Further data.
    #[serde(default)]
    pub metadata: Map<String, Value>,
}

/// Why a composition failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureCategory {
    /// The language is not supported.
    UnsupportedLanguage,
    /// Arguments do not match their schema.
    SchemaValidation,
    /// The policy denied a call.
    PolicyDenied,
    /// A child failed.
    ChildToolError,
    /// The snippet failed.
    ExecutionError,
    /// The run exceeded its time limit.
    Timeout,
    /// It was cancelled.
    Cancelled,
    /// Another reason.
    Unknown,
}

/// The start of a child call of a composition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChildCall {
    /// The id of the composition.
    pub run_id: String,
    /// The id of the child call.
    pub tool_call_id: String,
    /// The name of the tool.
    pub tool_name: String,
    /// Its position in the run, from 0.
    #[serde(default)]
    pub operation_index: u64,
    /// The tool's annotations. They, not the parent, decide its mutation class.
    #[serde(default)]
    pub annotations: Option<ToolAnnotations>,
    /// The side effects that it requests.
    #[serde(default)]
    pub requested_side_effect_level: SideEffectLevel,
    /// The context of the policy's decision.
    #[serde(default)]
    pub policy_context: Map<String, Value>,
    /// Its arguments.
    #[serde(default)]
    pub raw_input: Value,
}

/// The end of a child call of a composition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChildResult {
    /// The id of the composition.
    pub run_id: String,
    /// The id of the child call.
    pub tool_call_id: String,
    /// The name of the tool.
    pub tool_name: String,
    /// Its position in the run, from 0.
    #[serde(default)]
    pub operation_index: u64,
    /// The final status.
    pub status: ToolCallStatus,
    /// Its result.
    #[serde(default)]
    pub raw_output: Option<Value>,
    /// The error message.
    #[serde(default)]
    pub error: Option<String>,
    /// The category of the error.
    #[serde(default)]
    pub error_category: Option<ErrorCategory>,
    /// The party that ran it.
    #[serde(default)]
    pub executor: Option<ToolExecutor>,
    /// Milliseconds from call to result.
    #[serde(default)]
    pub duration_ms: Option<u64>,
    /// Milliseconds that it ran.
    #[serde(default)]
    pub execution_duration_ms: Option<u64>,
}

fn read_only() -> SideEffectLevel {
    SideEffectLevel::ReadOnly
}

/// Returns `sha256:` and the digest, in hex, of the domain, the language and the snippet, NUL between them.
pub fn snippet_hash(language: &str, snippet: &str) -> String {
    let domain = b"harn.composition.snippet.v1";
    let hash = hash::sha256(&[domain, language.as_bytes(), snippet.as_bytes()]);
    format!("sha256:{hash}")
}

/// Returns `sha256:` and the digest, in hex, of the domain and the manifest as compact JSON with sorted keys, NUL
/// between them.
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

    /// The digests come from `printf 'harn.composition.snippet.v1\0lua\0return 1' | sha256sum` and similar
    /// commands.
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
