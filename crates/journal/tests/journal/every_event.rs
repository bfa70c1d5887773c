//! A made-up session in which everything happens: the content of `fixtures/journal/every-event.jsonl`.

use std::{collections::BTreeMap, sync::Arc};

use harn_model::{
    AgentEvent, Artifact, ChildCall, ChildResult, Command, CommandInput, CompositionRun,
    ContentBlock, Cost, Decision, Envelope, ErrorCategory, EvidenceRef, ExecutionKind,
    FailureCategory, FsWatchEvent, HandoffArtifact, HandoffBudget, HandoffDeadline, HandoffTarget,
    HitlOutcome, Lineage, LiveClient, LiveClientAction, LiveClientChange, LiveClientMode, Location,
    LogRecord, LoopCheckpoint, McpServerTag, MutationScope, MutationSession, PermissionAsked,
    PermissionOption, PermissionOptionKind, PermissionResolved, Plan, PlanDocument, PlanEntry,
    PlanEntryStatus, PlanPriority, PlanStep, Progress, ProgressReport, ReceiptLink, Recovered,
    Reminder, Resource, ResourceLink, Seam, Seq, SessionInfo, SideEffectLevel, SkillCandidate,
    SkillMatch, SkillNarrow, StopReason, ToolAnnotations, ToolCall, ToolCallStatus, ToolCallUpdate,
    ToolContent, ToolExecutor, ToolKind, ToolSearchQuery, ToolSearchResult, TranscriptCompacted,
    TranscriptProjected, TurnEnded, TurnOutcome, TurnStarted, Usage, WorkerEvent, WorkerMetadata,
    WorkerUpdate,
};
use serde_json::{Map, Value, json};

/// At least one event of every kind, and one of every inner kind whose form is its own.
///
/// The keys of untyped values stand in alphabetical order, because whether a map keeps another order
/// depends on what else is built along.
pub(crate) fn every_event() -> Vec<Envelope> {
    let parts: [(Option<&str>, Vec<AgentEvent>); 8] = [
        (None, setup()),
        (Some("turn-1"), conversation()),
        (Some("turn-1"), tools()),
        (Some("turn-1"), skills_and_search()),
        (Some("turn-1"), activity()),
        (Some("turn-1"), composition()),
        (Some("turn-1"), ending()),
        (Some("turn-2"), other_endings()),
    ];
    parts
        .into_iter()
        .flat_map(|(turn, events)| events.into_iter().map(move |event| (turn, event)))
        .zip(1..)
        .map(|((turn, event), n)| Envelope {
            seq: Seq(n),
            at: 1_764_576_000_000 + n * 125,
            turn: turn.map(Into::into),
            event,
        })
        .collect()
}

fn audit() -> Arc<MutationSession> {
    Arc::new(MutationSession {
        session_id: "session-1".into(),
        parent_session_id: None,
        run_id: Some("turn-1".into()),
        worker_id: None,
        execution_kind: Some(ExecutionKind::Run),
        mutation_scope: MutationScope::ApplyWorkspace,
        approval_policy: None,
    })
}

fn worker_audit() -> Arc<MutationSession> {
    Arc::new(MutationSession {
        session_id: "session-2".into(),
        parent_session_id: Some("session-1".into()),
        run_id: None,
        worker_id: Some("worker-1".into()),
        execution_kind: Some(ExecutionKind::Worker),
        mutation_scope: MutationScope::ReadOnly,
        approval_policy: Some(json!({"require_approval": ["edit_*"]})),
    })
}

fn live_client() -> LiveClient {
    LiveClient {
        client_id: "desk".to_owned(),
        mode: LiveClientMode::Controller,
        attached_at: "1764576000".to_owned(),
        last_seen_at: "1764576000".to_owned(),
        prompt_injection: true,
        permission_routing: true,
        metadata: json!({"surface": "editor"}),
    }
}

