//! The table of extension updates: the name of each, and its vendor fields, taken from the model's records.
//!
//! Keys are camelCase; records that hosts receive unchanged keep snake_case.

use std::{borrow::Cow, path::Path};

use harn_model::{
    Artifact, FsWatchEvent, HandoffArtifact, HitlOutcome, LiveClientAction, LiveClientChange,
    LiveClientLeft, LogRecord, MutationSession, Progress, RenderedReminder, SkillNarrow,
    ToolSearchQuery, ToolSearchResult, TranscriptCompacted, TranscriptProjected, WorkerEvent,
    WorkerMetadata, WorkerStatus, WorkerUpdate,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ExtensionFields;
use crate::{
    JsonSchema,
    ext::{
        HarnMeta,
        lend::{RecordCow, wire_fields},
    },
};

extension_updates! {
    /// The agent made an artifact.
    Artifact = "artifact" { ArtifactFields }
    /// Watched files changed.
    FsWatch = "fs_watch" { FsWatchFields }
    /// An agent or worker handed over work.
    Handoff = "handoff" { HandoffFields }
    /// The agent asks a person.
    HitlRequest = "hitl_request" { HitlRequestFields }
    /// The question to a person is settled.
    HitlResolved = "hitl_resolved" { HitlResolvedFields }
    /// A client attached, detached, took control or sent a heartbeat.
    LiveSessionClient = "live_session_client" { LiveClientFields }
    /// A line for the host's log.
    Log = "log" { LogFields }
    /// The agent reports progress.
    Progress = "progress" { ProgressFields }
    /// A reminder was rendered into a prompt.
    ReminderEmitted = "reminder_emitted" { ReminderFields }
    /// A skill became active.
    SkillActivated = "skill_activated" { SkillActivatedFields }
    /// A skill became inactive.
    SkillDeactivated = "skill_deactivated" { SkillDeactivatedFields }
    /// The set of available tools was narrowed.
    SkillNarrow = "skill_narrow" { SkillNarrowFields }
    /// A skill restricts the available tools.
    SkillScopeTools = "skill_scope_tools" { SkillScopeFields }
    /// The agent searched its tools.
    ToolSearchQuery = "tool_search_query" { ToolSearchQueryFields }
    /// The tool search ended.
    ToolSearchResult = "tool_search_result" { ToolSearchResultFields }
    /// A compaction replaced older messages.
    TranscriptCompacted = "transcript_compacted" { CompactedFields }
    /// A prompt was built from part of the transcript.
    TranscriptProjected = "transcript_projected" { ProjectedFields }
    /// A worker changed state.
    WorkerUpdate = "worker_update" { WorkerFields }
}

/// Declares the fields of updates. Our own clients accept an update that lacks fields of `with_defaults`.
macro_rules! update_fields {
    (
        with_defaults { $($(#[$doc:meta])* pub $name:ident $(from $record:ty)? { $($fields:tt)* })* }
        complete { $($(#[$about:meta])* pub $whole:ident { $($members:tt)* })* }
    ) => {
        wire_fields! {
            $(
                $(#[$doc])*
                #[derive(Default)]
                #[serde(default)]
                #[schemars(deny_unknown_fields, !default)]
                pub $name $(from $record)? { $($fields)* }
            )*
            $(
                $(#[$about])*
                #[schemars(deny_unknown_fields)]
                pub $whole { $($members)* }
            )*
        }
    };
}

update_fields! {
    with_defaults {
        /// The fields of an [`Artifact`].
        pub ArtifactFields from Artifact {
            artifact_id: Cow<'a, str>,
            kind: Cow<'a, str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            title: Option<Cow<'a, str>>,
            mime_type: Cow<'a, str>,
            spec: Cow<'a, Value>,
            fallback: Cow<'a, str>,
            size_bytes: u64,
            provenance: Cow<'a, Value>,
            metadata: Cow<'a, Value>,
        }
        /// A watch and its changes; the events keep snake_case.
        pub FsWatchFields {
            subscription_id: Cow<'a, str>,
            events: Cow<'a, [FsWatchEvent]>,
        }
        /// A question to a person.
        pub HitlRequestFields {
            request_id: Cow<'a, str>,
            kind: Cow<'a, str>,
            payload: Cow<'a, Value>,
        }
        /// The fields of a [`LogRecord`].
        pub LogFields from LogRecord {
            level: Cow<'a, str>,
            message: Cow<'a, str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            fields: Option<Cow<'a, Value>>,
        }
        /// The fields of a [`Progress`].
        pub ProgressFields from Progress {
            phase: Cow<'a, str>,
            message: Cow<'a, str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            progress: Option<i64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            total: Option<i64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            data: Option<Cow<'a, Value>>,
        }
        /// A rendered reminder, in one object.
        pub ReminderFields { reminder: ReminderRecord<'a> }
        /// The content of a rendered reminder.
        pub ReminderRecord from RenderedReminder {
            reminder_id: Cow<'a, str>,
            tags: Cow<'a, [String]>,
            body: Cow<'a, str>,
            role_hint: Cow<'a, str>,
            rendered_role: Cow<'a, str>,
            source: Cow<'a, str>,
            ttl_turns: Option<i64>,
        }
        /// A skill that became active.
        pub SkillActivatedFields {
            skill_name: Cow<'a, str>,
            /// The skill's id, if it differs from the name.
            #[serde(skip_serializing_if = "Option::is_none")]
            skill_id: Option<Cow<'a, str>>,
            iteration: u64,
            reason: Cow<'a, str>,
        }
        /// A skill that became inactive.
        pub SkillDeactivatedFields {
            skill_name: Cow<'a, str>,
            /// The skill's id, if it differs from the name.
            #[serde(skip_serializing_if = "Option::is_none")]
            skill_id: Option<Cow<'a, str>>,
            iteration: u64,
        }
        /// A skill and the tools that it allows.
        pub SkillScopeFields {
            skill_name: Cow<'a, str>,
            /// The skill's id, if it differs from the name.
            #[serde(skip_serializing_if = "Option::is_none")]
            skill_id: Option<Cow<'a, str>>,
            allowed_tools: Cow<'a, [String]>,
        }
        /// The fields of a [`SkillNarrow`].
        pub SkillNarrowFields from SkillNarrow {
            reason: Cow<'a, str>,
            removed_tools: Cow<'a, [String]>,
            remaining_tools: Cow<'a, [String]>,
            #[serde(skip_serializing_if = "Option::is_none")]
            policy: Option<Cow<'a, Value>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            removed_tool_details: Option<Cow<'a, Value>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            kept_tool_details: Option<Cow<'a, Value>>,
        }
        /// The fields of a [`ToolSearchQuery`].
        pub ToolSearchQueryFields from ToolSearchQuery {
            tool_use_id: Cow<'a, str>,
            name: Cow<'a, str>,
            query: Cow<'a, Value>,
            strategy: Cow<'a, str>,
            mode: Cow<'a, str>,
        }
        /// The fields of a [`ToolSearchResult`].
        pub ToolSearchResultFields from ToolSearchResult {
            tool_use_id: Cow<'a, str>,
            promoted: Cow<'a, [String]>,
            strategy: Cow<'a, str>,
            mode: Cow<'a, str>,
        }
        /// The fields of a [`TranscriptCompacted`]. The snapshot is null if there is none.
        pub CompactedFields from TranscriptCompacted {
            mode: Cow<'a, str>,
            reason: Cow<'a, str>,
            strategy: Cow<'a, str>,
            archived_messages: u64,
            estimated_tokens_before: u64,
            estimated_tokens_after: u64,
            snapshot_asset_id: Option<Cow<'a, str>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            instruction_mode: Option<Cow<'a, str>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            instruction_source: Option<Cow<'a, str>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            compaction_policy: Option<Cow<'a, Value>>,
        }
        /// The fields of a [`TranscriptProjected`].
        pub ProjectedFields from TranscriptProjected {
            policy: Cow<'a, str>,
            reason: Cow<'a, str>,
            prefix_hash: Cow<'a, str>,
            kept_count: u64,
            dropped_count: u64,
            provider_safety_blocked: bool,
            redacted_count: u64,
            reclaimed_tokens: u64,
            roots_consulted: Cow<'a, [String]>,
            redaction_pointers: Cow<'a, [Value]>,
        }
    }
    complete {
        /// A handoff; the record keeps snake_case.
        pub HandoffFields {
            handoff_id: Cow<'a, str>,
            artifact_id: Cow<'a, str>,
            handoff: RecordCow<'a, HandoffArtifact>,
        }
        /// The outcome of a question to a person.
        pub HitlResolvedFields {
            request_id: Cow<'a, str>,
            kind: Cow<'a, str>,
            outcome: HitlOutcome,
        }
        /// A client's action and the client registry after it; the registry keeps snake_case.
        pub LiveClientFields {
            action: LiveClientAction,
            state: RecordCow<'a, LiveClientChange>,
            /// The client that left and the reason, if one did.
            #[serde(skip_serializing_if = "Option::is_none")]
            left: Option<RecordCow<'a, LiveClientLeft>>,
        }
        /// The fields of a [`WorkerUpdate`]. `terminal` is derived from the event; metadata and audit keep snake_case.
        pub WorkerFields {
            worker_id: Cow<'a, str>,
            worker_name: Cow<'a, str>,
            worker_task: Cow<'a, str>,
            worker_mode: Cow<'a, str>,
            event: WorkerEvent,
            status: WorkerStatus,
            terminal: bool,
            metadata: Cow<'a, WorkerMetadata>,
            #[serde(skip_serializing_if = "Option::is_none")]
            audit: Option<RecordCow<'a, MutationSession>>,
        }
    }
}

impl<'a> ProgressFields<'a> {
    /// Builds the fields for an agent's narration.
    pub(crate) fn narration(message: &'a str) -> Self {
        Self {
            phase: "narration".into(),
            message: message.into(),
            ..Self::default()
        }
    }
}

impl<'a> From<&'a RenderedReminder> for ReminderFields<'a> {
    fn from(r: &'a RenderedReminder) -> Self {
        Self { reminder: r.into() }
    }
}

impl<'a> WorkerFields<'a> {
    /// Builds the fields of an update. With a `session_root`, the paths of a worker's session become
    /// absolute.
    pub(crate) fn new(w: &'a WorkerUpdate, session_root: Option<&Path>) -> Self {
        Self {
            worker_id: w.worker_id.as_str().into(),
            worker_name: (&w.worker_name).into(),
            worker_task: (&w.worker_task).into(),
            worker_mode: (&w.worker_mode).into(),
            event: w.event,
            status: w.event.status(),
            terminal: w.event.is_terminal(),
            metadata: make_paths_absolute(&w.metadata, session_root),
            audit: w.audit.as_deref().map(RecordCow::Borrowed),
        }
    }
}

/// Makes the paths absolute. A worker without a child session, which its agent only reports, keeps its paths
/// unchanged.
fn make_paths_absolute<'a>(
    metadata: &'a WorkerMetadata,
    session_root: Option<&Path>,
) -> Cow<'a, WorkerMetadata> {
    let root = session_root.filter(|_| metadata.child_run_id.is_some());
    let Some(root) = root else {
        return Cow::Borrowed(metadata);
    };
    let mut metadata = metadata.clone();
    let paths = [&mut metadata.child_run_path, &mut metadata.snapshot_path];
    for path in paths.into_iter().flatten() {
        *path = root.join(&*path).display().to_string();
    }
    Cow::Owned(metadata)
}
