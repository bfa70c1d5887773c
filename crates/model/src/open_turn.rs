//! The open items of the running turn: calls, questions and composition runs that have not ended.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    AskId, CompositionRun, Envelope, LineageEntry, MutationSession, PermissionAsked,
    PermissionEvent, QuestionEvent, Seq, SideEffectLevel, Timestamp, ToolCallId, ToolCallStatus,
    ToolEvent, TurnId,
};

/// A turn that started and has not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenTurn {
    /// Its id.
    pub id: TurnId,
    /// Announced calls that have not ended, with their tool and times.
    pub calls: BTreeMap<ToolCallId, OpenCall>,
    /// Announced calls of workers that have not ended.
    pub worker_calls: BTreeMap<ToolCallId, OpenWorkerCall>,
    /// Permission questions that have not ended.
    pub asks: BTreeMap<AskId, Box<PermissionAsked>>,
    /// Composition runs that have not ended.
    pub runs: BTreeMap<String, OpenRun>,
    /// Questions to a person without an answer.
    pub questions: BTreeMap<String, OpenQuestion>,
}

impl OpenTurn {
    pub(crate) fn new(id: TurnId) -> Self {
        Self {
            id,
            calls: BTreeMap::new(),
            worker_calls: BTreeMap::new(),
            asks: BTreeMap::new(),
            runs: BTreeMap::new(),
            questions: BTreeMap::new(),
        }
    }

    pub(crate) fn apply_tool(&mut self, event: ToolEvent<'_>, envelope: &Envelope) {
        let at = envelope.at;
        match event {
            ToolEvent::ToolCall(call) if call.status.is_terminal() => {}
            ToolEvent::ToolCall(call) => {
                let running = call.status == ToolCallStatus::InProgress;
                let open = OpenCall {
                    tool_name: call.tool_name.clone(),
                    title: call.title.clone(),
                    parsing: call.parsing == Some(true),
                    audit: call.audit.clone(),
                    seq: envelope.seq,
                    announced_at: at,
                    started_at: running.then_some(at),
                };
                self.calls.insert(call.tool_call_id.clone(), open);
            }
            ToolEvent::ToolCallUpdate(update) if update.status.is_terminal() => {
                self.calls.remove(&update.tool_call_id);
            }
            ToolEvent::ToolCallUpdate(update) => {
                let Some(call) = self.calls.get_mut(&update.tool_call_id) else {
                    return;
                };
                if update.title.is_some() && update.title != call.title {
                    call.title.clone_from(&update.title);
                }
                if update.status == ToolCallStatus::InProgress {
                    call.started_at.get_or_insert(at);
                }
                call.parsing = update.parsing.unwrap_or(call.parsing);
            }
        }
    }

    pub(crate) fn apply_permission(&mut self, event: PermissionEvent<'_>) {
        match event {
            PermissionEvent::PermissionAsked(ask) => {
                let asked = Box::new(ask.clone());
                self.asks.insert(ask.ask_id.clone(), asked);
            }
            PermissionEvent::PermissionResolved(resolved) => {
                self.asks.remove(&resolved.ask_id);
            }
        }
    }

    pub(crate) fn apply_question(&mut self, event: QuestionEvent<'_>, seq: Seq) {
        match event {
            QuestionEvent::HitlRequested {
                request_id, kind, ..
            } => {
                let kind = kind.clone();
                let question = OpenQuestion { kind, seq };
                self.questions.insert(request_id.clone(), question);
            }
            QuestionEvent::HitlResolved { request_id, .. } => {
                self.questions.remove(request_id);
            }
            QuestionEvent::HitlResponded(_) => {}
        }
    }

    /// Returns the event that announced an open call or an open question to a person. The session announces a
    /// worker's call again before it asks about it; without `of_workers`, that second announcement counts.
    pub fn announcement_seq(&self, id: &str, of_workers: bool) -> Option<Seq> {
        let call = self.calls.get(id).map(|call| call.seq);
        let of_worker = || match (self.worker_calls.get(id)?, of_workers) {
            (call, true) => Some(call.seq),
            (call, false) => call.asked,
        };
        let question = || self.questions.get(id).map(|question| question.seq);
        call.or_else(of_worker).or_else(question)
    }
}

/// A question to a person that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenQuestion {
    /// Its kind.
    pub kind: String,
    /// The event that announced it.
    pub seq: Seq,
}

/// A tool call that has not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenCall {
    /// The name of the tool.
    pub tool_name: String,
    /// The title for people, if it is not the tool's name.
    pub title: Option<String>,
    /// Whether its arguments are still streaming in.
    pub parsing: bool,
    /// The mutation session it was announced under.
    pub audit: Option<Arc<MutationSession>>,
    /// The event that announced it.
    pub seq: Seq,
    /// When it was announced.
    pub announced_at: Timestamp,
    /// When it started to run.
    pub started_at: Option<Timestamp>,
}

/// A worker's tool call that has not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenWorkerCall {
    /// The name of the tool.
    pub tool_name: String,
    /// The title for people, if it is not the tool's name.
    pub title: Option<String>,
    /// The workers from the session down to the one that makes the call.
    pub lineage: Vec<LineageEntry>,
    /// The event that announced it.
    pub seq: Seq,
    /// The event that announced it again because the session asks about it.
    pub asked: Option<Seq>,
}

/// A composition run that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRun {
    /// The snippet's language.
    pub language: String,
    /// The snippet's hash.
    pub snippet_hash: String,
    /// The manifest's hash.
    pub binding_manifest_hash: String,
    /// The highest level of side effects that children may have.
    pub ceiling: SideEffectLevel,
    /// When it began.
    pub started_at: Timestamp,
    /// Children that have not ended.
    pub children: BTreeMap<String, OpenChild>,
}

impl OpenRun {
    pub(crate) fn new(run: &CompositionRun, at: Timestamp) -> Self {
        Self {
            language: run.language.clone(),
            snippet_hash: run.snippet_hash.clone(),
            binding_manifest_hash: run.binding_manifest_hash.clone(),
            ceiling: run.requested_side_effect_ceiling,
            started_at: at,
            children: BTreeMap::new(),
        }
    }
}

/// A child of a composition run that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenChild {
    /// The name of the tool.
    pub tool_name: String,
    /// Its position in the run.
    pub operation_index: u64,
    /// When it began.
    pub started_at: Timestamp,
}