fn setup() -> Vec<AgentEvent> {
    vec![
        AgentEvent::AvailableCommands {
            commands: vec![
                Command {
                    name: "grep".to_owned(),
                    description: "Search the workspace by pattern".to_owned(),
                    input: Some(CommandInput {
                        hint: "REGEX".to_owned(),
                    }),
                },
                Command {
                    name: "help".to_owned(),
                    description: "Show the commands".to_owned(),
                    input: None,
                },
            ],
        },
        AgentEvent::ModeChanged {
            mode_id: "ask".to_owned(),
        },
        AgentEvent::ConfigChanged {
            config_id: "depth".to_owned(),
            value: "thorough".to_owned(),
        },
        AgentEvent::LiveSessionClient {
            action: LiveClientAction::Attached,
            state: Box::new(LiveClientChange {
                client: Some(live_client()),
                previous_controller_id: None,
                active_controller_id: Some("desk".to_owned()),
                clients: vec![live_client()],
            }),
        },
    ]
}

fn conversation() -> Vec<AgentEvent> {
    let prompt = vec![
        ContentBlock::text("Where is the token bucket,\nand does it leak?"),
        ContentBlock::Image {
            mime_type: "image/png".to_owned(),
            data: "iVBORw0KGgo=".to_owned(),
            uri: Some("file:///home/ada/engine/graph.png".to_owned()),
        },
        ContentBlock::Audio {
            mime_type: "audio/wav".to_owned(),
            data: "UklGRg==".to_owned(),
        },
        ContentBlock::Resource(Resource {
            uri: "file:///home/ada/engine/src/limit.rs".to_owned(),
            mime_type: Some("text/x-rust".to_owned()),
            text: Some("pub struct Bucket;\n".to_owned()),
            blob: None,
        }),
        ContentBlock::Resource(Resource {
            uri: "file:///home/ada/engine/logo.ico".to_owned(),
            mime_type: None,
            text: None,
            blob: Some("AAABAA==".to_owned()),
        }),
        ContentBlock::ResourceLink(ResourceLink {
            uri: "file:///home/ada/engine/README.md".to_owned(),
            name: "README.md".to_owned(),
            mime_type: Some("text/markdown".to_owned()),
            title: Some("Read me".to_owned()),
            description: Some("What the engine is for".to_owned()),
            size: Some(2048),
        }),
    ];
    vec![
        AgentEvent::TurnStarted(Box::new(TurnStarted {
            message_id: "msg-1".into(),
            prompt,
        })),
        AgentEvent::AgentThoughtChunk {
            content: "A bucket is a struct; search for it.".to_owned(),
            message_id: Some("msg-2".into()),
        },
        AgentEvent::Plan {
            plan: Plan::Entries(vec![
                entry(
                    "Find the bucket",
                    PlanEntryStatus::Completed,
                    PlanPriority::High,
                ),
                entry("Read it", PlanEntryStatus::InProgress, PlanPriority::Medium),
                entry("Answer", PlanEntryStatus::Pending, PlanPriority::Low),
            ]),
        },
        AgentEvent::Plan {
            plan: Plan::Document(Box::new(PlanDocument {
                artifact: "plan_artifact".to_owned(),
                schema_version: "harn.plan.v1".to_owned(),
                id: "plan-1".to_owned(),
                tool: Some("make_plan".to_owned()),
                title: "Stop the leak".to_owned(),
                summary: "Refill by elapsed time.".to_owned(),
                steps: vec![PlanStep {
                    id: "step-1".to_owned(),
                    content: "Write a failing test".to_owned(),
                    status: PlanEntryStatus::InProgress,
                    priority: Some(PlanPriority::High),
                }],
                assumptions: vec!["The clock never goes back.".to_owned()],
                open_questions: vec!["Is a burst allowed?".to_owned()],
                verification_commands: vec!["cargo test limit".to_owned()],
                approval: Some(json!({"state": "pending"})),
            })),
        },
        AgentEvent::UserMessage {
            message_id: "msg-3".into(),
            content: vec![ContentBlock::text("Look at the tests as well.")],
        },
        AgentEvent::AgentMessageChunk {
            content: "It is in `src/limit.rs` — line 12. \u{1FAA3}".to_owned(),
            message_id: Some("msg-4".into()),
        },
        AgentEvent::message("A chunk nobody numbered."),
    ]
}

