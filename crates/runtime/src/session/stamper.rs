//! Fills in fields so that agents cannot get them wrong: message ids; titles, durations and audits of tool
//! calls; times of workers; the fields that a composition repeats at its end.

use std::sync::Arc;

use harn_model::{
    AgentEvent, ChildResult, CompositionRun, ErrorCategory, HandoffArtifact, MessageId,
    MutationSession, SessionView, StampedEvent, Timestamp, ToolCallStatus, ToolCallUpdate,
    WorkerEvent, WorkerUpdate, format_rfc3339,
};

use crate::{IdKind, IdSource, permission::with_command};

#[derive(Default)]
pub(crate) struct EventStamper {
    /// The message that the next chunk belongs to.
    open: Option<(MessageChannel, MessageId)>,
    /// The audit record of the session.
    pub(super) audit: Option<Arc<MutationSession>>,
    /// Whether durations are unknown.
    pub(super) unmeasured: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MessageChannel {
    Answer,
    Thought,
}

impl EventStamper {
    /// Completes an event just before it is written. `view` is the fold of everything before it.
    pub(crate) fn stamp(
        &mut self,
        event: &mut AgentEvent,
        view: &SessionView,
        at: Timestamp,
        ids: &dyn IdSource,
    ) {
        if event.ends_message() {
            self.open = None;
        }
        let Some(stamped) = event.stamped_mut() else {
            return;
        };
        match stamped {
            StampedEvent::AgentMessageChunk { message_id, .. } => {
                self.set_message_id(MessageChannel::Answer, message_id, ids);
            }
            StampedEvent::AgentThoughtChunk { message_id, .. } => {
                self.set_message_id(MessageChannel::Thought, message_id, ids);
            }
            StampedEvent::ToolCall(call) => {
                call.audit.clone_from(&self.audit);
                call.title.take_if(|title| title.is_empty());
                // Set only on a call whose arguments are incomplete.
                call.parsing = call
                    .parsing
                    .filter(|parsing| *parsing && !call.status.is_terminal());
            }
            StampedEvent::ToolCallUpdate(update) => {
                update.audit = audit_for_update(self.audit.as_ref());
                complete_update(update, view, at);
                if self.unmeasured {
                    update.duration_ms = None;
                    update.execution_duration_ms = None;
                }
            }
            StampedEvent::PermissionAsked(ask) => {
                ask.pending = u64::try_from(view.pending.len()).unwrap_or(u64::MAX);
                if ask.lineage.is_empty() {
                    ask.tool_call.audit.clone_from(&self.audit);
                }
            }
            StampedEvent::WorkerUpdate(update) => {
                let last = view.workers.get(&update.worker_id);
                complete_worker(update, last.map(|last| &**last), at);
                let audit = match last {
                    // A cycle retains the audit record it started with.
                    Some(last) if !update.event.is_running() => last.audit.clone(),
                    Some(_) | None => self.audit.as_deref().map(|audit| {
                        let session = update.metadata.child_run_id.as_ref();
                        Arc::new(audit.delegate_to(session, &update.worker_id))
                    }),
                };
                update.metadata.audit.clone_from(&audit);
                update.audit = audit;
            }
            StampedEvent::WorkerCall(call) => {
                let turn = view.open_turn.as_ref();
                let open = turn.and_then(|turn| turn.worker_calls.get(call.id()));
                call.asked = open.is_some_and(|open| open.asked.is_some());
            }
            StampedEvent::Handoff { handoff, .. } => complete_handoff(handoff, at, ids),
            StampedEvent::Plan { plan } => plan.complete(),
            StampedEvent::AvailableCommands { commands, .. } => {
                *commands = with_command(std::mem::take(commands));
            }
            StampedEvent::CompositionChildResult(result) => {
                complete_child_result(result, view, at);
                if self.unmeasured {
                    result.duration_ms = None;
                    result.execution_duration_ms = None;
                }
            }
            StampedEvent::CompositionFinish(run) | StampedEvent::CompositionError(run) => {
                complete_composition_end(run, view, at);
                if self.unmeasured {
                    run.duration_ms = None;
                }
            }
        }
    }

