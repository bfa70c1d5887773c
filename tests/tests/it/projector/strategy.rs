//! Random turns. Ids are few, fields stand where they do not belong, and nothing is in order.

use harn_model::{
    AgentEvent, Artifact, ChildCall, ChildResult, CommandOutput, CompositionRun, ContentBlock,
    DeliveryMode, ErrorCategory, FailureCategory, HandoffArtifact, HitlOutcome, LogRecord,
    McpServerStatus, McpState, PermissionOption, PermissionOptionKind, Plan, PlanEntry, Progress,
    ProgressReport, Seam, SessionInfo, SideEffectLevel, ToolCall, ToolCallStatus, ToolCallUpdate,
    ToolContent, ToolExecutor, ToolKind, ToolsChange, Usage, WorkerEvent, WorkerMetadata,
    WorkerUpdate,
};
use harn_runtime::{EquipmentChange, Question};
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Map, Value, json};

/// What an agent does in a turn, and how that ends.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) acts: Vec<Act>,
    pub(crate) ending: Ending,
}

#[derive(Clone, Debug)]
pub(crate) enum Act {
    Report(AgentEvent),
    /// Asks whether a call may run, itself or through a worker, and waits for the answer.
    Ask(Question, bool),
    /// Somebody wants something meanwhile.
    Want(Wish),
    /// It looks for what was delivered.
    Pass(Seam),
    /// What the session is equipped with changes meanwhile.
    Equip(EquipmentChange),
}