fn tools() -> Vec<AgentEvent> {
    let path = "/home/ada/engine/src/limit.rs";
    let edit = ToolCall {
        title: Some("Edit src/limit.rs".to_owned()),
        kind: Some(ToolKind::Edit),
        raw_input: json!({"path": path, "tokens": 3}),
        locations: vec![Location {
            path: path.to_owned(),
            line: Some(12),
        }],
        content: vec![
            ToolContent::Diff {
                path: path.to_owned(),
                old_text: Some("tokens += 1;\n".to_owned()),
                new_text: "tokens = tokens.min(cap);\n".to_owned(),
            },
            ToolContent::Terminal {
                terminal_id: "term-1".to_owned(),
            },
        ],
        parsing: Some(false),
        audit: Some(audit()),
        ..ToolCall::new("call-1", "edit_file")
    };
    vec![
        AgentEvent::ToolCall(Box::new(edit.clone())),
        AgentEvent::PermissionAsked(Box::new(PermissionAsked {
            ask_id: "ask-1".into(),
            tool_call: edit,
            options: vec![
                option("once", "Allow this edit", PermissionOptionKind::AllowOnce),
                option(
                    "file",
                    "Allow edits of src/limit.rs",
                    PermissionOptionKind::AllowAlways,
                ),
                option("no", "Reject", PermissionOptionKind::RejectOnce),
                option(
                    "never",
                    "Reject from now on",
                    PermissionOptionKind::RejectAlways,
                ),
            ],
            lineage: vec![Lineage {
                worker_id: "worker-1".into(),
                worker_name: "tester".to_owned(),
                session_id: "session-2".into(),
            }],
        })),
        resolved(
            "ask-1",
            Decision::Allowed {
                option_id: "once".to_owned(),
            },
        ),
        resolved(
            "ask-2",
            Decision::Rejected {
                option_id: Some("no".to_owned()),
                reason: Some("not on a Friday".to_owned()),
            },
        ),
        resolved("ask-3", Decision::Cancelled),
        resolved(
            "ask-4",
            Decision::Unavailable {
                reason: "nobody is connected".to_owned(),
            },
        ),
        AgentEvent::ToolCallUpdate(Box::new(ToolCallUpdate {
            title: Some("Edited src/limit.rs".to_owned()),
            raw_input: Some(json!({"path": path})),
            raw_input_partial: Some("{\"path\": \"/ho".to_owned()),
            raw_output: Some(json!({"bytes": 26, "ratio": 0.5})),
            content: Some(vec![ToolContent::text("1 line changed")]),
            locations: Some(vec![Location {
                path: path.to_owned(),
                line: None,
            }]),
            duration_ms: Some(420),
            execution_duration_ms: Some(17),
            executor: Some(ToolExecutor::HostBridge),
            parsing: Some(false),
            audit: Some(audit()),
            ..ToolCallUpdate::new("call-1", "edit_file", ToolCallStatus::Completed)
        })),
        AgentEvent::ToolCallUpdate(Box::new(ToolCallUpdate {
            executor: Some(ToolExecutor::McpServer {
                kind: McpServerTag::McpServer,
                server_name: "tickets".to_owned(),
            }),
            ..ToolCallUpdate::failed(
                "call-2",
                "close_ticket",
                "the server closed the connection",
                ErrorCategory::McpServerError,
            )
        })),
    ]
}

