//! Composition runs: a snippet that calls several tools under one ceiling.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{ErrorCategory, ToolCallStatus, ToolExecutor, ToolKind};

/// How far a tool may reach, from nothing to the network.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
}

/// The parent of a composition: the same envelope at start, finish and error; at the start the result
/// parts are empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompositionRun {
    /// Groups parent and children.
    pub run_id: String,
    /// The snippet's language.
    pub language: String,
    /// `sha256:` over the snippet.
    pub snippet_hash: String,
    /// `sha256:` over the binding manifest.
    pub binding_manifest_hash: String,
    /// How far children may reach.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
