//! The one table from events to rows. An event without a row has its reason here.

use harn_model::{AgentEvent, Envelope, LiveClientAction};

use super::{
    RowDraft, RowJoin, activity, calls, decisions, memory::TimelineMemory, messages, session,
};
use crate::wire::TimelineKind;

/// Returns the row of an event, if it has one.
pub(super) fn draft(envelope: &Envelope, memory: &mut TimelineMemory) -> Option<RowDraft> {
    let seq = envelope.seq;
    let draft = match &envelope.event {
        AgentEvent::TurnStarted(turn) => messages::prompt("Prompt", turn),
        AgentEvent::PromptQueued(turn) => messages::prompt("Queued", turn),
        AgentEvent::PromptWithdrawn(turn) => messages::prompt("Withdrawn", turn),
        AgentEvent::UserMessage {
            content,
            live_session,
            ..
        } => messages::message("Steered", content, live_session.as_deref()),
        AgentEvent::AgentMessageChunk {
            content,
            message_id,
        } => messages::chunk(
            TimelineKind::Text,
            content,
            RowJoin::Message(message_id.clone()),
        ),
        AgentEvent::AgentThoughtChunk {
            content,
            message_id,
        } => messages::chunk(
            TimelineKind::Thought,
            content,
            RowJoin::Thought(message_id.clone()),
        ),
        AgentEvent::Pending(change) => messages::pending(change),

        AgentEvent::ToolCall(call) => calls::tool_call(seq, call, memory),
        AgentEvent::ToolCallUpdate(update) => calls::tool_call_update(seq, update, memory),
        AgentEvent::ToolSearchQuery(query) => calls::search(query),
        AgentEvent::ToolSearchResult(result) => calls::search_result(result),
        AgentEvent::CompositionStart(run) => calls::composition_start(run),
        AgentEvent::CompositionChildCall(child) => calls::child_call(child),
        AgentEvent::CompositionChildResult(child) => calls::child_result(child),
        AgentEvent::CompositionFinish(run) => calls::composition_end("ran", run),
        AgentEvent::CompositionError(run) => calls::composition_end("failed", run),

        AgentEvent::PermissionAsked(ask) => decisions::permission_ask(seq, ask, memory),
        AgentEvent::LiveSessionPermissionRoute(route) => {
            decisions::permission_route(seq, route, memory)
        }
        AgentEvent::PermissionResolved(resolved) => {
            decisions::permission_resolution(seq, resolved, memory)
        }
        AgentEvent::PermissionGrant(record) => decisions::record("may run", record),
        AgentEvent::PermissionDeny(record) => decisions::record("may not run", record),
        AgentEvent::PermissionEscalation(record) => decisions::record("needs a decision", record),
        AgentEvent::GrantRevoked { grant_id } => decisions::grant_revocation(grant_id),
        AgentEvent::HitlRequested {
            request_id,
            kind,
            payload,
        } => decisions::question(seq, request_id, kind, payload, memory),
        AgentEvent::HitlResponded(response) => decisions::answer(response),
        AgentEvent::HitlResolved {
            request_id,
            outcome,
            ..
        } => decisions::question_resolution(seq, request_id, *outcome, memory),

        AgentEvent::Plan { plan } => activity::plan(plan),
        AgentEvent::ProgressReported(report) => activity::report(report),
        AgentEvent::Progress(progress) => activity::progress(progress),
        AgentEvent::Log(record) => activity::log(record),
        AgentEvent::Artifact(artifact) => activity::artifact(artifact),
        AgentEvent::FsWatch { events, .. } => activity::files(events),
        AgentEvent::Handoff { handoff, .. } => activity::handoff(handoff),
        AgentEvent::WorkerUpdate(update) => activity::worker(update),
        AgentEvent::SkillActivated {
            skill_name, reason, ..
        } => activity::skill_activation(skill_name, reason),
        AgentEvent::SkillDeactivated { skill_name, .. } => activity::skill_deactivation(skill_name),
        AgentEvent::SkillScopeTools {
            skill_name,
            allowed_tools,
            ..
        } => activity::skill_scope(skill_name, allowed_tools),
        AgentEvent::SkillNarrow(narrow) => activity::skill_narrow(narrow),
        AgentEvent::SkillMatched(matched) => activity::skill_match(matched),
        AgentEvent::ReminderEmitted(reminder) => activity::emitted_reminder(reminder),
        AgentEvent::ReminderLifecycle(change) => activity::reminder(change),

        // A client sends a heartbeat every few seconds: many rows without information.
        AgentEvent::LiveSessionClient {
            action: LiveClientAction::Heartbeat,
            ..
        } => return None,
        AgentEvent::LiveSessionClient {
            action,
            state,
            left,
        } => session::client(*action, state, left.as_deref()),
        // A worker's calls are rows of its own session.
        AgentEvent::WorkerCall(_) => return None,
        // Seams are internal to the runtime; the messages that it delivers there have rows of their own.
        AgentEvent::LoopCheckpoint(_) => return None,
        AgentEvent::ControlOutcome(outcome) => session::control(outcome),
        AgentEvent::Daemon(change) => session::daemon(*change),
        AgentEvent::TurnEnded(ended) => session::turn_end(&ended.outcome),
        AgentEvent::AvailableCommands { commands, .. } => session::commands(commands),
        AgentEvent::ToolsChanged(change) => session::tools(change),
        AgentEvent::McpServers { servers } => session::servers(servers),
        AgentEvent::ModeChanged { mode_id } => session::setting("Mode", mode_id),
        AgentEvent::ConfigChanged { config_id, value } => session::setting(config_id, value),
        AgentEvent::TranscriptCompacted(compacted) => session::compaction(compacted),
        AgentEvent::TranscriptProjected(projected) => session::projection(projected),
        AgentEvent::Usage(usage) => session::usage(usage),
        AgentEvent::SessionInfo(info) => session::info(info),
        AgentEvent::Recovered(recovered) => session::recovery(recovered),
        AgentEvent::SessionClosed { reason, .. } => session::session_close(reason),
    };
    Some(draft)
}
