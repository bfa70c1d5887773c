//! Tools, servers, skills, searches, reports, records and questions to people; each with its optional parts and without.

use harn_model::{
    AgentEvent, Artifact, EvidenceRef, FsWatchEvent, HandoffArtifact, HandoffBudget,
    HandoffDeadline, HandoffTarget, HitlOutcome, LogRecord, McpServerStatus, McpState,
    PlanEntryStatus, PlanPriority, Progress, ProgressReport, ReceiptLink, Reminder, SkillCandidate,
    SkillMatch, SkillNarrow, ToolSearchQuery, ToolSearchResult, ToolsChange, TranscriptCompacted,
    TranscriptProjected,
};
use harn_runtime::EquipmentChange;
use serde_json::{Map, Value, json};

use super::{Step, conversation::entry, emit, strings};

pub(super) fn equipment() -> Vec<Step> {
    let server = |name: &str, state, tools, error: Option<&str>| McpServerStatus {
        name: name.to_owned(),
        state,
        tools,
        error: error.map(str::to_owned),
    };
    let refused = Some("the connection was refused");
    let stand = |first, second| Step::Equip(EquipmentChange::Servers(vec![first, second]));
    vec![
        stand(
            server("issues", McpState::Connecting, None, None),
            server("wiki", McpState::Connecting, None, None),
        ),
        stand(
            server("issues", McpState::Ready, Some(2), None),
            server("wiki", McpState::Failed, None, refused),
        ),
        Step::Equip(EquipmentChange::Tools(ToolsChange {
            added: strings(&["close_ticket", "open_ticket"]),
            removed: Vec::new(),
            changed: Vec::new(),
            total: 12,
        })),
        stand(
            server("issues", McpState::Ready, Some(1), None),
            server("wiki", McpState::GivenUp, None, refused),
        ),
        Step::Equip(EquipmentChange::Tools(ToolsChange {
            added: Vec::new(),
            removed: strings(&["open_ticket"]),
            changed: strings(&["close_ticket"]),
            total: 11,
        })),
    ]
}

pub(super) fn skills_and_search() -> Vec<Step> {
    let skill_name = || "rust-review".to_owned();
    let narrow = SkillNarrow {
        reason: "the skill asks for it".to_owned(),
        removed_tools: strings(&["run_command"]),
        remaining_tools: strings(&["read_file", "edit_file"]),
        policy: Some(json!({"allow": ["read_file", "edit_file"]})),
        removed_tool_details: Some(json!([{"name": "run_command", "why": "not listed"}])),
        kept_tool_details: Some(json!([{"name": "read_file"}, {"name": "edit_file"}])),
    };
    let briefly = SkillNarrow {
        policy: None,
        removed_tool_details: None,
        kept_tool_details: None,
        ..narrow.clone()
    };
    let query = |id: &str, query: Value, strategy: &str| {
        emit(AgentEvent::ToolSearchQuery(Box::new(ToolSearchQuery {
            tool_use_id: id.to_owned(),
            name: format!("tool_search_tool_{strategy}"),
            query,
            strategy: strategy.to_owned(),
            mode: "client".to_owned(),
        })))
    };
    let found = |id: &str, promoted: &[&str], strategy: &str| {
        emit(AgentEvent::ToolSearchResult(Box::new(ToolSearchResult {
            tool_use_id: id.to_owned(),
            promoted: strings(promoted),
            strategy: strategy.to_owned(),
            mode: "client".to_owned(),
        })))
    };
    vec![
        emit(AgentEvent::SkillMatched(Box::new(SkillMatch {
            strategy: "metadata".to_owned(),
            iteration: 1,
            reassess: false,
            candidates: vec![SkillCandidate {
                name: skill_name(),
                score: 7.25,
                reason: "names Rust files".to_owned(),
            }],
            working_files: strings(&["src/limit.rs"]),
        }))),
        emit(AgentEvent::SkillActivated {
            skill_name: skill_name(),
            skill_id: None,
            iteration: 1,
            reason: "best match".to_owned(),
        }),
        emit(AgentEvent::SkillScopeTools {
            skill_name: skill_name(),
            skill_id: None,
            allowed_tools: strings(&["read_file", "edit_file"]),
        }),
        emit(AgentEvent::SkillNarrow(Box::new(narrow))),
        emit(AgentEvent::SkillNarrow(Box::new(briefly))),
        emit(AgentEvent::SkillDeactivated {
            skill_name: skill_name(),
            skill_id: None,
            iteration: 3,
        }),
        query(
            "search-1",
            json!({"limit": 5, "query": "tickets"}),
            "hybrid",
        ),
        found("search-1", &["close_ticket"], "hybrid"),
        query("search-2", json!("telepathy"), "bm25"),
        found("search-2", &[], "bm25"),
    ]
}

