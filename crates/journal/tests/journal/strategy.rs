//! Random events and batches: a spread over text, nested structure, numbers and tagged inner enums.

use harn_model::{
    AgentEvent, Artifact, Command, CommandInput, CommandOutput, ContentBlock, Cost, Decision,
    Envelope, ErrorCategory, Grant, GrantEffect, GrantScope, GrantSubject, HandoffArtifact,
    HitlOutcome, Location, McpServerStatus, McpServerTag, McpState, PermissionAsked,
    PermissionOption, PermissionOptionKind, PermissionRecord, PermissionResolved, Plan,
    PlanDocument, PlanEntry, PlanEntryStatus, PlanPriority, PlanStep, Recovered, Remembered,
    Resource, ResourceLink, Seq, SessionInfo, SkillCandidate, SkillMatch, StopReason, ToolCall,
    ToolCallStatus, ToolCallUpdate, ToolContent, ToolExecutor, ToolKind, ToolsChange, TurnEnded,
    TurnOutcome, TurnStarted, Usage, WorkerEvent, WorkerMetadata, WorkerUpdate,
};
use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
    sample::select,
};
use serde_json::Value;

/// Batches of envelopes as a session would append them; none is empty.
pub(crate) fn batches(most: usize) -> impl Strategy<Value = Vec<Vec<Envelope>>> {
    let envelope = (event(), option::of(id()), 0..u64::MAX);
    vec(vec(envelope, 1..8), 1..most).prop_map(|batches| {
        let mut seq = Seq::ZERO;
        let mut place = |(event, turn, at): (AgentEvent, Option<String>, u64)| {
            seq = seq.next();
            Envelope {
                seq,
                at,
                turn: turn.map(Into::into),
                event,
            }
        };
        batches
            .into_iter()
            .map(|batch| batch.into_iter().map(&mut place).collect())
            .collect()
    })
}

fn event() -> impl Strategy<Value = AgentEvent> {
    prop_oneof![
        6 => said(),
        4 => tools(),
        3 => turns(),
        3 => facts(),
        3 => activity(),
    ]
}

fn said() -> impl Strategy<Value = AgentEvent> {
    prop_oneof![
        (text(), option::of(id())).prop_map(|(content, id)| AgentEvent::AgentMessageChunk {
            content,
            message_id: id.map(Into::into),
        }),
        (text(), option::of(id())).prop_map(|(content, id)| AgentEvent::AgentThoughtChunk {
            content,
            message_id: id.map(Into::into),
        }),
        (id(), vec(block(), 0..4)).prop_map(|(id, content)| AgentEvent::UserMessage {
            message_id: id.into(),
            content,
            live_session: None,
        }),
    ]
}

fn tools() -> impl Strategy<Value = AgentEvent> {
    let update = (
        id(),
        select(&[
            ToolCallStatus::Pending,
            ToolCallStatus::InProgress,
            ToolCallStatus::Completed,
            ToolCallStatus::Failed,
        ]),
        // A result of `null` reads back as no result, so it is left out here.
        option::of(json().prop_filter("null is absence", |v| !v.is_null())),
        option::of(vec(tool_content(), 0..3)),
        option::of(any::<u64>()),
        option::of(select(&[
            ErrorCategory::Timeout,
            ErrorCategory::PermissionDenied,
        ])),
        option::of(executor()),
    )
        .prop_map(|(id, status, output, content, took, category, executor)| {
            AgentEvent::ToolCallUpdate(Box::new(ToolCallUpdate {
                raw_output: output,
                content,
                duration_ms: took,
                error_category: category,
                executor,
                ..ToolCallUpdate::new(id, "look", status)
            }))
        });
    let asked = (id(), call()).prop_map(|(id, tool_call)| {
        let option = PermissionOption {
            option_id: "once".to_owned(),
            name: "Allow".to_owned(),
            kind: PermissionOptionKind::AllowOnce,
            scope: GrantScope::Session,
        };
        let mut ask = PermissionAsked::new(id.into(), tool_call, vec![option]);
        (ask.requested_at, ask.deadline) = (1, Some(2));
        AgentEvent::PermissionAsked(Box::new(ask))
    });
    let decision = prop_oneof![
        (text(), option::of(object()))
            .prop_map(|(option_id, args)| Decision::Allowed { option_id, args }),
        (option::of(text()), option::of(text()))
            .prop_map(|(option_id, reason)| Decision::Rejected { option_id, reason }),
        Just(Decision::Cancelled),
        text().prop_map(|reason| Decision::Unavailable { reason }),
    ];
    let resolved =
        (id(), decision, option::of(remembered())).prop_map(|(id, decision, remembered)| {
            AgentEvent::PermissionResolved(Box::new(PermissionResolved {
                ask_id: id.into(),
                decision,
                remembered,
            }))
        });
    prop_oneof![
        call().prop_map(|call| AgentEvent::ToolCall(Box::new(call))),
        update,
        asked,
        resolved,
        records(),
    ]
}