    fn set_message_id(
        &mut self,
        channel: MessageChannel,
        id: &mut Option<MessageId>,
        ids: &dyn IdSource,
    ) {
        if id.is_some() {
            self.open = id.clone().map(|id| (channel, id));
            return;
        }
        let open = match self.open.take() {
            Some((open, id)) if open == channel => id,
            _ => MessageId::new(ids.mint(IdKind::Message)),
        };
        *id = Some(open.clone());
        self.open = Some((channel, open));
    }
}

/// Returns the record for an update, without the policy, which is in the call.
fn audit_for_update(audit: Option<&Arc<MutationSession>>) -> Option<Arc<MutationSession>> {
    audit.map(|audit| Arc::new(audit.without_policy()))
}

/// Adds the call's fields to every update, and removes fields that do not apply to its status.
fn complete_update(update: &mut ToolCallUpdate, view: &SessionView, at: Timestamp) {
    complete_error_fields(update.status, &mut update.error, &mut update.error_category);
    if update.raw_input.is_some() {
        update.raw_input_partial = None;
    }
    update.title.take_if(|title| title.is_empty());
    let ended = update.status.is_terminal();
    if !ended {
        update.duration_ms = None;
        update.execution_duration_ms = None;
    }
    let turn = view.open_turn.as_ref();
    let Some(call) = turn.and_then(|turn| turn.calls.get(&update.tool_call_id)) else {
        return;
    };
    // A call retains the audit record it was announced with.
    update.audit = audit_for_update(call.audit.as_ref());
    update
        .title
        .get_or_insert_with(|| call.title.clone().unwrap_or_else(|| call.tool_name.clone()));
    let parsed = ended || update.raw_input.is_some() || update.status == ToolCallStatus::InProgress;
    update.parsing = match call.parsing {
        true if parsed => Some(false),
        true => update.parsing,
        false => None,
    };
    if ended {
        let since = |then: Timestamp| at.saturating_sub(then);
        let ran = update.execution_duration_ms;
        let took = total_duration(update.duration_ms, ran, since(call.announced_at));
        let ran = ran.or_else(|| call.started_at.map(since));
        update.duration_ms = Some(took);
        update.execution_duration_ms = ran.map(|ran| ran.min(took));
    }
}

/// Returns how long a call took: the agent's value, else the measured time, which is at least the stated
/// execution time.
fn total_duration(stated: Option<u64>, ran: Option<u64>, measured: u64) -> u64 {
    stated.unwrap_or_else(|| measured.max(ran.unwrap_or(0)))
}

/// Sets error fields on failures, and clears them on everything else.
fn complete_error_fields(
    status: ToolCallStatus,
    error: &mut Option<String>,
    category: &mut Option<ErrorCategory>,
) {
    if status == ToolCallStatus::Failed {
        error.get_or_insert_with(|| "the tool failed".to_owned());
        category.get_or_insert(ErrorCategory::Unknown);
    } else {
        *error = None;
        *category = None;
    }
}

/// Derives cycle, times and identity of a worker from its last update.
fn complete_worker(update: &mut WorkerUpdate, last: Option<&WorkerUpdate>, at: Timestamp) {
    let cycle = last.map_or(0, |last| last.cycle);
    let metadata = &mut update.metadata;
    // The session of a worker and whether it is retriggerable are set once: a later change could run the
    // worker in the session of another client.
    if let Some(last) = last {
        update.retriggerable = last.retriggerable;
        let known = &last.metadata;
        if known.child_run_id.is_some() {
            metadata.child_run_id.clone_from(&known.child_run_id);
            metadata.child_run_path.clone_from(&known.child_run_path);
        }
    }
    if metadata.task.is_empty() {
        metadata.task.clone_from(&update.worker_task);
    }
    if metadata.mode.is_empty() {
        metadata.mode.clone_from(&update.worker_mode);
    }
    let started = last.and_then(|last| last.metadata.started_at.clone());
    metadata.started_at = Some(started.unwrap_or_else(|| format_rfc3339(at)));
    let waiting_since = last
        .filter(|last| last.event == WorkerEvent::WorkerWaitingForInput)
        .and_then(|last| last.metadata.awaiting_started_at.clone());
    metadata.awaiting_started_at = match update.event {
        WorkerEvent::WorkerSpawned | WorkerEvent::WorkerProgressed => None,
        WorkerEvent::WorkerWaitingForInput => Some(format_rfc3339(at)),
        WorkerEvent::WorkerCompleted
        | WorkerEvent::WorkerFailed
        | WorkerEvent::WorkerStopped
        | WorkerEvent::WorkerCancelled => waiting_since,
    };
    metadata.finished_at = update.event.is_terminal().then(|| format_rfc3339(at));
    update.cycle = match update.event {
        WorkerEvent::WorkerSpawned => cycle.saturating_add(1),
        WorkerEvent::WorkerProgressed
        | WorkerEvent::WorkerWaitingForInput
        | WorkerEvent::WorkerCompleted
        | WorkerEvent::WorkerFailed
        | WorkerEvent::WorkerStopped
        | WorkerEvent::WorkerCancelled => cycle,
    };
}

fn complete_handoff(handoff: &mut HandoffArtifact, at: Timestamp, ids: &dyn IdSource) {
    if handoff.id.is_empty() {
        handoff.id = ids.mint(IdKind::Handoff);
    }
    if handoff.artifact.is_empty() {
        handoff.artifact = HandoffArtifact::default().artifact;
    }
    if handoff.created_at.is_empty() {
        handoff.created_at = format_rfc3339(at);
    }
}

fn complete_child_result(result: &mut ChildResult, view: &SessionView, at: Timestamp) {
    // A result is an end; a status that is not terminal counts as failed.
    if !result.status.is_terminal() {
        result.status = ToolCallStatus::Failed;
    }
    complete_error_fields(result.status, &mut result.error, &mut result.error_category);
    let run = view
        .open_turn
        .as_ref()
        .and_then(|turn| turn.runs.get(&result.run_id));
    if let Some(child) = run.and_then(|run| run.children.get(&result.tool_call_id)) {
        result.tool_name.clone_from(&child.tool_name);
        result.operation_index = child.operation_index;
        let measured = at.saturating_sub(child.started_at);
        let took = total_duration(result.duration_ms, result.execution_duration_ms, measured);
        result.duration_ms = Some(took);
        // Only the executor knows how long the tool ran.
        result.execution_duration_ms = result.execution_duration_ms.map(|ran| ran.min(took));
    }
}

/// Repeats the start's fields at the end, so that the agent cannot change them in between.
fn complete_composition_end(run: &mut CompositionRun, view: &SessionView, at: Timestamp) {
    run.snippet = String::new();
    run.binding_manifest = serde_json::Value::Null;
    let turn = view.open_turn.as_ref();
    if let Some(open) = turn.and_then(|turn| turn.runs.get(&run.run_id)) {
        run.language.clone_from(&open.language);
        run.snippet_hash.clone_from(&open.snippet_hash);
        run.binding_manifest_hash
            .clone_from(&open.binding_manifest_hash);
        run.requested_side_effect_ceiling = open.ceiling;
        run.duration_ms
            .get_or_insert_with(|| at.saturating_sub(open.started_at));
    }
}
