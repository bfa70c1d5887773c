//! What is said, the plan, the clients, and facts about the session.

use harn_model::{
    AgentEvent, Command, CommandInput, ContentBlock, Cost, LiveAuthor, LiveClient,
    LiveClientAction, LiveClientChange, LiveClientLeft, LiveClientMode, Plan, PlanDocument,
    PlanEntry, PlanEntryStatus, PlanPriority, PlanStep, Resource, ResourceLink, Seam, SessionInfo,
    Usage,
};
use serde_json::json;

use super::{Step, emit, strings};

/// Every kind of block.
pub(super) fn prompt() -> Vec<ContentBlock> {
    vec![
        ContentBlock::text("Where is the token bucket,\nand does it leak?"),
        ContentBlock::Image {
            mime_type: "image/png".to_owned(),
            data: "iVBORw0KGgo=".to_owned(),
            uri: Some("file:///home/ada/engine/graph.png".to_owned()),
        },
        ContentBlock::Image {
            mime_type: "image/gif".to_owned(),
            data: "R0lGODlh".to_owned(),
            uri: None,
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
        ContentBlock::ResourceLink(ResourceLink {
            uri: "file:///home/ada/engine/src".to_owned(),
            name: "src".to_owned(),
            mime_type: None,
            title: None,
            description: None,
            size: None,
        }),
    ]
}

pub(super) fn words() -> Vec<Step> {
    let plan = |plan| emit(AgentEvent::Plan { plan });
    let mut steps = clients();
    steps.extend([
        emit(AgentEvent::commands(vec![
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
        ])),
        Step::Pass(Seam::TurnStart),
        emit(AgentEvent::thought("A bucket is a struct; ")),
        emit(AgentEvent::thought("search for it.")),
        plan(Plan::Entries(vec![
            entry(
                "Find the bucket",
                PlanEntryStatus::Completed,
                PlanPriority::High,
            ),
            entry("Read it", PlanEntryStatus::InProgress, PlanPriority::Medium),
            entry("Answer", PlanEntryStatus::Pending, PlanPriority::Low),
        ])),
        plan(Plan::Document(Box::new(document()))),
        plan(Plan::Document(Box::new(summary_only()))),
        emit(AgentEvent::UserMessage {
            message_id: "msg-user".into(),
            content: vec![
                ContentBlock::text("Look at the tests as well."),
                ContentBlock::text("And at the benchmark."),
            ],
            live_session: Some(Box::new(LiveAuthor::controller(
                "desk",
                json!({"surface": "editor"}),
            ))),
        }),
        emit(AgentEvent::message("It is in `src/limit.rs` — ")),
        emit(AgentEvent::message("line 12. \u{1FAA3}")),
        // Colours of a terminal are nothing for a person to read.
        emit(AgentEvent::message("\u{1b}[32mAll tests pass.\u{1b}[0m")),
    ]);
    steps
}

pub(super) fn entry(content: &str, status: PlanEntryStatus, priority: PlanPriority) -> PlanEntry {
    PlanEntry {
        content: content.to_owned(),
        status,
        priority,
    }
}

fn document() -> PlanDocument {
    PlanDocument {
        artifact: "plan_artifact".to_owned(),
        schema_version: "harn.plan.v1".to_owned(),
        id: "plan-1".to_owned(),
        tool: Some("emit_plan".to_owned()),
        title: "Stop the leak".to_owned(),
        summary: "Refill by elapsed time.".to_owned(),
        steps: vec![
            PlanStep {
                id: "step-1".to_owned(),
                content: "Write a failing test".to_owned(),
                status: PlanEntryStatus::InProgress,
                priority: Some(PlanPriority::High),
            },
            PlanStep {
                id: "step-2".to_owned(),
                content: "Refill by the clock".to_owned(),
                status: PlanEntryStatus::Pending,
                priority: None,
            },
        ],
        assumptions: strings(&["The clock never goes back."]),
        open_questions: strings(&["Is a burst allowed?"]),
        verification_commands: strings(&["cargo test limit"]),
        approval: Some(json!({"state": "unrequested"})),
    }
}

fn summary_only() -> PlanDocument {
    PlanDocument {
        id: "plan-2".to_owned(),
        tool: None,
        title: "Plan".to_owned(),
        summary: "Ask somebody who knows.".to_owned(),
        steps: Vec::new(),
        assumptions: Vec::new(),
        open_questions: Vec::new(),
        verification_commands: Vec::new(),
        approval: None,
        ..document()
    }
}

/// Two clients: one drives and hands over to the other, is heard of once more, and leaves.
fn clients() -> Vec<Step> {
    let desk = client("desk", LiveClientMode::Controller);
    let phone = client("phone", LiveClientMode::Observer);
    let desk_watches = client("desk", LiveClientMode::Observer);
    let phone_drives = client("phone", LiveClientMode::Controller);
    let change =
        |client: Option<&LiveClient>, before: Option<&str>, now: &str, all: &[&LiveClient]| {
            LiveClientChange {
                client: client.cloned(),
                previous_controller_id: before.map(str::to_owned),
                active_controller_id: Some(now.to_owned()),
                clients: all.iter().map(|&client| client.clone()).collect(),
            }
        };
    let told = |action, state| {
        let left = (action == LiveClientAction::Detached).then(|| {
            Box::new(LiveClientLeft {
                client_id: "desk".to_owned(),
                reason: "client_exit".to_owned(),
                metadata: serde_json::Value::Null,
            })
        });
        let state = Box::new(state);
        emit(AgentEvent::LiveSessionClient {
            action,
            state,
            left,
        })
    };
    let both = [&desk_watches, &phone_drives];
    vec![
        told(
            LiveClientAction::Attached,
            change(Some(&desk), None, "desk", &[&desk]),
        ),
        told(
            LiveClientAction::Attached,
            change(Some(&phone), Some("desk"), "desk", &[&desk, &phone]),
        ),
        told(
            LiveClientAction::Takeover,
            change(Some(&phone_drives), Some("desk"), "phone", &both),
        ),
        told(
            LiveClientAction::Heartbeat,
            change(Some(&phone_drives), Some("phone"), "phone", &both),
        ),
        told(
            LiveClientAction::Detached,
            change(None, Some("phone"), "phone", &[&phone_drives]),
        ),
    ]
}

fn client(id: &str, mode: LiveClientMode) -> LiveClient {
    let drives = mode == LiveClientMode::Controller;
    LiveClient {
        client_id: id.to_owned(),
        mode,
        attached_at: "1764576000".to_owned(),
        last_seen_at: "1764576060".to_owned(),
        prompt_injection: drives,
        permission_routing: drives,
        metadata: json!({"surface": id}),
    }
}

pub(super) fn facts() -> Vec<Step> {
    let usage = |used, cost| {
        let size = 200_000;
        emit(AgentEvent::Usage(Usage { used, size, cost }))
    };
    let cost = Cost {
        amount: 0.0375,
        currency: "USD".to_owned(),
    };
    vec![
        Step::Pass(Seam::PostToolDispatch),
        usage(12_000, None),
        usage(12_500, Some(cost)),
        emit(AgentEvent::SessionInfo(SessionInfo {
            title: Some("The leaking bucket".to_owned()),
            chosen: false,
        })),
    ]
}
