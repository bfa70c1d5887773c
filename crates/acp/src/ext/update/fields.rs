//! The vendor fields of each extension update, taken from the model's records.
//!
//! Keys are camelCase; records that hosts receive as they are keep snake_case.

use std::{borrow::Cow, path::Path};

use harn_model::{
    Artifact, FsWatchEvent, HandoffArtifact, HitlOutcome, LiveClientAction, LiveClientChange,
    LiveClientLeft, LogRecord, MutationSession, Progress, Reminder, SkillNarrow, ToolSearchQuery,
    ToolSearchResult, TranscriptCompacted, TranscriptProjected, WorkerEvent, WorkerMetadata,
    WorkerStatus, WorkerUpdate,
};
use serde_json::Value;

use crate::ext::lend::{Lent, wire_fields};

wire_fields!(
    /// See [`Artifact`].
    #[derive(Default)]
    #[serde(default)]
    #[schemars(deny_unknown_fields, !default)]
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
);

wire_fields!(
    /// A watch and what changed; the events keep snake_case.
    #[derive(Default)]
    #[serde(default)]
    #[schemars(deny_unknown_fields, !default)]
    pub FsWatchFields {
        subscription_id: Cow<'a, str>,
        events: Cow<'a, [FsWatchEvent]>,
    }
);

wire_fields!(
    /// A handoff; the record keeps snake_case.
    #[schemars(deny_unknown_fields)]
    pub HandoffFields {
        handoff_id: Cow<'a, str>,
        artifact_id: Cow<'a, str>,
        handoff: Lent<'a, HandoffArtifact>,
    }
);

wire_fields!(
    /// A question to a person.
    #[derive(Default)]
    #[serde(default)]
    #[schemars(deny_unknown_fields, !default)]
    pub HitlRequestFields {
        request_id: Cow<'a, str>,
        kind: Cow<'a, str>,
        payload: Cow<'a, Value>,
    }
);

wire_fields!(
    /// How it ended.
    #[schemars(deny_unknown_fields)]
    pub HitlResolvedFields {
        request_id: Cow<'a, str>,
        kind: Cow<'a, str>,
        outcome: HitlOutcome,
    }
);

wire_fields!(
    /// A client's action and the registry after it; the registry keeps snake_case.
    #[schemars(deny_unknown_fields)]
    pub LiveClientFields {
        action: LiveClientAction,
        state: Lent<'a, LiveClientChange>,
        /// Who left, and why, where one did.
        #[serde(skip_serializing_if = "Option::is_none")]
        left: Option<Lent<'a, LiveClientLeft>>,
    }
);

wire_fields!(
    /// See [`LogRecord`].
    #[derive(Default)]
    #[serde(default)]
    #[schemars(deny_unknown_fields, !default)]
    pub LogFields from LogRecord {
        level: Cow<'a, str>,
        message: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        fields: Option<Cow<'a, Value>>,
    }
);

wire_fields!(
    /// See [`Progress`].
    #[derive(Default)]
    #[serde(default)]
    #[schemars(deny_unknown_fields, !default)]
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
);

impl<'a> ProgressFields<'a> {
    /// An agent's own narration.
    pub(crate) fn narration(message: &'a str) -> Self {
        Self {
            phase: "narration".into(),
            message: message.into(),
            progress: None,
            total: None,
            data: None,
        }
    }
}

wire_fields!(
    /// A rendered reminder, all of it in one object.
    #[derive(Default)]
    #[serde(default)]
    #[schemars(deny_unknown_fields, !default)]
    pub ReminderFields { reminder: ReminderRecord<'a> }
);

wire_fields!(
    /// See [`Reminder`].
    #[derive(Default)]
    #[serde(default)]
    #[schemars(deny_unknown_fields, !default)]
    pub ReminderRecord from Reminder {
        reminder_id: Cow<'a, str>,
        tags: Cow<'a, [String]>,
        body: Cow<'a, str>,
        role_hint: Cow<'a, str>,
        rendered_role: Cow<'a, str>,
        source: Cow<'a, str>,
        ttl_turns: Option<i64>,
    }
);

impl<'a> From<&'a Reminder> for ReminderFields<'a> {
    fn from(r: &'a Reminder) -> Self {
        Self { reminder: r.into() }
    }
}