fn records() -> impl Strategy<Value = AgentEvent> {
    let record =
        (id(), json(), text(), any::<bool>()).prop_map(|(id, arguments, reason, escalated)| {
            Box::new(PermissionRecord {
                tool_call_id: id.into(),
                tool_name: "look".to_owned(),
                arguments,
                reason,
                escalated,
                policy_decision: None,
            })
        });
    (record, 0..3).prop_map(|(record, which)| match which {
        0 => AgentEvent::PermissionGrant(record),
        1 => AgentEvent::PermissionDeny(record),
        _ => AgentEvent::PermissionEscalation(record),
    })
}

fn object() -> impl Strategy<Value = Value> {
    btree_map(text(), json(), 0..3).prop_map(|members| members.into_iter().collect())
}

fn remembered() -> impl Strategy<Value = Remembered> {
    let subject = prop_oneof![
        vec(text(), 0..3).prop_map(GrantSubject::Argv),
        text().prop_map(GrantSubject::Line),
        vec(text(), 0..3).prop_map(GrantSubject::Paths),
        // What is no object or text cannot be told from nothing.
        vec(json(), 0..3).prop_map(|args| GrantSubject::Arguments(args.into())),
    ];
    let scope = select(&[GrantScope::Session, GrantScope::Always]);
    let effect = select(&[GrantEffect::Allow, GrantEffect::Deny]);
    let kind = select(&[None, Some(ToolKind::Edit), Some(ToolKind::Execute)]);
    (id(), subject, scope, effect, kind).prop_map(|(id, subject, scope, effect, kind)| Remembered {
        scope,
        grant: Grant {
            id,
            effect,
            workspace: "/home/ada".to_owned(),
            tool: "look".to_owned(),
            kind,
            subject,
        },
    })
}

fn prompt() -> impl Strategy<Value = Box<TurnStarted>> {
    (id(), vec(block(), 0..3)).prop_map(|(id, prompt)| {
        Box::new(TurnStarted {
            message_id: id.into(),
            prompt,
            live_session: None,
        })
    })
}

fn turns() -> impl Strategy<Value = AgentEvent> {
    let outcome = prop_oneof![
        select(&[
            StopReason::EndTurn,
            StopReason::Refusal,
            StopReason::Cancelled
        ])
        .prop_map(TurnOutcome::stopped),
        text().prop_map(|message| TurnOutcome::Failed { message }),
    ];
    prop_oneof![
        prompt().prop_map(AgentEvent::TurnStarted),
        prompt().prop_map(AgentEvent::PromptQueued),
        prompt().prop_map(AgentEvent::PromptWithdrawn),
        outcome.prop_map(|outcome| AgentEvent::TurnEnded(Box::new(TurnEnded { outcome }))),
        (vec(id(), 0..3), 0..9u64).prop_map(|(calls, torn_bytes)| {
            AgentEvent::Recovered(Box::new(Recovered {
                interrupted_calls: calls.into_iter().map(Into::into).collect(),
                withdrawn_asks: Vec::new(),
                torn_bytes,
            }))
        }),
    ]
}

