//! Updates that are newer than the pinned ACP schema: notices, compactions, plans by id, and workers as
//! sessions of their own. Only clients that declared an update receive it.

use harn_model::{LogRecord, Plan, Seq, SessionId, TranscriptCompacted, WorkerEvent, WorkerUpdate};

use super::{UpdateProjector, is_blank, plain, standard::plan_meta};
use crate::wire::{
    CompactionState, ContentBlockWire, IdleReason, NoticeSeverity, PlanContent, StandardUpdate,
    SubagentError, SubagentState,
};

/// The id of a session's only plan; each plan replaces the one before it.
const PLAN_ID: &str = "plan";
/// The code of JSON-RPC's internal error.
const INTERNAL: i32 = -32603;

impl UpdateProjector {
    /// Returns whether a client receives progress as notices.
    pub(super) fn has_notices(&self) -> bool {
        self.dialect.newer.notices
    }

    /// Writes progress for a plain client as a thought, unless the client receives a notice.
    pub(super) fn write_progress(&self, seq: Seq, text: &str, out: &mut Vec<u8>) {
        if !self.has_notices() {
            self.write_note(seq, text, out);
        }
    }

    /// Writes a notice for the user. It is no part of the history, so a replay has none.
    pub(super) fn write_notice(
        &self,
        replay: bool,
        severity: NoticeSeverity,
        text: &str,
        out: &mut Vec<u8>,
    ) {
        if !self.has_notices() || replay || is_blank(text) {
            return;
        }
        let (title, rest) = match text.trim().split_once('\n') {
            Some((title, rest)) => (title, Some(rest.trim())),
            None => (text.trim(), None),
        };
        let update = StandardUpdate::Notice {
            severity,
            title: title.trim(),
            description: rest.filter(|rest| !rest.is_empty()),
        };
        self.write_update(&update, out);
    }

    /// Writes a line of the log as a notice, unless it is for developers.
    pub(super) fn write_log_notice(&self, replay: bool, log: &LogRecord, out: &mut Vec<u8>) {
        let severity = match log.level.as_str() {
            "trace" | "debug" => return,
            "warn" | "warning" => NoticeSeverity::Warning,
            "error" => NoticeSeverity::Error,
            _ => NoticeSeverity::Info,
        };
        self.write_notice(replay, severity, &log.message, out);
    }

    /// Writes a finished compaction: the runtime records one only when it is over.
    pub(super) fn write_compaction(
        &self,
        seq: Seq,
        compacted: &TranscriptCompacted,
        out: &mut Vec<u8>,
    ) {
        if !self.dialect.newer.compaction {
            return;
        }
        let text = plain::compaction_text(compacted);
        let update = StandardUpdate::CompactionUpdate {
            compaction_id: &format!("compaction-{seq}"),
            status: CompactionState::Completed,
            summary: [ContentBlockWire::text(&text)],
        };
        self.write_update(&update, out);
    }

    /// Writes a plan with its id; a plan without entries is removed.
    pub(super) fn write_plan_by_id(&self, plan: &Plan, out: &mut Vec<u8>) {
        let entries = plan.entries();
        if entries.is_empty() {
            return self.write_update(&StandardUpdate::PlanRemoved { plan_id: PLAN_ID }, out);
        }
        let meta = plan_meta(plan);
        let plan = PlanContent::Items {
            plan_id: PLAN_ID,
            entries: entries.iter().map(Into::into).collect(),
        };
        self.write_update(&StandardUpdate::PlanUpdate { plan, meta }, out);
    }

    /// Returns whether a worker is shown as a session of its own.
    pub(super) fn shows_subagent(&self, worker: &WorkerUpdate) -> bool {
        self.dialect.newer.subagents && worker.metadata.child_run_id.is_some()
    }

    /// Writes a worker as a session of its own: its state, and after its announcement the task.
    pub(super) fn write_subagent(&self, worker: &WorkerUpdate, out: &mut Vec<u8>) {
        let Some(child) = worker.metadata.child_run_id.as_ref() else {
            return;
        };
        if !self.dialect.newer.subagents {
            return;
        }
        let idle = |reason| SubagentState::Idle { reason };
        let mut announced = (None, None);
        let state = match worker.event {
            WorkerEvent::WorkerSpawned => {
                announced = (Some(&*worker.worker_name), Some(&*worker.worker_task));
                SubagentState::Running
            }
            // The cycle that follows is shown instead.
            WorkerEvent::WorkerProgressed => return,
            WorkerEvent::WorkerWaitingForInput
            | WorkerEvent::WorkerCompleted
            | WorkerEvent::WorkerStopped => idle(IdleReason::EndTurn),
            WorkerEvent::WorkerCancelled => idle(IdleReason::Cancelled),
            WorkerEvent::WorkerFailed => idle(IdleReason::Error {
                error: SubagentError {
                    code: INTERNAL,
                    message: worker
                        .metadata
                        .error
                        .as_deref()
                        .unwrap_or("the worker failed"),
                },
            }),
        };
        let update = StandardUpdate::SubagentUpdate {
            session_id: child.as_str(),
            title: announced.0,
            description: announced.1,
            state,
        };
        self.write_update(&update, out);
        if worker.event == WorkerEvent::WorkerSpawned {
            let id = format!("worker-{}-{}-task", worker.worker_id, worker.cycle);
            self.write_session_message(&id, child, plain::cycle_task(worker), out);
        }
    }

    /// Writes a message of this session to another one.
    fn write_session_message(&self, id: &str, to: &SessionId, text: &str, out: &mut Vec<u8>) {
        let message = StandardUpdate::SessionMessage {
            message_id: id,
            sender_session_id: self.session.as_str(),
            recipient_session_id: to.as_str(),
        };
        self.write_update(&message, out);
        let chunk = StandardUpdate::SessionMessageChunk {
            message_id: id,
            content: ContentBlockWire::text(text),
        };
        self.write_update(&chunk, out);
    }
}