/// What somebody wants; the number names a message that was handed over before, if there is one.
#[derive(Clone, Debug)]
pub(crate) enum Wish {
    Say(DeliveryMode),
    Unsay(usize),
    Reword(usize),
    /// With a key that another may have, and for so many turns.
    Remind(DeliveryMode, bool, u64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ending {
    Stop,
    Fail,
    /// Somebody cancels before anything is seen.
    CancelAtOnce,
    /// It waits to be cancelled.
    Hang,
    /// It does not listen when it is.
    HangForever,
}

pub(crate) fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let ending = prop_oneof![
        4 => Just(Ending::Stop),
        1 => Just(Ending::Fail),
        1 => Just(Ending::CancelAtOnce),
        2 => Just(Ending::Hang),
        1 => Just(Ending::HangForever),
    ];
    let act = prop_oneof![
        30 => event().prop_map(Act::Report),
        1 => ask(),
        4 => wish().prop_map(Act::Want),
        2 => seam().prop_map(Act::Pass),
        2 => change().prop_map(Act::Equip),
    ];
    let turn = (vec(act, 0..40), ending).prop_map(|(acts, ending)| Turn { acts, ending });
    vec(turn, 1..4)
}

fn event() -> impl Strategy<Value = AgentEvent> {
    prop_oneof![
        6 => tool_call(),
        12 => tool_call_update(),
        12 => worker(),
        10 => composition(),
        4 => question(),
        3 => skill(),
        6 => said(),
    ]
}

fn change() -> impl Strategy<Value = EquipmentChange> {
    let names = || vec(text(), 0..3);
    let state = select(vec![
        McpState::Connecting,
        McpState::Ready,
        McpState::Failed,
        McpState::GivenUp,
    ]);
    let server = (text(), state, option::of(0..9u64), option::of(text())).prop_map(
        |(name, state, tools, error)| McpServerStatus {
            name,
            state,
            tools,
            error,
        },
    );
    prop_oneof![
        (names(), names(), names(), 0..9u64).prop_map(|(added, removed, changed, total)| {
            EquipmentChange::Tools(ToolsChange {
                added,
                removed,
                changed,
                total,
            })
        }),
        vec(server, 0..3).prop_map(EquipmentChange::Servers),
    ]
}

fn wish() -> impl Strategy<Value = Wish> {
    let mode = || {
        select(vec![
            DeliveryMode::InterruptImmediate,
            DeliveryMode::FinishStep,
            DeliveryMode::AuditOnly,
        ])
    };
    let said = select(vec![DeliveryMode::FinishStep, DeliveryMode::AuditOnly]);
    prop_oneof![
        4 => said.prop_map(Wish::Say),
        2 => (0..4usize).prop_map(Wish::Unsay),
        1 => (0..4usize).prop_map(Wish::Reword),
        3 => (mode(), any::<bool>(), 1..3u64)
            .prop_map(|(mode, keyed, turns)| Wish::Remind(mode, keyed, turns)),
    ]
}

fn seam() -> impl Strategy<Value = Seam> {
    select(vec![
        Seam::TurnStart,
        Seam::PreToolDispatch,
        Seam::PostToolDispatch,
        Seam::TurnEnd,
    ])
}

/// About a call that was announced, was not, or is a worker's.
fn ask() -> impl Strategy<Value = Act> {
    (id(), any::<bool>()).prop_map(|(call, of_worker)| ask_about(&call, of_worker))
}

/// Asks whether this call may run.
pub(crate) fn ask_about(call: &str, of_worker: bool) -> Act {
    let kinds = [
        PermissionOptionKind::AllowOnce,
        PermissionOptionKind::RejectOnce,
    ];
    let options = kinds.map(|kind| PermissionOption {
        option_id: format!("{kind:?}"),
        name: format!("{kind:?}"),
        kind,
        scope: harn_model::GrantScope::Once,
    });
    let tool_call = ToolCall::new(call, "look");
    let options = options.to_vec();
    Act::Ask(Question { tool_call, options }, of_worker)
}

fn id() -> impl Strategy<Value = String> + Clone {
    select(&["a", "b"][..]).prop_map(str::to_owned)
}

fn status() -> impl Strategy<Value = ToolCallStatus> {
    select(
        &[
            ToolCallStatus::Pending,
            ToolCallStatus::InProgress,
            ToolCallStatus::Completed,
            ToolCallStatus::Failed,
        ][..],
    )
}

fn text() -> impl Strategy<Value = String> + Clone {
    select(
        &[
            "",
            "word",
            "two words",
            "\u{1b}[1mloud\u{1b}[0m",
            "line\nbreak \u{1FAA3}",
        ][..],
    )
    .prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = Value> {
    let values = [
        json!({}),
        json!({"path": "a.rs"}),
        json!("text"),
        json!([1, null]),
        json!(0),
    ];
    select(values.to_vec())
}

fn category() -> impl Strategy<Value = ErrorCategory> {
    select(
        &[
            ErrorCategory::Timeout,
            ErrorCategory::ParseAborted,
            ErrorCategory::Unknown,
        ][..],
    )
}

fn content() -> impl Strategy<Value = Vec<ToolContent>> {
    let terminal = ToolContent::Terminal {
        terminal_id: "term".to_owned(),
    };
    let diff = ToolContent::Diff {
        path: "/a.rs".to_owned(),
        old_text: None,
        new_text: "x".to_owned(),
    };
    let printed = ToolContent::Output(CommandOutput {
        text: "printed\n".to_owned(),
        start: 7,
        incomplete: false,
    });
    vec(
        select(vec![ToolContent::text("shown"), terminal, diff, printed]),
        0..3,
    )
}

fn tool_call() -> impl Strategy<Value = AgentEvent> {
    let parts = (
        id(),
        status(),
        option::of(any::<bool>()),
        option::of(value()),
        content(),
    );
    let more = (
        option::of(text()),
        option::of(select(&[ToolKind::Edit, ToolKind::Other][..])),
    );
    (parts, more).prop_map(|((id, status, parsing, input, content), (title, kind))| {
        AgentEvent::ToolCall(Box::new(ToolCall {
            status,
            parsing,
            raw_input: input.unwrap_or_default(),
            content,
            title,
            kind,
            ..ToolCall::new(id, "look")
        }))
    })
}

fn tool_call_update() -> impl Strategy<Value = AgentEvent> {
    let parts = (
        id(),
        status(),
        option::of(any::<bool>()),
        option::of(value()),
        option::of(text()),
    );
    let ends = (
        option::of(value()),
        option::of(text()),
        option::of(category()),
        option::of(0..9u64),
    );
    let shows = (option::of(content()), option::of(text()), any::<bool>());
    (parts, ends, shows).prop_map(
        |(
            (id, status, parsing, input, partial),
            (output, error, category, took),
            (content, title, ran),
        )| {
            AgentEvent::ToolCallUpdate(Box::new(ToolCallUpdate {
                parsing,
                raw_input: input,
                raw_input_partial: partial,
                raw_output: output,
                error,
                error_category: category,
                duration_ms: took,
                execution_duration_ms: took,
                content,
                title,
                executor: ran.then_some(ToolExecutor::HarnBuiltin),
                ..ToolCallUpdate::new(id, "look", status)
            }))
        },
    )
}

fn worker() -> impl Strategy<Value = AgentEvent> {
    let events = [
        WorkerEvent::WorkerSpawned,
        WorkerEvent::WorkerProgressed,
        WorkerEvent::WorkerWaitingForInput,
        WorkerEvent::WorkerCompleted,
        WorkerEvent::WorkerFailed,
        WorkerEvent::WorkerStopped,
        WorkerEvent::WorkerCancelled,
    ];
    // More of them than of other ids, because they end for good.
    let id = select(&["u", "v", "w", "x"][..]);
    let event = select(events.to_vec());
    (id, event, any::<bool>(), option::of(text())).prop_map(|(id, event, lies, error)| {
        let lie = lies.then(|| "2020-01-01T00:00:00Z".to_owned());
        AgentEvent::WorkerUpdate(Box::new(WorkerUpdate {
            worker_id: id.into(),
            worker_name: "tester".to_owned(),
            worker_task: "test".to_owned(),
            worker_mode: "sub_agent".to_owned(),
            event,
            cycle: u64::from(lies) * 7,
            retriggerable: lies,
            metadata: WorkerMetadata {
                finished_at: lie.clone(),
                awaiting_started_at: lie,
                error,
                ..WorkerMetadata::default()
            },
            audit: None,
        }))
    })
}

fn composition() -> impl Strategy<Value = AgentEvent> {
    let run = (id(), text(), option::of(text())).prop_map(|(id, snippet, error)| {
        Box::new(CompositionRun {
            run_id: id,
            language: "lua".to_owned(),
            snippet,
            snippet_hash: "forged".to_owned(),
            failure_category: error.as_ref().map(|_| FailureCategory::Timeout),
            error,
            ..CompositionRun::default()
        })
    });
    let started = run.clone().prop_map(AgentEvent::CompositionStart);
    let finished = run.clone().prop_map(AgentEvent::CompositionFinish);
    let failed = run.prop_map(AgentEvent::CompositionError);
    let call = (id(), id(), 0..3u64).prop_map(|(run_id, tool_call_id, operation_index)| {
        AgentEvent::CompositionChildCall(Box::new(ChildCall {
            run_id,
            tool_call_id,
            tool_name: "look".to_owned(),
            operation_index,
            annotations: None,
            requested_side_effect_level: SideEffectLevel::ReadOnly,
            policy_context: Map::new(),
            raw_input: Value::Null,
        }))
    });
    let result = (
        id(),
        id(),
        status(),
        option::of(text()),
        option::of(category()),
    )
        .prop_map(|(run_id, tool_call_id, status, error, error_category)| {
            AgentEvent::CompositionChildResult(Box::new(ChildResult {
                run_id,
                tool_call_id,
                tool_name: "other".to_owned(),
                operation_index: 9,
                status,
                raw_output: None,
                error,
                error_category,
                executor: None,
                duration_ms: None,
                execution_duration_ms: None,
            }))
        });
    prop_oneof![3 => started, 3 => call, 3 => result, 1 => finished, 1 => failed]
}

fn question() -> impl Strategy<Value = AgentEvent> {
    let outcomes = [
        HitlOutcome::Answered,
        HitlOutcome::Timeout,
        HitlOutcome::Cancelled,
    ];
    let asked = (id(), value()).prop_map(|(request_id, payload)| AgentEvent::HitlRequested {
        request_id,
        kind: "question".to_owned(),
        payload,
    });
    let resolved = (id(), select(outcomes.to_vec())).prop_map(|(request_id, outcome)| {
        AgentEvent::HitlResolved {
            request_id,
            kind: "approval".to_owned(),
            outcome,
        }
    });
    prop_oneof![asked, resolved]
}

fn skill() -> impl Strategy<Value = AgentEvent> {
    let named = || (id(), proptest::option::of(id()));
    let activated =
        (named(), text()).prop_map(
            |((skill_name, skill_id), reason)| AgentEvent::SkillActivated {
                skill_name,
                skill_id,
                iteration: 1,
                reason,
            },
        );
    let deactivated = named().prop_map(|(skill_name, skill_id)| AgentEvent::SkillDeactivated {
        skill_name,
        skill_id,
        iteration: 2,
    });
    let scoped = named().prop_map(|(skill_name, skill_id)| AgentEvent::SkillScopeTools {
        skill_name,
        skill_id,
        allowed_tools: Vec::new(),
    });
    prop_oneof![activated, deactivated, scoped]
}

/// What stands by itself.
fn said() -> impl Strategy<Value = AgentEvent> {
    let entries = vec(
        text().prop_map(|content| PlanEntry {
            content,
            status: Default::default(),
            priority: Default::default(),
        }),
        0..3,
    );
    let report = (option::of(text()), entries.clone(), any::<bool>()).prop_map(
        |(message, entries, replace)| {
            AgentEvent::ProgressReported(Box::new(ProgressReport {
                message,
                entries,
                replace,
                metadata: Value::Null,
            }))
        },
    );
    prop_oneof![
        text().prop_map(AgentEvent::message),
        text().prop_map(AgentEvent::thought),
        (id(), vec(text().prop_map(ContentBlock::text), 0..3)).prop_map(|(id, content)| {
            AgentEvent::UserMessage {
                message_id: id.into(),
                content,
                live_session: None,
            }
        }),
        entries.prop_map(|entries| AgentEvent::Plan {
            plan: Plan::Entries(entries)
        }),
        report,
        (text(), option::of(any::<i64>())).prop_map(|(message, progress)| {
            AgentEvent::Progress(Box::new(Progress {
                phase: "index".to_owned(),
                message,
                progress,
                total: None,
                data: None,
            }))
        }),
        text().prop_map(|message| AgentEvent::Log(Box::new(LogRecord {
            level: "info".to_owned(),
            message,
            fields: None,
        }))),
        (text(), select(&["note", "file"][..])).prop_map(|(fallback, kind)| {
            AgentEvent::Artifact(Box::new(Artifact {
                artifact_id: "artifact".to_owned(),
                kind: kind.to_owned(),
                title: None,
                mime_type: "text/plain".to_owned(),
                spec: Value::Null,
                fallback,
                size_bytes: 0,
                provenance: Value::Null,
                metadata: Value::Null,
            }))
        }),
        text().prop_map(|task| AgentEvent::Handoff {
            artifact_id: "artifact".to_owned(),
            handoff: Box::new(HandoffArtifact {
                task,
                ..HandoffArtifact::default()
            }),
        }),
        (option::of(text()), any::<bool>())
            .prop_map(|(title, chosen)| AgentEvent::SessionInfo(SessionInfo { title, chosen })),
        (0..9u64).prop_map(|used| AgentEvent::Usage(Usage {
            used,
            size: 8,
            cost: None,
        })),
        Just(AgentEvent::commands(Vec::new())),
        Just(AgentEvent::FsWatch {
            subscription_id: "watch".to_owned(),
            events: Vec::new(),
        }),
    ]
}