fn facts() -> impl Strategy<Value = AgentEvent> {
    let usage =
        (any::<u64>(), any::<u64>(), option::of(finite())).prop_map(|(used, size, cost)| {
            AgentEvent::Usage(Usage {
                used,
                size,
                cost: cost.map(|amount| Cost {
                    amount,
                    currency: "EUR".to_owned(),
                }),
            })
        });
    let command = (text(), option::of(text())).prop_map(|(name, hint)| Command {
        name,
        description: "does it".to_owned(),
        input: hint.map(|hint| CommandInput { hint }),
    });
    prop_oneof![
        usage,
        text().prop_map(|mode_id| AgentEvent::ModeChanged { mode_id }),
        (id(), text())
            .prop_map(|(config_id, value)| AgentEvent::ConfigChanged { config_id, value }),
        (option::of(text()), any::<bool>())
            .prop_map(|(title, chosen)| AgentEvent::SessionInfo(SessionInfo { title, chosen })),
        (vec(command, 0..3), vec(text(), 0..3), any::<bool>()).prop_map(
            |(commands, equipped, own_unchanged)| AgentEvent::AvailableCommands {
                commands,
                equipped,
                own_unchanged
            }
        ),
        plan().prop_map(|plan| AgentEvent::Plan { plan }),
        (
            vec(text(), 0..3),
            vec(text(), 0..3),
            vec(text(), 0..3),
            any::<u64>()
        )
            .prop_map(|(added, removed, changed, total)| {
                AgentEvent::ToolsChanged(Box::new(ToolsChange {
                    added,
                    removed,
                    changed,
                    total,
                }))
            }),
        vec(server(), 0..3).prop_map(|servers| AgentEvent::McpServers { servers }),
    ]
}

fn server() -> impl Strategy<Value = McpServerStatus> {
    let state = select(vec![
        McpState::Connecting,
        McpState::Ready,
        McpState::Failed,
        McpState::GivenUp,
    ]);
    (text(), state, option::of(any::<u64>()), option::of(text())).prop_map(
        |(name, state, tools, error)| McpServerStatus {
            name,
            state,
            tools,
            error,
        },
    )
}

fn activity() -> impl Strategy<Value = AgentEvent> {
    let worker = (id(), option::of(text())).prop_map(|(worker_id, error)| {
        AgentEvent::WorkerUpdate(Box::new(WorkerUpdate {
            worker_id: worker_id.into(),
            worker_name: "indexer".to_owned(),
            worker_task: "index".to_owned(),
            worker_mode: "background".to_owned(),
            event: WorkerEvent::WorkerProgressed,
            cycle: 1,
            retriggerable: true,
            metadata: WorkerMetadata {
                error,
                ..WorkerMetadata::default()
            },
            audit: None,
        }))
    });
    let matched = vec((id(), finite()), 0..3).prop_map(|found| {
        AgentEvent::SkillMatched(Box::new(SkillMatch {
            strategy: "bm25".to_owned(),
            iteration: 2,
            reassess: true,
            candidates: found
                .into_iter()
                .map(|(name, score)| SkillCandidate {
                    name,
                    score,
                    reason: "words".to_owned(),
                })
                .collect(),
            working_files: Vec::new(),
        }))
    });
    let artifact = (json(), json(), text()).prop_map(|(spec, metadata, fallback)| {
        AgentEvent::Artifact(Box::new(Artifact {
            artifact_id: "a1".to_owned(),
            kind: "file".to_owned(),
            title: None,
            mime_type: "text/plain".to_owned(),
            spec,
            fallback,
            size_bytes: 3,
            provenance: Value::Null,
            metadata,
        }))
    });
    prop_oneof![
        worker,
        matched,
        artifact,
        (id(), text(), option::of(finite())).prop_map(|(artifact_id, task, confidence)| {
            let handoff = Box::new(HandoffArtifact {
                task,
                confidence,
                ..HandoffArtifact::default()
            });
            AgentEvent::Handoff {
                artifact_id,
                handoff,
            }
        }),
        (id(), json()).prop_map(|(request_id, payload)| AgentEvent::HitlRequested {
            request_id,
            kind: "question".to_owned(),
            payload,
        }),
        id().prop_map(|request_id| AgentEvent::HitlResolved {
            request_id,
            kind: "question".to_owned(),
            outcome: HitlOutcome::Timeout,
        }),
    ]
}

