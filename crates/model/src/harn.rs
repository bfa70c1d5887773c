//! Activity beyond messages and tools: skills, reminders, artifacts, transcripts, search.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something the agent made that a host can show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Artifact {
    /// Its id.
    pub artifact_id: String,
    /// What sort: `vega-lite`, `file`, …
    pub kind: String,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Media type.
    pub mime_type: String,
    /// What to render.
    #[serde(default)]
    pub spec: Value,
    /// What to show where it cannot be rendered.
    #[serde(default)]
    pub fallback: String,
    /// Its size.
    #[serde(default)]
    pub size_bytes: u64,
    /// Where it came from.
    #[serde(default)]
    pub provenance: Value,
    /// Anything else.
    #[serde(default)]
    pub metadata: Value,
}

impl Artifact {
    /// Whether hosts may be sent it: a file is referred to, never carried along.
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

/// How far something is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Which phase.
    pub phase: String,
    /// What to show.
    pub message: String,
    /// How much is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<i64>,
    /// Of how much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<i64>,
    /// Anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// A progress report an agent wrote itself: narration, a checklist, or both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgressReport {
    /// Narration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Checklist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<crate::PlanEntry>,
    /// Whether the checklist replaces the one before it.
    #[serde(default)]
    pub replace: bool,
    /// Anything else.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub metadata: Value,
}

/// A line for the host's log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogRecord {
    /// `debug`, `info`, `warn`, `error`.
    pub level: String,
    /// The line.
    pub message: String,
    /// Structured fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<Value>,
}

/// One change in a watched folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct FsWatchEvent {
    /// `create`, `modify`, `remove`, `rename`, `other`.
    pub kind: String,
    /// Absolute paths.
    #[serde(default)]
    pub paths: Vec<String>,
    /// The same, relative to the watched folder.
    #[serde(default)]
    pub relative_paths: Vec<String>,
    /// What the watcher called it.
    #[serde(default)]
    pub raw_kind: String,
    /// What went wrong, if anything did.
    #[serde(default)]
    pub error: Option<String>,
}

/// A ranking pass over skills; stays in the transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SkillMatch {
    /// Which ranker.
    pub strategy: String,
    /// In which iteration.
    pub iteration: u64,
    /// Whether it ran again after the first time.
    #[serde(default)]
    pub reassess: bool,
    /// What it found.
    #[serde(default)]
    pub candidates: Vec<SkillCandidate>,
    /// Files that were in use.
    #[serde(default)]
    pub working_files: Vec<String>,
}

/// One ranked skill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SkillCandidate {
    /// Its name as a host ranks it, its id in the transcript.
    pub name: String,
    /// Its score.
    pub score: f64,
    /// Why.
    pub reason: String,
}

/// The tools in reach were narrowed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SkillNarrow {
    /// Why.
    pub reason: String,
    /// What went.
    #[serde(default)]
    pub removed_tools: Vec<String>,
    /// What stayed.
    #[serde(default)]
    pub remaining_tools: Vec<String>,
    /// By which policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Value>,
    /// More about what went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed_tool_details: Option<Value>,
    /// More about what stayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_tool_details: Option<Value>,
}

/// The agent searched its tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSearchQuery {
    /// The call.
    pub tool_use_id: String,
    /// The search tool.
    pub name: String,
    /// Its arguments.
    #[serde(default)]
    pub query: Value,
    /// `bm25`, `regex`, `hybrid` or a name of its own.
    pub strategy: String,
    /// `client`, or the provider that searched.
    pub mode: String,
}

/// What a tool search found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSearchResult {
    /// The call.
    pub tool_use_id: String,
    /// Tools now in reach.
    #[serde(default)]
    pub promoted: Vec<String>,
    /// `bm25`, `regex`, `hybrid` or a name of its own.
    pub strategy: String,
    /// `client`, or the provider that searched.
    pub mode: String,
}

/// Older messages were folded away.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TranscriptCompacted {
    /// `auto` or `manual`.
    pub mode: String,
    /// Why.
    pub reason: String,
    /// How.
    pub strategy: String,
    /// How many messages went.
    pub archived_messages: u64,
    /// Tokens before.
    pub estimated_tokens_before: u64,
    /// Tokens after.
    pub estimated_tokens_after: u64,
    /// Where the originals are.
    #[serde(default)]
    pub snapshot_asset_id: Option<String>,
    /// How instructions were treated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instruction_mode: Option<String>,
    /// Where they came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instruction_source: Option<String>,
    /// The policy in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction_policy: Option<Value>,
}

/// A prompt was built from part of the transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TranscriptProjected {
    /// Which policy.
    pub policy: String,
    /// Why.
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
    /// Tokens won.
    #[serde(default)]
    pub reclaimed_tokens: u64,
    /// Roots that were looked at.
    #[serde(default)]
    pub roots_consulted: Vec<String>,
    /// Where redactions are.
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
    /// What it says.
    pub body: String,
    /// The role it asked for.
    pub role_hint: String,
    /// The role it got.
    pub rendered_role: String,
    /// Who made it.
    pub source: String,
    /// How many turns it lasts.
    #[serde(default)]
    pub ttl_turns: Option<i64>,
}
