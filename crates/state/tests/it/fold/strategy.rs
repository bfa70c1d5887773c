//! Random sessions: few ids, so that they collide, come early, late, twice or without their other half; and what
//! is handed in beside the events.

use harn_model::{
    Actor, AgentEvent, Artifact, AskId, CommandOutput, ContentBlock, Decision, DeliveryMode,
    Envelope, GrantScope, HitlKind, LiveAuthor, MessageId, PendingChange, PendingMessage,
    PermissionAsked, PermissionOption, PermissionOptionKind, PermissionResolved, Plan, PlanEntry,
    Progress, Recovered, Seq, StopReason, ToolCall, ToolCallStatus, ToolCallUpdate, ToolContent,
    TurnEnded, TurnOutcome, TurnStarted, Usage, WorkerEvent, WorkerMetadata, WorkerUpdate,
};
use harn_state::{
    Presence,
    wire::{Client, ClientMode, Question, SessionFacts},
};
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Value, json};

/// Something that changes a document.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Event(Envelope),
    Presence(Presence),
    Questions(Vec<Question>),
    Session(Box<SessionFacts>),
    Fail(String),
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        40 => (event(), option::of(id())).prop_map(|(event, turn)| {
            Step::Event(Envelope {
                seq: Seq::ZERO,
                at: 0,
                turn: turn.map(Into::into),
                event,
            })
        }),
        1 => presence().prop_map(Step::Presence),
        1 => questions().prop_map(Step::Questions),
        1 => session().prop_map(Step::Session),
        1 => text().prop_map(Step::Fail),
    ];
    vec(step, 0..40).prop_map(|mut steps| {
        for (seq, step) in (1..).zip(&mut steps) {
            if let Step::Event(envelope) = step {
                (envelope.seq, envelope.at) = (Seq(seq), 1000 + seq);
            }
        }
        steps
    })
}

fn id() -> impl Strategy<Value = &'static str> + Clone {
    select(&["a", "b", "c"][..])
}

fn text() -> impl Strategy<Value = String> + Clone {
    let texts = [
        "",
        "word",
        "word more",
        "line\nbreak \u{1FAA3}",
        "__proto__",
    ];
    select(texts.to_vec()).prop_map(str::to_owned)
}

fn event() -> impl Strategy<Value = AgentEvent> {
    prop_oneof![
        8 => prompt().prop_map(AgentEvent::TurnStarted),
        4 => prompt().prop_map(AgentEvent::PromptQueued),
        3 => prompt().prop_map(AgentEvent::PromptWithdrawn),
        6 => ended(),
        1 => Just(AgentEvent::Recovered(Box::new(Recovered {
            interrupted_calls: Vec::new(),
            withdrawn_asks: Vec::new(),
            torn_bytes: 0,
        }))),
        16 => said(),
        8 => waiting().prop_map(|change| AgentEvent::Pending(Box::new(change))),
        4 => (id(), text(), author()).prop_map(|(id, text, live_session)| AgentEvent::UserMessage {
            message_id: id.into(),
            content: vec![ContentBlock::text(text)],
            live_session,
        }),
        16 => tool(),
        8 => approval(),
        8 => beside(),
    ]
}

fn author() -> impl Strategy<Value = Option<Box<LiveAuthor>>> {
    option::of(id().prop_map(|id| Box::new(LiveAuthor::controller(id, Value::Null))))
}

fn prompt() -> impl Strategy<Value = Box<TurnStarted>> {
    (id(), text(), author()).prop_map(|(id, text, live_session)| {
        Box::new(TurnStarted {
            message_id: id.into(),
            prompt: vec![ContentBlock::text(text)],
            live_session,
        })
    })
}

fn ended() -> impl Strategy<Value = AgentEvent> {
    let outcomes = [
        TurnOutcome::stopped(StopReason::EndTurn),
        TurnOutcome::stopped(StopReason::Cancelled),
        TurnOutcome::Failed {
            message: "it did not work".to_owned(),
        },
    ];
    let outcome = select(outcomes.to_vec());
    outcome.prop_map(|outcome| AgentEvent::TurnEnded(Box::new(TurnEnded { outcome })))
}

