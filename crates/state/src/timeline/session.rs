//! Rows of the session itself: its clients, its settings, and the ends of its turns.

use harn_model::{
    ControlKind, ControlOutcome, ControlResult, DaemonChange, LiveClientAction, LiveClientChange,
    LiveClientLeft, McpServerStatus, McpState, SessionInfo, SlashCommand, StopReason, ToolsChange,
    TranscriptCompacted, TranscriptProjected, TurnOutcome, TurnRecovered, Usage, WakeReason,
};

use super::{RowDraft, text_format};
use crate::wire::TimelineKind;

pub(super) fn client(
    action: LiveClientAction,
    state: &LiveClientChange,
    left: Option<&LiveClientLeft>,
) -> RowDraft {
    let who = state.client.as_ref().map(|client| &*client.client_id);
    let who = who.or(left.map(|left| &*left.client_id));
    let who = who.unwrap_or("A client");
    let title = match action {
        LiveClientAction::Attached => format!("{who} attached"),
        LiveClientAction::Takeover => match &state.previous_controller_id {
            Some(before) if before != who => format!("{who} took control from {before}"),
            Some(_) | None => format!("{who} took control"),
        },
        LiveClientAction::Detached => format!("{who} detached"),
        LiveClientAction::Heartbeat => format!("{who} sent a heartbeat"),
    };
    let controller = state.active_controller_id.as_deref();
    let text = text_format::join_lines([
        left.and_then(|left| text_format::with_label("Reason", &left.reason)),
        controller.and_then(|controller| text_format::with_label("Controller", controller)),
    ]);
    RowDraft::new(TimelineKind::Client, title).with_text(text)
}

pub(super) fn control(outcome: &ControlOutcome) -> RowDraft {
    let wanted = match outcome.control {
        ControlKind::Inject => "to inject a message",
        ControlKind::RevokeInject => "to revoke a message",
        ControlKind::ReplaceInject => "to change a message",
        ControlKind::Remind => "to remind the agent",
        ControlKind::RevokeReminder => "to revoke a reminder",
        ControlKind::Cancel => "to cancel the turn",
    };
    let came = match outcome.result {
        ControlResult::Accepted
        | ControlResult::Revoked
        | ControlResult::Replaced
        | ControlResult::Cancelled => "done",
        ControlResult::AlreadyCancelled => "it was cancelled already",
        ControlResult::AlreadyRevoked => "it was revoked already",
        ControlResult::AlreadyDelivered => "too late, the agent has received it",
        ControlResult::UnknownMessageId => "unknown message",
        ControlResult::UnknownReminderId => "unknown reminder",
        ControlResult::NotOwnerOrNotAuthorized => "not allowed",
        ControlResult::NoActivePrompt => "no turn was running",
        ControlResult::QueueFull => "the queue was full",
        ControlResult::IdInUse => "the id is in use",
    };
    let who = &outcome.actor.client_id;
    let title = format!("{who} asked {wanted}: {came}");
    let target = outcome.target.message_id.as_ref().map(|id| id.as_str());
    let target = target.or(outcome.target.reminder_id.as_deref());
    RowDraft::new(TimelineKind::Control, title).with_text(target.unwrap_or_default())
}

pub(super) fn daemon(change: DaemonChange) -> RowDraft {
    let title = match change {
        DaemonChange::Idle { .. } => "The agent is idle".to_owned(),
        DaemonChange::Woke { reason } => {
            let by = match reason {
                WakeReason::Message => "a message",
                WakeReason::Resume => "a host",
                WakeReason::Watch => "a watched change",
                WakeReason::Timer => "a timer",
                WakeReason::Reminder => "a reminder",
            };
            format!("The agent was woken by {by}")
        }
        DaemonChange::WatchdogTripped {
            attempts,
            elapsed_ms,
        } => {
            let times = text_format::count(attempts, "time", "times");
            let while_ = text_format::format_duration(elapsed_ms);
            format!("The agent was woken {times} in {while_} and did nothing")
        }
    };
    RowDraft::new(TimelineKind::Session, title)
}

pub(super) fn turn_end(outcome: &TurnOutcome) -> RowDraft {
    let draft = |title: &str| RowDraft::new(TimelineKind::Session, title);
    match outcome {
        TurnOutcome::Stopped { stop_reason } => draft(match stop_reason {
            StopReason::EndTurn => "The turn ended",
            StopReason::MaxTokens => "The turn ended: the agent reached its token limit",
            StopReason::MaxTurnRequests => "The turn ended: the agent reached its request limit",
            StopReason::Refusal => "The turn ended: the agent refused to continue",
            StopReason::Cancelled => "The turn was cancelled",
        }),
        TurnOutcome::Failed { message } => draft(&format!(
            "The turn failed: {}",
            text_format::first_line(message)
        ))
        .with_text(message),
    }
}

