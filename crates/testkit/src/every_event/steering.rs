//! A session that clients steer: messages and reminders that wait, change, and are withdrawn, refused or
//! delivered; an interruption; and an agent that stays idle for more input.

use harn_model::{
    Actor, AgentEvent, DeliveryMode, ReminderPropagation, ReminderSource, RoleHint, Seam,
    SystemReminder, ToolCall, TranscriptCompacted,
};
use serde_json::{Map, json};

use super::{StoryQuestion, StoryStep, emit, rule_calls::question};
use DeliveryMode::{AuditOnly, FinishStep, InterruptImmediate};

/// A request to the running session, with its client. The story names messages; the runtime assigns their ids.
pub(super) struct StoryRequest {
    pub(super) by: &'static str,
    pub(super) wanted: StoryCommand,
}

pub(super) enum StoryCommand {
    /// Injects a message with this name.
    Say(&'static str, DeliveryMode, &'static str),
    /// Withdraws an injected message.
    Unsay(&'static str),
    /// Replaces the text of a message.
    Reword(&'static str, &'static str),
    Remind(DeliveryMode, Box<SystemReminder>),
    /// Revokes a reminder by its id.
    Forget(&'static str),
    /// Cancels a turn that does not exist.
    StopNothing,
    /// Queues a prompt and withdraws it.
    ThinkBetterOf(&'static str),
}

/// The event that ends a wait.
pub(super) enum StoryWake {
    Wish(StoryRequest),
    Resume,
    Watch,
    /// A timer of this many milliseconds.
    Timer(u64),
    /// Nothing: the watchdog ends the turn after this many wakes without a result.
    Never(u64),
}

/// Returns a client as the author of a request, in the form that hosts send.
pub(super) fn actor(client: &str) -> Actor {
    Actor {
        client_id: client.to_owned(),
        role: "controller".to_owned(),
        source: "acp".to_owned(),
    }
}

/// Returns a request of the controller, `phone`; `desk` is an observer.
pub(super) fn controller_request(wanted: StoryCommand) -> StoryStep {
    let by = "phone";
    StoryStep::Want(StoryRequest { by, wanted })
}

fn remind(mode: DeliveryMode, reminder: SystemReminder) -> StoryStep {
    controller_request(StoryCommand::Remind(mode, Box::new(reminder)))
}

/// Returns every kind of request, with its consequences.
pub(super) fn request_steps() -> Vec<StoryStep> {
    let desk = |wanted| StoryStep::Want(StoryRequest { by: "desk", wanted });
    let mut steps = vec![
        StoryStep::Pass(Seam::TurnStart),
        controller_request(StoryCommand::Say(
            "tests",
            FinishStep,
            "Look at the tests first.",
        )),
        controller_request(StoryCommand::Say(
            "notes",
            AuditOnly,
            "Then write the notes.",
        )),
        controller_request(StoryCommand::Reword(
            "notes",
            "Then write the notes, briefly.",
        )),
        controller_request(StoryCommand::Say("never", FinishStep, "Use a mutex.")),
        controller_request(StoryCommand::Unsay("never")),
        controller_request(StoryCommand::Unsay("never")),
        controller_request(StoryCommand::Reword("never", "Use a lock.")),
        desk(StoryCommand::Reword("notes", "Stop that.")),
        desk(StoryCommand::Unsay("notes")),
        controller_request(StoryCommand::StopNothing),
        controller_request(StoryCommand::ThinkBetterOf("And tidy up.")),
    ];
    steps.extend(reminder_steps());
    steps.extend(interruption_steps());
    steps.extend([
        StoryStep::Pass(Seam::PostToolDispatch),
        controller_request(StoryCommand::Unsay("tests")),
        emit(AgentEvent::TranscriptCompacted(Box::new(compaction()))),
        emit(AgentEvent::message("The tests pass.")),
        remind(
            FinishStep,
            SystemReminder::new("reminder-late", "Mention the benchmark."),
        ),
    ]);
    steps
}

/// Returns the steps after the message that waits for the end of the turn.
pub(super) fn steps_after_message() -> Vec<StoryStep> {
    vec![
        StoryStep::Pass(Seam::TurnStart),
        emit(AgentEvent::message("The notes are written.")),
    ]
}

fn reminder_steps() -> Vec<StoryStep> {
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
        controller_request(StoryCommand::Forget("reminder-gone")),
        controller_request(StoryCommand::Forget("reminder-gone")),
        controller_request(StoryCommand::Forget("reminder-unknown")),
    ]
}

/// Returns steps in which an interrupting reminder withdraws a question and skips a call.
fn interruption_steps() -> Vec<StoryStep> {
    let call = ToolCall {
        title: Some("Delete target".to_owned()),
        raw_input: json!({"path": "target"}),
        ..ToolCall::new("call-interrupted", "delete_file")
    };
    let stop = SystemReminder {
        // This reminder replaces the one with all fields when it is delivered.
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

fn compaction() -> TranscriptCompacted {
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

/// Returns the steps of an agent that stays: each wake-up wakes it once, then none.
pub(super) fn idle_steps() -> Vec<StoryStep> {
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