fn skills_and_search() -> Vec<AgentEvent> {
    vec![
        AgentEvent::SkillMatched(Box::new(SkillMatch {
            strategy: "bm25".to_owned(),
            iteration: 1,
            reassess: false,
            candidates: vec![SkillCandidate {
                name: "rust-review".to_owned(),
                score: 7.25,
                reason: "names Rust files".to_owned(),
            }],
            working_files: vec!["src/limit.rs".to_owned()],
        })),
        AgentEvent::SkillActivated {
            skill_name: "rust-review".to_owned(),
            iteration: 1,
            reason: "best match".to_owned(),
        },
        AgentEvent::SkillScopeTools {
            skill_name: "rust-review".to_owned(),
            allowed_tools: strings(&["read_file", "edit_file"]),
        },
        AgentEvent::SkillNarrow(Box::new(SkillNarrow {
            reason: "the skill asks for it".to_owned(),
            removed_tools: strings(&["run_command"]),
            remaining_tools: strings(&["read_file", "edit_file"]),
            policy: Some(json!({"allow": ["read_file", "edit_file"]})),
            removed_tool_details: Some(json!([{"name": "run_command", "why": "not listed"}])),
            kept_tool_details: Some(json!([{"name": "read_file"}, {"name": "edit_file"}])),
        })),
        AgentEvent::SkillDeactivated {
            skill_name: "rust-review".to_owned(),
            iteration: 3,
        },
        AgentEvent::ToolSearchQuery(Box::new(ToolSearchQuery {
            tool_use_id: "search-1".to_owned(),
            name: "find_tools".to_owned(),
            query: json!({"limit": 5, "text": "tickets"}),
            strategy: "hybrid".to_owned(),
            mode: "client".to_owned(),
        })),
        AgentEvent::ToolSearchResult(Box::new(ToolSearchResult {
            tool_use_id: "search-1".to_owned(),
            promoted: strings(&["close_ticket"]),
            strategy: "hybrid".to_owned(),
            mode: "client".to_owned(),
        })),
    ]
}

