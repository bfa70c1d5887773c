//! A session that is steered: messages and reminders that wait, are said differently, taken back, refused and
//! delivered; something that interrupts; and an agent that stays and waits for more.

use harn_model::{
    Actor, AgentEvent, DeliveryMode, ReminderPropagation, ReminderSource, RoleHint, Seam,
    SystemReminder, ToolCall, TranscriptCompacted,
};
use serde_json::{Map, json};

use super::{StoryQuestion, StoryStep, emit, judged::question};
use DeliveryMode::{AuditOnly, FinishStep, InterruptImmediate};

/// Something that is wanted of the running session, and by whom. Messages have names here; their ids are the
/// runtime's.
pub(super) struct StoryRequest {
    pub(super) by: &'static str,
    pub(super) wanted: StoryCommand,
}

pub(super) enum StoryCommand {
    /// A message of this name.
    Say(&'static str, DeliveryMode, &'static str),
    /// To take it back.
    Unsay(&'static str),
    /// To say it differently.
    Reword(&'static str, &'static str),
    Remind(DeliveryMode, Box<SystemReminder>),
    /// To take a reminder back.
    Forget(&'static str),
    /// To stop a turn that there is not.
    StopNothing,
    /// To have a prompt wait, and then not.
    ThinkBetterOf(&'static str),
}

/// What ends a wait.
pub(super) enum StoryWake {
    Wish(StoryRequest),
    Resume,
    Watch,
    /// Time, after so many milliseconds.
    Timer(u64),
    /// Nothing: it has woken for nothing this often, and its turn is ended.
    Never(u64),
}

/// Who wants it, as a host names its clients.
pub(super) fn actor(client: &str) -> Actor {
    Actor {
        client_id: client.to_owned(),
        role: "controller".to_owned(),
        source: "acp".to_owned(),
    }
}

/// The controller is the phone; the desk only watches.
pub(super) fn wish(wanted: StoryCommand) -> StoryStep {
    let by = "phone";
    StoryStep::Want(StoryRequest { by, wanted })
}

fn remind(mode: DeliveryMode, reminder: SystemReminder) -> StoryStep {
    wish(StoryCommand::Remind(mode, Box::new(reminder)))
}

/// Everything that can be wanted, and what comes of it.
pub(super) fn wishes() -> Vec<StoryStep> {
    let desk = |wanted| StoryStep::Want(StoryRequest { by: "desk", wanted });
    let mut steps = vec![
        StoryStep::Pass(Seam::TurnStart),
        wish(StoryCommand::Say(
            "tests",
            FinishStep,
            "Look at the tests first.",
        )),
        wish(StoryCommand::Say(
            "notes",
            AuditOnly,
            "Then write the notes.",
        )),
        wish(StoryCommand::Reword(
            "notes",
            "Then write the notes, briefly.",
        )),
        wish(StoryCommand::Say("never", FinishStep, "Use a mutex.")),
        wish(StoryCommand::Unsay("never")),
        wish(StoryCommand::Unsay("never")),
        wish(StoryCommand::Reword("never", "Use a lock.")),
        desk(StoryCommand::Reword("notes", "Stop that.")),
        desk(StoryCommand::Unsay("notes")),
        wish(StoryCommand::StopNothing),
        wish(StoryCommand::ThinkBetterOf("And tidy up.")),
    ];
    steps.extend(reminders());
    steps.extend(interrupted());
    steps.extend([
        StoryStep::Pass(Seam::PostToolDispatch),
        wish(StoryCommand::Unsay("tests")),
        emit(AgentEvent::TranscriptCompacted(Box::new(compacted()))),
        emit(AgentEvent::message("The tests pass.")),
        remind(
            FinishStep,
            SystemReminder::new("reminder-late", "Mention the benchmark."),
        ),
    ]);
    steps
}

/// With the message that was to be delivered at the end.
pub(super) fn afterwards() -> Vec<StoryStep> {
    vec![
        StoryStep::Pass(Seam::TurnStart),
        emit(AgentEvent::message("The notes are written.")),
    ]
}

fn reminders() -> Vec<StoryStep> {
    let full = SystemReminder {
        tags: vec!["tests".to_owned()],
        dedupe_key: Some("tests".to_owned()),
        ttl_turns: Some(2),
        preserve_on_compact: true,
        propagate: ReminderPropagation::All,
        role_hint: RoleHint::UserBlock,
        source: ReminderSource::Hook,
        fired_at_turn: 3,
        originating_agent_id: Some("session-0".to_owned()),
        meta: Some(Map::from_iter([("hook".to_owned(), json!("pre-commit"))])),
        ..SystemReminder::new("reminder-tests", "Run the tests before you answer.")
    };
    let brief = SystemReminder::new("reminder-brief", "Be brief.");
    let recorded = SystemReminder::new("reminder-seen", "The person looked at the plan.");
    let gone = SystemReminder::new("reminder-gone", "Use tabs.");
    vec![
        remind(FinishStep, full),
        remind(FinishStep, brief),
        remind(AuditOnly, recorded),
        remind(FinishStep, gone),
        wish(StoryCommand::Forget("reminder-gone")),
        wish(StoryCommand::Forget("reminder-gone")),
        wish(StoryCommand::Forget("reminder-unknown")),
    ]
}

/// A question is taken back and a call does not run, because something has to be read first.
fn interrupted() -> Vec<StoryStep> {
    let call = ToolCall {
        title: Some("Delete target".to_owned()),
        raw_input: json!({"path": "target"}),
        ..ToolCall::new("call-interrupted", "delete_file")
    };
    let stop = SystemReminder {
        // The one with all fields takes its place when it is delivered.
        dedupe_key: Some("tests".to_owned()),
        ..SystemReminder::new("reminder-stop", "Do not delete anything.")
    };
    vec![
        emit(AgentEvent::ToolCall(Box::new(call.clone()))),
        StoryStep::Ask(Box::new(StoryQuestion {
            question: question(call),
            through: Vec::new(),
            decision: None,
        })),
        remind(InterruptImmediate, stop),
        StoryStep::Pass(Seam::PreToolDispatch),
    ]
}

fn compacted() -> TranscriptCompacted {
    TranscriptCompacted {
        mode: "manual".to_owned(),
        reason: "asked for".to_owned(),
        strategy: "truncate".to_owned(),
        archived_messages: 4,
        estimated_tokens_before: 8_000,
        estimated_tokens_after: 2_000,
        snapshot_asset_id: None,
        instruction_mode: None,
        instruction_source: None,
        compaction_policy: None,
    }
}

/// An agent that stays: woken by everything there is, and then by nothing.
pub(super) fn waits() -> Vec<StoryStep> {
    let wished = |wanted| {
        StoryStep::Wait(StoryWake::Wish(StoryRequest {
            by: "phone",
            wanted,
        }))
    };
    let watch = SystemReminder::new("reminder-watch", "src/limit.rs changed.");
    vec![
        emit(AgentEvent::message("I stay.")),
        wished(StoryCommand::Say("go-on", AuditOnly, "Go on.")),
        wished(StoryCommand::Remind(FinishStep, Box::new(watch))),
        StoryStep::Wait(StoryWake::Watch),
        emit(AgentEvent::message("Something changed.")),
        StoryStep::Wait(StoryWake::Resume),
        emit(AgentEvent::message("I am here.")),
        StoryStep::Wait(StoryWake::Timer(700)),
        StoryStep::Wait(StoryWake::Timer(250)),
        StoryStep::Wait(StoryWake::Never(2)),
    ]
}