pub(super) fn commands(commands: &[SlashCommand]) -> RowDraft {
    let names = commands.iter().map(|command| format!("/{}", command.name));
    let title = format!("Available commands: {}", text_format::join_list(names));
    let told = commands.iter();
    let told = told.map(|it| format!("/{}: {}", it.name, it.description));
    let text = told.collect::<Vec<_>>().join("\n");
    RowDraft::new(TimelineKind::Setting, title).with_text(text)
}

pub(super) fn tools(change: &ToolsChange) -> RowDraft {
    let total = text_format::count(change.total, "tool", "tools");
    let text = text_format::join_lines([
        text_format::with_label("Added", &change.added.join(", ")),
        text_format::with_label("Removed", &change.removed.join(", ")),
        text_format::with_label("Changed", &change.changed.join(", ")),
    ]);
    RowDraft::new(TimelineKind::Setting, format!("{total} available")).with_text(text)
}

pub(super) fn servers(servers: &[McpServerStatus]) -> RowDraft {
    let is_ready = |server: &&McpServerStatus| server.state == McpState::Ready;
    let ready = servers.iter().filter(is_ready).count();
    let title = format!("MCP servers: {ready} of {} ready", servers.len());
    let line = |server: &McpServerStatus| {
        let state = match server.state {
            McpState::Connecting => "connecting",
            McpState::Ready => "ready",
            McpState::Failed => "failed, retrying",
            McpState::GivenUp => "given up",
        };
        match &server.error {
            Some(error) => format!("{}: {state}: {error}", server.name),
            None => format!("{}: {state}", server.name),
        }
    };
    let text: Vec<_> = servers.iter().map(line).collect();
    RowDraft::new(TimelineKind::Setting, title).with_text(text.join("\n"))
}

pub(super) fn setting(name: &str, value: &str) -> RowDraft {
    RowDraft::new(TimelineKind::Setting, format!("{name}: {value}"))
}

pub(super) fn compaction(compacted: &TranscriptCompacted) -> RowDraft {
    let messages = text_format::count(compacted.archived_messages, "message", "messages");
    let title = format!("Compacted {messages}");
    let (before, after) = (
        compacted.estimated_tokens_before,
        compacted.estimated_tokens_after,
    );
    let text = text_format::join_lines([
        Some(compacted.reason.clone()),
        Some(format!("About {before} tokens before, {after} after")),
    ]);
    RowDraft::new(TimelineKind::Session, title).with_text(text)
}

pub(super) fn projection(projected: &TranscriptProjected) -> RowDraft {
    let (kept, left_out) = (projected.kept_count, projected.dropped_count);
    let kept = text_format::count(kept, "message", "messages");
    let title = format!("The model received {kept}, {left_out} omitted");
    RowDraft::new(TimelineKind::Session, title).with_text(&projected.reason)
}

pub(super) fn usage(usage: &Usage) -> RowDraft {
    let title = format!("Context: {} of {} tokens", usage.used, usage.size);
    let cost = usage.cost.as_ref();
    let cost = cost.map(|cost| format!("Cost so far: {} {}", cost.amount, cost.currency));
    RowDraft::new(TimelineKind::Session, title).with_text(cost.unwrap_or_default())
}

pub(super) fn info(info: &SessionInfo) -> RowDraft {
    let title = match &info.title {
        Some(title) => format!("Title: {title}"),
        None => "The session's details changed".to_owned(),
    };
    RowDraft::new(TimelineKind::Session, title)
}

pub(super) fn recovery(recovered: &TurnRecovered) -> RowDraft {
    let calls = recovered.interrupted_calls.len();
    let interrupted = text_format::count_items(calls, "call was", "calls were");
    let title = format!("Recovered after a crash: {interrupted} interrupted");
    let names = recovered.interrupted_calls.iter().map(|id| id.as_str());
    let text = names.collect::<Vec<_>>().join("\n");
    RowDraft::new(TimelineKind::Session, title).with_text(text)
}

pub(super) fn session_close(reason: &str) -> RowDraft {
    RowDraft::new(TimelineKind::Session, "The session was closed").with_text(reason)
}