fn said() -> impl Strategy<Value = AgentEvent> {
    let chunk = (option::of(id()), text(), any::<bool>());
    chunk.prop_map(|(id, content, thought)| {
        let message_id = id.map(MessageId::from);
        match thought {
            true => AgentEvent::AgentThoughtChunk {
                content,
                message_id,
            },
            false => AgentEvent::AgentMessageChunk {
                content,
                message_id,
            },
        }
    })
}

fn waiting() -> impl Strategy<Value = PendingChange> {
    let queued = (id(), text(), author()).prop_map(|(id, text, live_session)| {
        PendingChange::MessageQueued(PendingMessage {
            message_id: id.into(),
            mode: DeliveryMode::FinishStep,
            content: vec![ContentBlock::text(text)],
            owner: Actor {
                client_id: "host".to_owned(),
                role: "host_owner".to_owned(),
                source: "test".to_owned(),
            },
            live_session,
        })
    });
    let replaced = (id(), text()).prop_map(|(id, text)| PendingChange::MessageReplaced {
        message_id: id.into(),
        content: vec![ContentBlock::text(text)],
    });
    let revoked = id().prop_map(|id| PendingChange::MessageRevoked {
        message_id: id.into(),
    });
    prop_oneof![
        4 => queued,
        2 => replaced,
        2 => revoked,
        1 => Just(PendingChange::Cleared),
    ]
}

fn content() -> impl Strategy<Value = Vec<ToolContent>> {
    let diff = |new: String| ToolContent::Diff {
        path: "/a.rs".to_owned(),
        old_text: None,
        new_text: new,
    };
    let printed = |(start, text): (u64, String)| {
        ToolContent::Output(CommandOutput {
            text,
            start,
            incomplete: start == 3,
        })
    };
    let long = Just(ToolContent::text("long ".repeat(20_000)));
    vec(
        prop_oneof![
            8 => text().prop_map(ToolContent::text),
            2 => text().prop_map(diff),
            4 => (0..9_u64, text()).prop_map(printed),
            1 => (0..9_u64, Just("line\n".repeat(12_000))).prop_map(printed),
            1 => long,
        ],
        0..3,
    )
}

fn status() -> impl Strategy<Value = ToolCallStatus> {
    select(vec![
        ToolCallStatus::Pending,
        ToolCallStatus::InProgress,
        ToolCallStatus::Completed,
        ToolCallStatus::Failed,
    ])
}

fn tool() -> impl Strategy<Value = AgentEvent> {
    let called = (id(), status(), content()).prop_map(|(id, status, content)| {
        AgentEvent::ToolCall(Box::new(ToolCall {
            status,
            content,
            ..ToolCall::new(id, "look")
        }))
    });
    let parts = (id(), status(), option::of(content()));
    let more = (option::of(text()), option::of(0..9_u64), any::<bool>());
    let updated = (parts, more).prop_map(|((id, status, content), (words, took, fails))| {
        AgentEvent::ToolCallUpdate(Box::new(ToolCallUpdate {
            content,
            raw_input: words.clone().map(|it| json!({ "constructor": it })),
            raw_output: words.clone().map(Value::from),
            error: words.clone().filter(|_| fails),
            title: words,
            duration_ms: took,
            ..ToolCallUpdate::new(id, "look", status)
        }))
    });
    prop_oneof![2 => called, 3 => updated]
}

fn approval() -> impl Strategy<Value = AgentEvent> {
    let kinds = [
        PermissionOptionKind::AllowOnce,
        PermissionOptionKind::RejectOnce,
    ];
    let options = kinds.map(|kind| PermissionOption {
        option_id: format!("{kind:?}"),
        name: format!("{kind:?}"),
        kind,
        scope: GrantScope::Once,
    });
    let asked = (id(), id()).prop_map(move |(ask, call)| {
        let call = ToolCall::new(call, "look");
        let ask = PermissionAsked::new(AskId::from(ask), call, options.to_vec());
        AgentEvent::PermissionAsked(Box::new(ask))
    });
    let decision = select(vec![
        Decision::Allowed {
            option_id: "AllowOnce".to_owned(),
            args: None,
        },
        Decision::Rejected {
            option_id: None,
            reason: None,
        },
        Decision::Cancelled,
    ]);
    let resolved = (id(), decision).prop_map(|(ask, decision)| {
        AgentEvent::PermissionResolved(Box::new(PermissionResolved {
            ask_id: ask.into(),
            decision,
            remembered: None,
        }))
    });
    prop_oneof![asked, resolved]
}

