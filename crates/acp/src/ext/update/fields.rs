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
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Declares the fields of an update and how they are taken from the model's record.
macro_rules! fields {
    ($(#[$doc:meta])* $name:ident { $($(#[$attr:meta])* $field:ident: $ty:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Serialize, JsonSchema)]
        #[serde(rename_all = "camelCase")]
        #[schemars(deny_unknown_fields)]
        #[allow(missing_docs, reason = "the fields are the contract's; the model documents them")]
        pub struct $name<'a> {
            $($(#[$attr])* pub $field: $ty,)*
        }
    };
}

fields!(
    /// See [`Artifact`].
    ArtifactFields {
        artifact_id: &'a str,
        kind: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
        mime_type: &'a str,
        spec: &'a Value,
        fallback: &'a str,
        size_bytes: u64,
        provenance: &'a Value,
        metadata: &'a Value,
    }
);

impl<'a> From<&'a Artifact> for ArtifactFields<'a> {
    fn from(a: &'a Artifact) -> Self {
        Self {
            artifact_id: &a.artifact_id,
            kind: &a.kind,
            title: a.title.as_deref(),
            mime_type: &a.mime_type,
            spec: &a.spec,
            fallback: &a.fallback,
            size_bytes: a.size_bytes,
            provenance: &a.provenance,
            metadata: &a.metadata,
        }
    }
}

fields!(
    /// A watch and what changed; the events keep snake_case.
    FsWatchFields {
        subscription_id: &'a str,
        events: &'a [FsWatchEvent],
    }
);

fields!(
    /// A handoff; the record keeps snake_case.
    HandoffFields {
        handoff_id: &'a str,
        artifact_id: &'a str,
        handoff: &'a HandoffArtifact,
    }
);

fields!(
    /// A question to a person.
    HitlRequestFields {
        request_id: &'a str,
        kind: &'a str,
        payload: &'a Value,
    }
);

fields!(
    /// How it ended.
    HitlResolvedFields {
        request_id: &'a str,
        kind: &'a str,
        outcome: HitlOutcome,
    }
);

fields!(
    /// A client's action and the registry after it; the registry keeps snake_case.
    LiveClientFields {
        action: LiveClientAction,
        state: &'a LiveClientChange,
        /// Who left, and why, where one did.
        #[serde(skip_serializing_if = "Option::is_none")]
        left: Option<&'a LiveClientLeft>,
    }
);

fields!(
    /// See [`LogRecord`].
    LogFields {
        level: &'a str,
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        fields: Option<&'a Value>,
    }
);

impl<'a> From<&'a LogRecord> for LogFields<'a> {
    fn from(log: &'a LogRecord) -> Self {
        Self {
            level: &log.level,
            message: &log.message,
            fields: log.fields.as_ref(),
        }
    }
}

fields!(
    /// See [`Progress`].
    ProgressFields {
        phase: &'a str,
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        progress: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        total: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<&'a Value>,
    }
);

impl<'a> From<&'a Progress> for ProgressFields<'a> {
    fn from(p: &'a Progress) -> Self {
        Self {
            phase: &p.phase,
            message: &p.message,
            progress: p.progress,
            total: p.total,
            data: p.data.as_ref(),
        }
    }
}

impl<'a> ProgressFields<'a> {
    /// An agent's own narration.
    pub(crate) fn narration(message: &'a str) -> Self {
        Self {
            phase: "narration",
            message,
            progress: None,
            total: None,
            data: None,
        }
    }
}

fields!(
    /// A rendered reminder, all of it in one object.
    ReminderFields { reminder: ReminderRecord<'a> }
);

fields!(
    /// See [`Reminder`].
    ReminderRecord {
        reminder_id: &'a str,
        tags: &'a [String],
        body: &'a str,
        role_hint: &'a str,
        rendered_role: &'a str,
        source: &'a str,
        ttl_turns: Option<i64>,
    }
);

impl<'a> From<&'a Reminder> for ReminderFields<'a> {
    fn from(r: &'a Reminder) -> Self {
        Self {
            reminder: ReminderRecord {
                reminder_id: &r.reminder_id,
                tags: &r.tags,
                body: &r.body,
                role_hint: &r.role_hint,
                rendered_role: &r.rendered_role,
                source: &r.source,
                ttl_turns: r.ttl_turns,
            },
        }
    }
}

fields!(
    /// A skill that became active.
    SkillActivatedFields {
        skill_name: &'a str,
        /// The skill's id, where that is another than its name.
        #[serde(skip_serializing_if = "Option::is_none")]
        skill_id: Option<&'a str>,
        iteration: u64,
        reason: &'a str,
    }
);

fields!(
    /// A skill that became inactive.
    SkillDeactivatedFields {
        skill_name: &'a str,
        /// The skill's id, where that is another than its name.
        #[serde(skip_serializing_if = "Option::is_none")]
        skill_id: Option<&'a str>,
        iteration: u64,
    }
);

fields!(
    /// A skill and the tools it leaves.
    SkillScopeFields {
        skill_name: &'a str,
        /// The skill's id, where that is another than its name.
        #[serde(skip_serializing_if = "Option::is_none")]
        skill_id: Option<&'a str>,
        allowed_tools: &'a [String],
    }
);