fn call() -> impl Strategy<Value = ToolCall> {
    (
        id(),
        option::of(select(&[ToolKind::Read, ToolKind::Edit, ToolKind::Execute])),
        json(),
        vec((text(), option::of(any::<u32>())), 0..3),
        vec(tool_content(), 0..3),
    )
        .prop_map(|(id, kind, raw_input, locations, content)| ToolCall {
            kind,
            raw_input,
            locations: locations
                .into_iter()
                .map(|(path, line)| Location { path, line })
                .collect(),
            content,
            ..ToolCall::new(id, "look")
        })
}

fn tool_content() -> impl Strategy<Value = ToolContent> {
    prop_oneof![
        block().prop_map(|content| ToolContent::Content { content }),
        (text(), option::of(text()), text()).prop_map(|(path, old_text, new_text)| {
            ToolContent::Diff {
                path,
                old_text,
                new_text,
            }
        }),
        id().prop_map(|terminal_id| ToolContent::Terminal { terminal_id }),
        (text(), any::<u64>(), any::<bool>()).prop_map(|(text, start, incomplete)| {
            ToolContent::Output(CommandOutput {
                text,
                start,
                incomplete,
            })
        }),
    ]
}

fn block() -> impl Strategy<Value = ContentBlock> {
    prop_oneof![
        text().prop_map(ContentBlock::text),
        (text(), option::of(text())).prop_map(|(data, uri)| ContentBlock::Image {
            mime_type: "image/png".to_owned(),
            data,
            uri,
        }),
        text().prop_map(|data| ContentBlock::Audio {
            mime_type: "audio/wav".to_owned(),
            data,
        }),
        (text(), option::of(text())).prop_map(|(uri, text)| {
            ContentBlock::Resource(Resource {
                uri,
                mime_type: None,
                text,
                blob: None,
            })
        }),
        (text(), option::of(any::<i64>())).prop_map(|(uri, size)| {
            ContentBlock::ResourceLink(ResourceLink {
                name: uri.clone(),
                uri,
                mime_type: None,
                title: None,
                description: None,
                size,
            })
        }),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let entries = vec(text(), 0..4).prop_map(|contents| {
        let entry = |content| PlanEntry {
            content,
            status: PlanEntryStatus::InProgress,
            priority: PlanPriority::Low,
        };
        Plan::Entries(contents.into_iter().map(entry).collect())
    });
    let document = (text(), vec(text(), 0..3)).prop_map(|(summary, steps)| {
        let step = |content| PlanStep {
            id: "step-1".to_owned(),
            content,
            status: PlanEntryStatus::Completed,
            priority: None,
        };
        Plan::Document(Box::new(PlanDocument {
            artifact: "plan_artifact".to_owned(),
            schema_version: "harn.plan.v1".to_owned(),
            id: "p".to_owned(),
            tool: None,
            title: "Plan".to_owned(),
            summary,
            steps: steps.into_iter().map(step).collect(),
            assumptions: Vec::new(),
            open_questions: Vec::new(),
            verification_commands: Vec::new(),
            approval: None,
        }))
    });
    prop_oneof![entries, document]
}

fn executor() -> impl Strategy<Value = ToolExecutor> {
    prop_oneof![
        Just(ToolExecutor::HarnBuiltin),
        Just(ToolExecutor::ProviderNative),
        text().prop_map(|server_name| ToolExecutor::McpServer {
            kind: McpServerTag::McpServer,
            server_name,
        }),
    ]
}

/// Few ids, so that starts and ends of calls, asks and turns meet.
fn id() -> impl Strategy<Value = String> {
    (0..4u8).prop_map(|n| format!("id-{n}"))
}

/// Any text, and often what a line format has to mind.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[\\n\\r\\t\\\\\"{}\\[\\],:\\x00\\x7f\u{2028}\u{1F600}]{0,12}",
        "[a-z ]{0,60}",
    ]
}

fn finite() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("JSON has no other", |n| n.is_finite())
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        finite().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(text(), inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}