fn activity() -> Vec<AgentEvent> {
    vec![
        AgentEvent::ProgressReported(Box::new(ProgressReport {
            message: Some("Half of the tests pass".to_owned()),
            entries: vec![entry(
                "Run the tests",
                PlanEntryStatus::InProgress,
                PlanPriority::Medium,
            )],
            replace: true,
            metadata: json!({"passed": 12}),
        })),
        AgentEvent::Progress(Box::new(Progress {
            phase: "index".to_owned(),
            message: "Indexing the workspace".to_owned(),
            progress: Some(120),
            total: Some(480),
            data: Some(json!({"unit": "files"})),
        })),
        AgentEvent::Log(Box::new(LogRecord {
            level: "warn".to_owned(),
            message: "the index is older than the workspace".to_owned(),
            fields: Some(json!({"age_s": 90})),
        })),
        AgentEvent::Artifact(Box::new(Artifact {
            artifact_id: "artifact-1".to_owned(),
            kind: "vega-lite".to_owned(),
            title: Some("Tokens over time".to_owned()),
            mime_type: "application/vnd.vegalite+json".to_owned(),
            spec: json!({"mark": "line"}),
            fallback: "tokens: 10, 9, 8".to_owned(),
            size_bytes: 15,
            provenance: json!({"tool_call_id": "call-1"}),
            metadata: json!({"pinned": true}),
        })),
        AgentEvent::FsWatch {
            subscription_id: "watch-1".to_owned(),
            events: vec![FsWatchEvent {
                kind: "modify".to_owned(),
                paths: strings(&["/home/ada/engine/src/limit.rs"]),
                relative_paths: strings(&["src/limit.rs"]),
                raw_kind: "Modify(Data)".to_owned(),
                error: None,
            }],
        },
        AgentEvent::Handoff {
            artifact_id: "artifact-2".to_owned(),
            handoff: Box::new(HandoffArtifact {
                id: "handoff-1".to_owned(),
                source_persona: "engineer".to_owned(),
                target_persona_or_human: HandoffTarget {
                    kind: "human".to_owned(),
                    id: None,
                    label: Some("Reviewer".to_owned()),
                },
                task: "Review the limiter".to_owned(),
                reason: "Ready for a look".to_owned(),
                evidence_refs: vec![EvidenceRef {
                    path: Some("src/limit.rs".to_owned()),
                    ..EvidenceRef::default()
                }],
                budget_remaining: Some(HandoffBudget {
                    dollars: Some(1.5),
                    ..HandoffBudget::default()
                }),
                deadline_checkback: Some(HandoffDeadline::default()),
                confidence: Some(0.75),
                receipt_links: vec![ReceiptLink {
                    run_id: Some("turn-1".to_owned()),
                    ..ReceiptLink::default()
                }],
                created_at: "2025-12-01T08:00:00Z".to_owned(),
                ..HandoffArtifact::default()
            }),
        },
        AgentEvent::WorkerUpdate(Box::new(WorkerUpdate {
            worker_id: "worker-1".into(),
            worker_name: "tester".to_owned(),
            worker_task: "Run the tests".to_owned(),
            worker_mode: "background".to_owned(),
            event: WorkerEvent::WorkerWaitingForInput,
            cycle: 2,
            retriggerable: true,
            metadata: WorkerMetadata {
                task: "Run the tests".to_owned(),
                mode: "background".to_owned(),
                started_at: Some("2025-12-01T08:00:00Z".to_owned()),
                awaiting_started_at: Some("2025-12-01T08:00:02Z".to_owned()),
                child_run_id: Some("session-2".into()),
                child_run_path: Some("threads/session-2".to_owned()),
                snapshot_path: Some("threads/session-1/events.jsonl".to_owned()),
                ..WorkerMetadata::default()
            },
            audit: Some(worker_audit()),
        })),
        AgentEvent::TranscriptCompacted(Box::new(TranscriptCompacted {
            mode: "auto".to_owned(),
            reason: "the context is nearly full".to_owned(),
            strategy: "summary".to_owned(),
            archived_messages: 24,
            estimated_tokens_before: 90_000,
            estimated_tokens_after: 12_000,
            snapshot_asset_id: Some("snapshot-1".to_owned()),
            instruction_mode: Some("keep".to_owned()),
            instruction_source: Some("workspace".to_owned()),
            compaction_policy: Some(json!({"threshold": 0.8})),
        })),
        AgentEvent::TranscriptProjected(Box::new(TranscriptProjected {
            policy: "recent".to_owned(),
            reason: "a small model answers".to_owned(),
            prefix_hash: "sha256:6f1b".to_owned(),
            kept_count: 8,
            dropped_count: 16,
            provider_safety_blocked: false,
            redacted_count: 1,
            reclaimed_tokens: 3_000,
            roots_consulted: strings(&["/home/ada/engine"]),
            redaction_pointers: vec![json!("/messages/3/content")],
        })),
        AgentEvent::ReminderEmitted(Box::new(Reminder {
            reminder_id: "reminder-1".to_owned(),
            tags: strings(&["tests"]),
            body: "Run the tests before you answer.".to_owned(),
            role_hint: "system".to_owned(),
            rendered_role: "user".to_owned(),
            source: "skill:rust-review".to_owned(),
            ttl_turns: Some(2),
        })),
        AgentEvent::HitlRequested {
            request_id: "question-1".to_owned(),
            kind: "question".to_owned(),
            payload: json!({"choices": ["yes", "no"], "prompt": "Is a burst allowed?"}),
        },
        AgentEvent::HitlResolved {
            request_id: "question-1".to_owned(),
            kind: "question".to_owned(),
            outcome: HitlOutcome::Answered,
        },
    ]
}