wire_fields!(
    /// A skill that became active.
    #[derive(Default)]
    #[serde(default)]
    #[schemars(deny_unknown_fields, !default)]
    pub SkillActivatedFields {
        skill_name: Cow<'a, str>,
        /// The skill's id, where that is another than its name.
        #[serde(skip_serializing_if = "Option::is_none")]
        skill_id: Option<Cow<'a, str>>,
        iteration: u64,
        reason: Cow<'a, str>,
    }
);

wire_fields!(
    /// A skill that became inactive.
    #[derive(Default)]
    #[serde(default)]
    #[schemars(deny_unknown_fields, !default)]
    pub SkillDeactivatedFields {
        skill_name: Cow<'a, str>,
        /// The skill's id, where that is another than its name.
        #[serde(skip_serializing_if = "Option::is_none")]
        skill_id: Option<Cow<'a, str>>,
        iteration: u64,
    }
);

wire_fields!(
    /// A skill and the tools it leaves.
    #[derive(Default)]
    #[serde(default)]
    #[schemars(deny_unknown_fields, !default)]
    pub SkillScopeFields {
        skill_name: Cow<'a, str>,
        /// The skill's id, where that is another than its name.
        #[serde(skip_serializing_if = "Option::is_none")]
        skill_id: Option<Cow<'a, str>>,
        allowed_tools: Cow<'a, [String]>,
    }
);

wire_fields!(
    /// See [`SkillNarrow`].
    #[derive(Default)]
    #[serde(default)]
    #[schemars(deny_unknown_fields, !default)]
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
);

wire_fields!(
    /// See [`ToolSearchQuery`].
    #[derive(Default)]
    #[serde(default)]
    #[schemars(deny_unknown_fields, !default)]
    pub ToolSearchQueryFields from ToolSearchQuery {
        tool_use_id: Cow<'a, str>,
        name: Cow<'a, str>,
        query: Cow<'a, Value>,
        strategy: Cow<'a, str>,
        mode: Cow<'a, str>,
    }
);

wire_fields!(
    /// See [`ToolSearchResult`].
    #[derive(Default)]
    #[serde(default)]
    #[schemars(deny_unknown_fields, !default)]
    pub ToolSearchResultFields from ToolSearchResult {
        tool_use_id: Cow<'a, str>,
        promoted: Cow<'a, [String]>,
        strategy: Cow<'a, str>,
        mode: Cow<'a, str>,
    }
);

wire_fields!(
    /// See [`TranscriptCompacted`]. The snapshot is written as null when there is none.
    #[derive(Default)]
    #[serde(default)]
    #[schemars(deny_unknown_fields, !default)]
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
);

wire_fields!(
    /// See [`TranscriptProjected`].
    #[derive(Default)]
    #[serde(default)]
    #[schemars(deny_unknown_fields, !default)]
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
);

wire_fields!(
    /// See [`WorkerUpdate`]. `terminal` is derived from the event; metadata and audit keep snake_case.
    #[schemars(deny_unknown_fields)]
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
        audit: Option<Lent<'a, MutationSession>>,
    }
);

impl<'a> WorkerFields<'a> {
    /// The fields of an update; the paths of a worker's session are absolute where the folder that they are
    /// below is given.
    pub(crate) fn new(w: &'a WorkerUpdate, session_root: Option<&Path>) -> Self {
        Self {
            worker_id: w.worker_id.as_str().into(),
            worker_name: (&w.worker_name).into(),
            worker_task: (&w.worker_task).into(),
            worker_mode: (&w.worker_mode).into(),
            event: w.event,
            status: w.event.status(),
            terminal: w.event.is_terminal(),
            metadata: located(&w.metadata, session_root),
            audit: w.audit.as_deref().map(Lent::Borrowed),
        }
    }
}

/// A worker that its agent only reports has no session of ours: its paths are passed on as they are.
fn located<'a>(
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