/// What happens beside what is said.
fn beside() -> impl Strategy<Value = AgentEvent> {
    let plan = vec(text(), 0..3).prop_map(|texts| {
        let entries = texts.into_iter().map(|content| PlanEntry {
            content,
            status: Default::default(),
            priority: Default::default(),
        });
        AgentEvent::Plan {
            plan: Plan::Entries(entries.collect()),
        }
    });
    let events = [
        WorkerEvent::WorkerSpawned,
        WorkerEvent::WorkerProgressed,
        WorkerEvent::WorkerCompleted,
        WorkerEvent::WorkerFailed,
    ];
    let worker = (id(), select(events.to_vec())).prop_map(|(id, event)| {
        AgentEvent::WorkerUpdate(Box::new(WorkerUpdate {
            worker_id: id.into(),
            worker_name: "tester".to_owned(),
            worker_task: "test".to_owned(),
            worker_mode: "sub_agent".to_owned(),
            event,
            cycle: 0,
            retriggerable: false,
            metadata: WorkerMetadata::default(),
            audit: None,
        }))
    });
    let usage = (0..9_u64).prop_map(|used| {
        AgentEvent::Usage(Usage {
            used,
            size: 8,
            cost: None,
        })
    });
    let skill = (id(), any::<bool>()).prop_map(|(name, active)| match active {
        true => AgentEvent::SkillActivated {
            skill_name: name.to_owned(),
            skill_id: None,
            iteration: 1,
            reason: String::new(),
        },
        false => AgentEvent::SkillDeactivated {
            skill_name: name.to_owned(),
            skill_id: None,
            iteration: 1,
        },
    });
    let mode = text().prop_map(|mode_id| AgentEvent::ModeChanged { mode_id });
    let progress = text().prop_map(|message| {
        AgentEvent::Progress(Box::new(Progress {
            phase: "index".to_owned(),
            message,
            progress: None,
            total: None,
            data: None,
        }))
    });
    let made = text().prop_map(|fallback| {
        AgentEvent::Artifact(Box::new(Artifact {
            artifact_id: "a".to_owned(),
            kind: "note".to_owned(),
            title: None,
            mime_type: "text/plain".to_owned(),
            spec: Value::Null,
            fallback,
            size_bytes: 0,
            provenance: Value::Null,
            metadata: Value::Null,
        }))
    });
    prop_oneof![plan, worker, usage, skill, mode, progress, made]
}

fn presence() -> impl Strategy<Value = Presence> {
    (vec(id(), 0..3), option::of(id())).prop_map(|(clients, controller)| Presence {
        clients: clients.into_iter().map(client).collect(),
        controller: controller.map(str::to_owned),
    })
}

fn client(id: &str) -> Client {
    Client {
        id: id.to_owned(),
        mode: ClientMode::Observer,
        attached_at: "0".to_owned(),
        last_seen_at: "0".to_owned(),
    }
}

fn questions() -> impl Strategy<Value = Vec<Question>> {
    vec((id(), text()), 0..3).prop_map(|asked| {
        let questions = asked.into_iter().map(|(id, subject)| Question {
            id: id.to_owned(),
            kind: HitlKind::Question,
            subject,
            detail: None,
            choices: Vec::new(),
            default: None,
            to: None,
            reviewers: Vec::new(),
            quorum: 1,
            requested_at: 0,
            deadline: 1,
            agent: "agent".to_owned(),
        });
        questions.collect()
    })
}

fn session() -> impl Strategy<Value = Box<SessionFacts>> {
    (option::of(text()), text()).prop_map(|(title, mode)| {
        Box::new(SessionFacts {
            title,
            mode,
            ..SessionFacts::default()
        })
    })
}