fn composition() -> Vec<AgentEvent> {
    let start = CompositionRun {
        run_id: "run-1".to_owned(),
        language: "typescript".to_owned(),
        snippet: "await list_files({root: 'src'})".to_owned(),
        binding_manifest: json!({"list_files": {"root": "string"}}),
        snippet_hash: "sha256:11aa".to_owned(),
        binding_manifest_hash: "sha256:22bb".to_owned(),
        requested_side_effect_ceiling: SideEffectLevel::ReadOnly,
        ..CompositionRun::default()
    };
    let finish = CompositionRun {
        stdout: Some("2 files\n".to_owned()),
        stderr: Some(String::new()),
        artifacts: vec![json!({"artifact_id": "artifact-3"})],
        result: Some(json!({"files": 2})),
        duration_ms: Some(33),
        metadata: object(&json!({"cached": false})),
        snippet: String::new(),
        binding_manifest: Value::Null,
        ..start.clone()
    };
    let error = CompositionRun {
        run_id: "run-2".to_owned(),
        failure_category: Some(FailureCategory::PolicyDenied),
        error: Some("the second step wanted to write".to_owned()),
        ..start.clone()
    };
    vec![
        AgentEvent::CompositionStart(Box::new(start)),
        AgentEvent::CompositionChildCall(Box::new(ChildCall {
            run_id: "run-1".to_owned(),
            tool_call_id: "call-3".to_owned(),
            tool_name: "list_files".to_owned(),
            operation_index: 0,
            annotations: Some(ToolAnnotations {
                kind: ToolKind::Search,
                side_effect_level: SideEffectLevel::ReadOnly,
                arg_schema: Some(json!({"path_args": ["root"]})),
                capabilities: BTreeMap::from([("fs".to_owned(), strings(&["list"]))]),
            }),
            requested_side_effect_level: SideEffectLevel::ReadOnly,
            policy_context: object(&json!({"mode": "ask"})),
            raw_input: json!({"root": "src"}),
        })),
        AgentEvent::CompositionChildResult(Box::new(ChildResult {
            run_id: "run-1".to_owned(),
            tool_call_id: "call-3".to_owned(),
            tool_name: "list_files".to_owned(),
            operation_index: 0,
            status: ToolCallStatus::Completed,
            raw_output: Some(json!(["limit.rs", "lib.rs"])),
            error: None,
            error_category: None,
            executor: Some(ToolExecutor::HarnBuiltin),
            duration_ms: Some(5),
            execution_duration_ms: Some(4),
        })),
        AgentEvent::CompositionFinish(Box::new(finish)),
        AgentEvent::CompositionError(Box::new(error)),
    ]
}

fn ending() -> Vec<AgentEvent> {
    vec![
        AgentEvent::LoopCheckpoint(LoopCheckpoint {
            iteration: 1,
            seam: Seam::PostToolDispatch,
            delivered: 0,
        }),
        AgentEvent::Usage(Usage {
            used: 12_000,
            size: 200_000,
            cost: Some(Cost {
                amount: 0.0375,
                currency: "USD".to_owned(),
            }),
        }),
        AgentEvent::SessionInfo(SessionInfo {
            title: Some("The leaking bucket".to_owned()),
        }),
        AgentEvent::TurnEnded(Box::new(TurnEnded {
            outcome: TurnOutcome::stopped(StopReason::EndTurn),
        })),
    ]
}

fn other_endings() -> Vec<AgentEvent> {
    vec![
        AgentEvent::TurnEnded(Box::new(TurnEnded {
            outcome: TurnOutcome::Failed {
                message: "the engine gave up".to_owned(),
            },
        })),
        AgentEvent::Recovered(Box::new(Recovered {
            interrupted_calls: vec!["call-9".into()],
            withdrawn_asks: vec!["ask-9".into()],
            torn_bytes: 57,
        })),
        AgentEvent::SessionClosed {
            reason: "client_request".to_owned(),
            status: "closed".to_owned(),
        },
    ]
}

fn entry(content: &str, status: PlanEntryStatus, priority: PlanPriority) -> PlanEntry {
    PlanEntry {
        content: content.to_owned(),
        status,
        priority,
    }
}

fn option(option_id: &str, name: &str, kind: PermissionOptionKind) -> PermissionOption {
    PermissionOption {
        option_id: option_id.to_owned(),
        name: name.to_owned(),
        kind,
    }
}

fn resolved(ask_id: &str, decision: Decision) -> AgentEvent {
    AgentEvent::PermissionResolved(Box::new(PermissionResolved {
        ask_id: ask_id.into(),
        decision,
    }))
}

fn strings(items: &[&str]) -> Vec<String> {
    items.iter().map(|&item| item.to_owned()).collect()
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}