/// A skill whose id is another than its name.
pub(super) fn skill_with_an_id() -> Vec<Step> {
    let skill_name = || "review".to_owned();
    let skill_id = || Some("acme/ops/review".to_owned());
    vec![
        emit(AgentEvent::SkillActivated {
            skill_name: skill_name(),
            skill_id: skill_id(),
            iteration: 1,
            reason: "host match".to_owned(),
        }),
        emit(AgentEvent::SkillScopeTools {
            skill_name: skill_name(),
            skill_id: skill_id(),
            allowed_tools: strings(&["read_file"]),
        }),
        emit(AgentEvent::SkillDeactivated {
            skill_name: skill_name(),
            skill_id: skill_id(),
            iteration: 2,
        }),
    ]
}

pub(super) fn reports() -> Vec<Step> {
    let report = |report| emit(AgentEvent::ProgressReported(Box::new(report)));
    let silent = ProgressReport {
        message: None,
        entries: Vec::new(),
        replace: false,
        metadata: json!({"passed": 12}),
    };
    let entries = vec![entry(
        "Run the tests",
        PlanEntryStatus::InProgress,
        PlanPriority::Medium,
    )];
    let log = |level: &str, message: &str, fields| {
        emit(AgentEvent::Log(Box::new(LogRecord {
            level: level.to_owned(),
            message: message.to_owned(),
            fields,
        })))
    };
    let progress = Progress {
        phase: "index".to_owned(),
        message: "Indexing the workspace".to_owned(),
        progress: Some(120),
        total: Some(480),
        data: Some(json!({"unit": "files"})),
    };
    let briefly = Progress {
        progress: None,
        total: None,
        data: None,
        ..progress.clone()
    };
    vec![
        report(ProgressReport {
            message: Some("Half of the tests pass".to_owned()),
            entries,
            replace: true,
            metadata: Value::Null,
        }),
        report(ProgressReport {
            message: Some("Half of the tests pass".to_owned()),
            ..silent.clone()
        }),
        report(silent),
        emit(AgentEvent::Progress(Box::new(progress))),
        emit(AgentEvent::Progress(Box::new(briefly))),
        log(
            "warn",
            "The index is out of date",
            Some(json!({"age_s": 86400})),
        ),
        log("info", "Index rebuilt", None),
        emit(AgentEvent::FsWatch {
            subscription_id: "watch-1".to_owned(),
            events: vec![
                FsWatchEvent {
                    kind: "modify".to_owned(),
                    paths: strings(&["/home/ada/engine/src/limit.rs"]),
                    relative_paths: strings(&["src/limit.rs"]),
                    raw_kind: "Modify(Data)".to_owned(),
                    error: None,
                },
                FsWatchEvent {
                    kind: "other".to_owned(),
                    paths: Vec::new(),
                    relative_paths: Vec::new(),
                    raw_kind: "Error".to_owned(),
                    error: Some("too many files to watch".to_owned()),
                },
            ],
        }),
    ]
}

pub(super) fn records() -> Vec<Step> {
    let chart = Artifact {
        artifact_id: "artifact-1".to_owned(),
        kind: "vega-lite".to_owned(),
        title: Some("Tokens over time".to_owned()),
        mime_type: "application/vnd.vegalite.v5+json".to_owned(),
        spec: json!({"mark": "line"}),
        fallback: "The bucket empties after 40 s.".to_owned(),
        size_bytes: 420,
        provenance: json!({"tool_call_id": "call-tests"}),
        metadata: json!({"pinned": true}),
    };
    let file = Artifact {
        artifact_id: "artifact-2".to_owned(),
        kind: "file".to_owned(),
        title: None,
        mime_type: "text/plain".to_owned(),
        spec: json!({"uri": "artifact://session-1/report.txt"}),
        fallback: String::new(),
        size_bytes: 0,
        provenance: Value::Null,
        metadata: Value::Null,
    };
    let compacted = TranscriptCompacted {
        mode: "auto".to_owned(),
        reason: "token_threshold".to_owned(),
        strategy: "llm".to_owned(),
        archived_messages: 24,
        estimated_tokens_before: 90_000,
        estimated_tokens_after: 12_000,
        snapshot_asset_id: Some("snapshot-1".to_owned()),
        instruction_mode: Some("keep".to_owned()),
        instruction_source: Some("workspace".to_owned()),
        compaction_policy: Some(json!({"threshold": 0.8})),
    };
    let truncated = TranscriptCompacted {
        strategy: "truncate".to_owned(),
        snapshot_asset_id: None,
        instruction_mode: None,
        instruction_source: None,
        compaction_policy: None,
        ..compacted.clone()
    };
    let projected = TranscriptProjected {
        policy: "window".to_owned(),
        reason: "prompt_build".to_owned(),
        prefix_hash: "sha256:6f1b".to_owned(),
        kept_count: 8,
        dropped_count: 16,
        provider_safety_blocked: true,
        redacted_count: 1,
        reclaimed_tokens: 3_000,
        roots_consulted: strings(&["/home/ada/engine"]),
        redaction_pointers: vec![json!({"message": 3})],
    };
    let whole = TranscriptProjected {
        dropped_count: 0,
        provider_safety_blocked: false,
        redacted_count: 0,
        reclaimed_tokens: 0,
        roots_consulted: Vec::new(),
        redaction_pointers: Vec::new(),
        ..projected.clone()
    };
    let reminder = Reminder {
        reminder_id: "reminder-1".to_owned(),
        tags: strings(&["tests"]),
        body: "Run the tests before you answer.".to_owned(),
        role_hint: "system".to_owned(),
        rendered_role: "user".to_owned(),
        source: "skill:rust-review".to_owned(),
        ttl_turns: Some(2),
    };
    let lasting = Reminder {
        reminder_id: "reminder-2".to_owned(),
        tags: Vec::new(),
        ttl_turns: None,
        ..reminder.clone()
    };
    let [full, brief] = handoffs();
    vec![
        emit(AgentEvent::Artifact(Box::new(chart))),
        emit(AgentEvent::Artifact(Box::new(file))),
        full,
        brief,
        emit(AgentEvent::TranscriptCompacted(Box::new(compacted))),
        emit(AgentEvent::TranscriptCompacted(Box::new(truncated))),
        emit(AgentEvent::TranscriptProjected(Box::new(projected))),
        emit(AgentEvent::TranscriptProjected(Box::new(whole))),
        emit(AgentEvent::ReminderEmitted(Box::new(reminder))),
        emit(AgentEvent::ReminderEmitted(Box::new(lasting))),
    ]
}

