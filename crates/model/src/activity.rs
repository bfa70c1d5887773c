//! Agent activity beyond messages and tools: skills, reminders, artifacts, transcripts, search.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something that an agent made for display.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Artifact {
    /// Its id.
    pub artifact_id: String,
    /// The kind: `vega-lite`, `file`, …
    pub kind: String,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Media type.
    pub mime_type: String,
    /// The data to render.
    #[serde(default)]
    pub spec: Value,
    /// The text to show if a host cannot render it.
    #[serde(default)]
    pub fallback: String,
    /// Its size in bytes.
    #[serde(default)]
    pub size_bytes: u64,
    /// Where it came from.
    #[serde(default)]
    pub provenance: Value,
    /// Further data.
    #[serde(default)]
    pub metadata: Value,
}

impl Artifact {
    /// Checks whether hosts may receive it: a file is a reference, never inline bytes.
    pub fn check(&self) -> Result<(), String> {
        const SCHEMES: [&str; 4] = ["file://", "artifact://", "harn-artifact://", "urn:"];
        const INLINE: [&str; 4] = ["base64", "bytes", "content", "data"];
        if !matches!(self.kind.as_str(), "file" | "artifact_manifest") {
            return Ok(());
        }
        let kind = &self.kind;
        if let Some(member) = INLINE.iter().find(|member| self.spec.get(member).is_some()) {
            return Err(format!(
                "an artifact of the kind {kind} carries its bytes in `spec.{member}`; give a `uri` instead"
            ));
        }
        let uri = self.spec.get("uri").and_then(Value::as_str);
        if uri.is_some_and(|uri| SCHEMES.iter().any(|scheme| uri.starts_with(scheme))) {
            return Ok(());
        }
        Err(format!(
            "an artifact of the kind {kind} needs a `spec.uri` that begins with one of {}",
            SCHEMES.join(", ")
        ))
    }
}

/// A progress report with a phase, a message and a count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The name of the phase.
    pub phase: String,
    /// The text to show.
    pub message: String,
    /// The amount that is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<i64>,
    /// The total amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<i64>,
    /// Further data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// A progress report that an agent wrote: narration, a checklist, or both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgressReport {
    /// The narration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The checklist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<crate::PlanEntry>,
    /// Whether the checklist replaces the previous one.
    #[serde(default)]
    pub replace: bool,
    /// Further data.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub metadata: Value,
}

/// A line for the host's log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogRecord {
    /// `debug`, `info`, `warn` or `error`.
    pub level: String,
    /// The text.
    pub message: String,
    /// Structured fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<Value>,
}

/// One change in a watched folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct FsWatchEvent {
    /// `create`, `modify`, `remove`, `rename` or `other`.
    pub kind: String,
    /// Absolute paths.
    #[serde(default)]
    pub paths: Vec<String>,
    /// The same paths, relative to the watched folder.
    #[serde(default)]
    pub relative_paths: Vec<String>,
    /// The kind in the watcher's own words.
    #[serde(default)]
    pub raw_kind: String,
    /// The error, if there was one.
    #[serde(default)]
    pub error: Option<String>,
}

/// A ranking of skills; only in the transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SkillMatch {
    /// The name of the ranker.
    pub strategy: String,
    /// The iteration of the turn.
    pub iteration: u64,
    /// Whether it ranked again after the first time.
    #[serde(default)]
    pub reassess: bool,
    /// The ranked skills.
    #[serde(default)]
    pub candidates: Vec<SkillCandidate>,
    /// Files that were in use.
    #[serde(default)]
    pub working_files: Vec<String>,
}

/// One ranked skill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SkillCandidate {
    /// Its name in a host's ranking, its id in the transcript.
    pub name: String,
    /// Its score.
    pub score: f64,
    /// The reason for the score.
    pub reason: String,
}

/// The available tools were reduced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SkillNarrow {
    /// The reason.
    pub reason: String,
    /// The tools that were removed.
    #[serde(default)]
    pub removed_tools: Vec<String>,
    /// The tools that remain.
    #[serde(default)]
    pub remaining_tools: Vec<String>,
    /// The policy that removed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Value>,
    /// Details about the removed tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed_tool_details: Option<Value>,
    /// Details about the remaining tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_tool_details: Option<Value>,
}

/// A search of an agent among its tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSearchQuery {
    /// The id of the call.
    pub tool_use_id: String,
    /// The search tool.
    pub name: String,
    /// Its arguments.
    #[serde(default)]
    pub query: Value,
    /// `bm25`, `regex`, `hybrid` or another name.
    pub strategy: String,
    /// `client`, or the provider that searched.
    pub mode: String,
}

/// The result of a tool search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSearchResult {
    /// The id of the call.
    pub tool_use_id: String,
    /// Tools that are now available.
    #[serde(default)]
    pub promoted: Vec<String>,
    /// `bm25`, `regex`, `hybrid` or another name.
    pub strategy: String,
    /// `client`, or the provider that searched.
    pub mode: String,
}

/// Older messages were replaced with a summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TranscriptCompacted {
    /// `auto` or `manual`.
    pub mode: String,
    /// The reason.
    pub reason: String,
    /// The method.
    pub strategy: String,
    /// How many messages were replaced.
    pub archived_messages: u64,
    /// Estimated tokens before.
    pub estimated_tokens_before: u64,
    /// Estimated tokens after.
    pub estimated_tokens_after: u64,
    /// The asset that stores the original messages.
    #[serde(default)]
    pub snapshot_asset_id: Option<String>,
    /// How instructions were treated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instruction_mode: Option<String>,
    /// Where the instructions came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instruction_source: Option<String>,
    /// The policy in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction_policy: Option<Value>,
}

/// A prompt was built from part of the transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TranscriptProjected {
    /// The name of the policy.
    pub policy: String,
    /// The reason.
    pub reason: String,
    /// Hash of the stable prefix.
    pub prefix_hash: String,
    /// Messages kept.
    pub kept_count: u64,
    /// Messages left out.
    pub dropped_count: u64,
    /// Whether a provider's safety rule blocked something.
    #[serde(default)]
    pub provider_safety_blocked: bool,
    /// Messages redacted.
    #[serde(default)]
    pub redacted_count: u64,
    /// Tokens saved.
    #[serde(default)]
    pub reclaimed_tokens: u64,
    /// Roots that were read.
    #[serde(default)]
    pub roots_consulted: Vec<String>,
    /// Where the redactions are.
    #[serde(default)]
    pub redaction_pointers: Vec<Value>,
}

/// A reminder was rendered into a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenderedReminder {
    /// Its id.
    pub reminder_id: String,
    /// Its tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Its text.
    pub body: String,
    /// The role that it asked for.
    pub role_hint: String,
    /// The role that it was rendered with.
    pub rendered_role: String,
    /// Its source.
    pub source: String,
    /// How many turns it lasts.
    #[serde(default)]
    pub ttl_turns: Option<i64>,
}