fields!(
    /// See [`SkillNarrow`].
    SkillNarrowFields {
        reason: &'a str,
        removed_tools: &'a [String],
        remaining_tools: &'a [String],
        #[serde(skip_serializing_if = "Option::is_none")]
        policy: Option<&'a Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        removed_tool_details: Option<&'a Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        kept_tool_details: Option<&'a Value>,
    }
);

impl<'a> From<&'a SkillNarrow> for SkillNarrowFields<'a> {
    fn from(n: &'a SkillNarrow) -> Self {
        Self {
            reason: &n.reason,
            removed_tools: &n.removed_tools,
            remaining_tools: &n.remaining_tools,
            policy: n.policy.as_ref(),
            removed_tool_details: n.removed_tool_details.as_ref(),
            kept_tool_details: n.kept_tool_details.as_ref(),
        }
    }
}

fields!(
    /// See [`ToolSearchQuery`].
    ToolSearchQueryFields {
        tool_use_id: &'a str,
        name: &'a str,
        query: &'a Value,
        strategy: &'a str,
        mode: &'a str,
    }
);

impl<'a> From<&'a ToolSearchQuery> for ToolSearchQueryFields<'a> {
    fn from(q: &'a ToolSearchQuery) -> Self {
        Self {
            tool_use_id: &q.tool_use_id,
            name: &q.name,
            query: &q.query,
            strategy: &q.strategy,
            mode: &q.mode,
        }
    }
}

fields!(
    /// See [`ToolSearchResult`].
    ToolSearchResultFields {
        tool_use_id: &'a str,
        promoted: &'a [String],
        strategy: &'a str,
        mode: &'a str,
    }
);

impl<'a> From<&'a ToolSearchResult> for ToolSearchResultFields<'a> {
    fn from(r: &'a ToolSearchResult) -> Self {
        Self {
            tool_use_id: &r.tool_use_id,
            promoted: &r.promoted,
            strategy: &r.strategy,
            mode: &r.mode,
        }
    }
}

fields!(
    /// See [`TranscriptCompacted`]. The snapshot is written as null when there is none.
    CompactedFields {
        mode: &'a str,
        reason: &'a str,
        strategy: &'a str,
        archived_messages: u64,
        estimated_tokens_before: u64,
        estimated_tokens_after: u64,
        snapshot_asset_id: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        instruction_mode: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        instruction_source: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        compaction_policy: Option<&'a Value>,
    }
);

impl<'a> From<&'a TranscriptCompacted> for CompactedFields<'a> {
    fn from(c: &'a TranscriptCompacted) -> Self {
        Self {
            mode: &c.mode,
            reason: &c.reason,
            strategy: &c.strategy,
            archived_messages: c.archived_messages,
            estimated_tokens_before: c.estimated_tokens_before,
            estimated_tokens_after: c.estimated_tokens_after,
            snapshot_asset_id: c.snapshot_asset_id.as_deref(),
            instruction_mode: c.instruction_mode.as_deref(),
            instruction_source: c.instruction_source.as_deref(),
            compaction_policy: c.compaction_policy.as_ref(),
        }
    }
}

fields!(
    /// See [`TranscriptProjected`].
    ProjectedFields {
        policy: &'a str,
        reason: &'a str,
        prefix_hash: &'a str,
        kept_count: u64,
        dropped_count: u64,
        provider_safety_blocked: bool,
        redacted_count: u64,
        reclaimed_tokens: u64,
        roots_consulted: &'a [String],
        redaction_pointers: &'a [Value],
    }
);

impl<'a> From<&'a TranscriptProjected> for ProjectedFields<'a> {
    fn from(p: &'a TranscriptProjected) -> Self {
        Self {
            policy: &p.policy,
            reason: &p.reason,
            prefix_hash: &p.prefix_hash,
            kept_count: p.kept_count,
            dropped_count: p.dropped_count,
            provider_safety_blocked: p.provider_safety_blocked,
            redacted_count: p.redacted_count,
            reclaimed_tokens: p.reclaimed_tokens,
            roots_consulted: &p.roots_consulted,
            redaction_pointers: &p.redaction_pointers,
        }
    }
}

fields!(
    /// See [`WorkerUpdate`]. `terminal` is derived from the event; metadata and audit keep snake_case.
    WorkerFields {
        worker_id: &'a str,
        worker_name: &'a str,
        worker_task: &'a str,
        worker_mode: &'a str,
        event: WorkerEvent,
        status: WorkerStatus,
        terminal: bool,
        metadata: Cow<'a, WorkerMetadata>,
        #[serde(skip_serializing_if = "Option::is_none")]
        audit: Option<&'a MutationSession>,
    }
);

impl<'a> WorkerFields<'a> {
    /// The fields of an update; the paths of a worker's session are absolute where the folder that they are
    /// below is given.
    pub(crate) fn new(w: &'a WorkerUpdate, session_root: Option<&Path>) -> Self {
        Self {
            worker_id: w.worker_id.as_str(),
            worker_name: &w.worker_name,
            worker_task: &w.worker_task,
            worker_mode: &w.worker_mode,
            event: w.event,
            status: w.event.status(),
            terminal: w.event.is_terminal(),
            metadata: located(&w.metadata, session_root),
            audit: w.audit.as_deref(),
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