/// One that says everything, and one that leaves to the runtime what it can.
fn handoffs() -> [Step; 2] {
    let full = HandoffArtifact {
        id: "handoff-review".to_owned(),
        parent_run_id: Some("turn-1".to_owned()),
        source_persona: "engineer".to_owned(),
        target_persona_or_human: HandoffTarget {
            kind: "human".to_owned(),
            id: Some("ada".to_owned()),
            label: Some("Reviewer".to_owned()),
        },
        task: "Review the limiter".to_owned(),
        reason: "Ready for a look".to_owned(),
        evidence_refs: vec![EvidenceRef {
            path: Some("src/limit.rs".to_owned()),
            ..EvidenceRef::default()
        }],
        files_or_entities_touched: strings(&["src/limit.rs"]),
        open_questions: strings(&["Is a burst allowed?"]),
        blocked_on: strings(&["an answer"]),
        requested_capabilities: strings(&["review"]),
        allowed_side_effects: strings(&["read_only"]),
        budget_remaining: Some(HandoffBudget {
            dollars: Some(1.5),
            ..HandoffBudget::default()
        }),
        deadline_checkback: Some(HandoffDeadline {
            deadline: Some("2026-01-02T00:00:00Z".to_owned()),
            checkback_at: None,
        }),
        confidence: Some(0.75),
        receipt_links: vec![ReceiptLink {
            run_id: Some("turn-1".to_owned()),
            ..ReceiptLink::default()
        }],
        created_at: "2026-01-01T00:00:00Z".to_owned(),
        metadata: Map::from_iter([("urgent".to_owned(), json!(false))]),
        ..HandoffArtifact::default()
    };
    let brief = HandoffArtifact {
        task: "Go on from here".to_owned(),
        ..HandoffArtifact::default()
    };
    let handed = |artifact_id: &str, handoff| {
        let (artifact_id, handoff) = (artifact_id.to_owned(), Box::new(handoff));
        emit(AgentEvent::Handoff {
            artifact_id,
            handoff,
        })
    };
    [handed("artifact-3", full), handed("artifact-4", brief)]
}

pub(super) fn questions() -> Vec<Step> {
    let asked = [
        ("question-1", "question", HitlOutcome::Answered),
        ("question-2", "dual_control", HitlOutcome::Timeout),
        ("question-3", "escalation", HitlOutcome::Cancelled),
    ];
    let steps = asked.into_iter().flat_map(|(id, kind, outcome)| {
        let resolved = AgentEvent::HitlResolved {
            request_id: id.to_owned(),
            kind: kind.to_owned(),
            outcome,
        };
        [emit(question(id, kind)), emit(resolved)]
    });
    steps.collect()
}

pub(super) fn question(id: &str, kind: &str) -> AgentEvent {
    AgentEvent::HitlRequested {
        request_id: id.to_owned(),
        kind: kind.to_owned(),
        payload: json!({"choices": ["yes", "no"], "prompt": "Is a burst allowed?"}),
    }
}
