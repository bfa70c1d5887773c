//! Folds the events of a turn into the state of its run, which can be reported from any position. Pure.

use std::sync::Arc;

use harn_model::{
    AgentEvent, Artifact, Envelope, EventFamily, HitlRequest, MessageEvent, MessageId,
    PermissionAsked, PermissionEvent, Plan, QuestionEvent, ReportEvent, Seq, SessionId, ShownCall,
    StopReason, Timestamp, ToolCall, ToolCallUpdate, ToolEvent, Transcript, TurnEvent, TurnId,
    TurnOutcome,
};

use crate::{
    continuation::RunCursor,
    report::{CallSummary, RunPhase, RunReport},
};

/// The state of a run.
pub(super) struct RunFold {
    session: SessionId,
    turn: TurnId,
    began_at: Timestamp,
    until: Timestamp,
    last: Seq,
    /// The last event of an earlier report; later text is not appended to a part that was reported.
    told: Seq,
    /// The tag of the open message is its last event, that of a permission request its own event.
    transcript: Transcript<Seq>,
    said: Vec<RunMessagePart>,
    calls: Vec<(Seq, CallSummary)>,
    artifacts: Vec<(Seq, Artifact)>,
    plan: Option<(Seq, Plan)>,
    questions: Vec<Arc<HitlRequest>>,
    end: Option<RunPhase>,
}

struct RunMessagePart {
    seq: Seq,
    message: Option<MessageId>,
    text: String,
}

impl RunFold {
    /// Creates the state of a run with only its start time, for a Shell that has the events up to `told`.
    pub(super) fn new(session: SessionId, turn: TurnId, at: Timestamp, told: Seq) -> Self {
        Self {
            session,
            turn,
            began_at: at,
            until: at,
            last: Seq::ZERO,
            told,
            transcript: Transcript::default(),
            said: Vec::new(),
            calls: Vec::new(),
            artifacts: Vec::new(),
            plan: None,
            questions: Vec::new(),
            end: None,
        }
    }

    /// Returns whether the run is over.
    pub(super) fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// Returns the open permission requests, in the order of their events.
    pub(super) fn asks(&self) -> Vec<PermissionAsked> {
        let mut asks: Vec<_> = self.transcript.open.asks.values().collect();
        asks.sort_by_key(|ask| ask.tag);
        asks.into_iter().map(|ask| (*ask.item).clone()).collect()
    }

    pub(super) fn questions(&self) -> &[Arc<HitlRequest>] {
        &self.questions
    }

    /// Returns whether the run waits for a decision.
    pub(super) fn is_parked(&self) -> bool {
        self.count_open_questions() > 0
    }

    /// Returns the number of decisions it waits for.
    pub(super) fn count_open_questions(&self) -> usize {
        self.transcript.open.asks.len() + self.questions.len()
    }

    /// Returns whether the question with this id is open.
    pub(super) fn has_question(&self, id: &str) -> bool {
        let mut questions = self.questions.iter();
        self.transcript.open.asks.contains_key(id) || questions.any(|it| it.request_id == id)
    }

    /// Returns the report of the events after `after`. Later text starts a new part.
    pub(super) fn report(&mut self, after: Seq) -> RunReport {
        self.told = self.told.max(self.last);
        let state = match &self.end {
            Some(end) => end.clone(),
            None if self.is_parked() => RunPhase::Parked,
            None => RunPhase::Running,
        };
        RunReport {
            place: RunCursor {
                session: self.session.clone(),
                turn: self.turn.clone(),
                after: self.last,
            },
            state,
            began_at: self.began_at,
            until: self.until,
            messages: self.messages(after),
            calls: items_after(&self.calls, after),
            artifacts: items_after(&self.artifacts, after),
            plan: self
                .plan
                .as_ref()
                .filter(|(seq, _)| *seq > after)
                .map(|(_, plan)| plan.clone()),
            asks: self.asks(),
            questions: self.questions.clone(),
        }
    }

    fn messages(&self, after: Seq) -> Vec<String> {
        let mut messages: Vec<(Option<&MessageId>, String)> = Vec::new();
        for passage in self.said.iter().filter(|passage| passage.seq > after) {
            let message = passage.message.as_ref();
            match messages.last_mut() {
                Some((last, text)) if message.is_some() && *last == message => {
                    text.push_str(&passage.text);
                }
                _ => messages.push((message, passage.text.clone())),
            }
        }
        let texts = messages.into_iter().map(|(_, text)| text);
        texts.filter(|text| !text.trim().is_empty()).collect()
    }

    /// Folds in an event of this turn. `question` returns the question to a person with this id, while it is
    /// open.
    pub(super) fn apply(
        &mut self,
        envelope: &Envelope,
        question: impl FnOnce(&str) -> Option<Arc<HitlRequest>>,
    ) {
        // The run has not started: a Shell that waits for it gets no position, and no time has passed.
        if let AgentEvent::PromptQueued(_) = &envelope.event {
            return;
        }
        let seq = envelope.seq;
        self.last = seq;
        self.until = envelope.at;
        let closed = self.transcript.apply(&envelope.event);
        match envelope.event.family() {
            EventFamily::Turn(TurnEvent::TurnStarted(_)) => self.began_at = envelope.at,
            EventFamily::Message(MessageEvent::AgentMessageChunk { content, .. }) => self.append_text(seq, content),
            EventFamily::Tool(ToolEvent::ToolCall(call)) => self.add_call(seq, call),
            EventFamily::Tool(ToolEvent::ToolCallUpdate(update)) => self.update_call(seq, update, closed.call.as_deref()),
            EventFamily::Report(ReportEvent::Artifact(artifact)) => self.artifacts.push((seq, artifact.clone())),
            EventFamily::Report(ReportEvent::Plan { plan }) => self.plan = Some((seq, plan.clone())),
            // A checklist is a plan, whatever else the report has.
            EventFamily::Report(ReportEvent::ProgressReported(report)) => {
                if !report.entries.is_empty() {
                    self.plan = Some((seq, Plan::Entries(report.entries.clone())));
                }
            }
            EventFamily::Permission(PermissionEvent::PermissionAsked(ask)) => {
                if let Some(open) = self.transcript.open.asks.get_mut(&ask.ask_id) {
                    open.tag = seq;
                }
            }
            // The transcript has removed the request.
            EventFamily::Permission(PermissionEvent::PermissionResolved(_)) => {}
            EventFamily::Question(QuestionEvent::HitlRequested { request_id, .. }) => {
                // A question that the agent only reports cannot be answered here.
                self.questions.extend(question(request_id));
            }
            EventFamily::Question(QuestionEvent::HitlResolved { request_id, .. }) => {
                self.questions.retain(|it| it.request_id != *request_id);
            }
            EventFamily::Turn(TurnEvent::TurnEnded(ended)) => self.end(match &ended.outcome {
                TurnOutcome::Stopped { stop_reason } => RunPhase::Ended(*stop_reason),
                TurnOutcome::Failed { message } => RunPhase::Failed(message.clone()),
            }),
            EventFamily::Turn(TurnEvent::PromptWithdrawn(_)) => self.end(RunPhase::Ended(StopReason::Cancelled)),
            EventFamily::Turn(TurnEvent::Recovered(_)) => self.end(RunPhase::Interrupted),
            // Handled above.
            EventFamily::Turn(TurnEvent::PromptQueued(_)) => {}
            // A Shell shows the result of a run, not its course: no reasoning, no progress, and not the
            // user's message, which the Shell has.
            EventFamily::Message(
                MessageEvent::AgentThoughtChunk { .. } | MessageEvent::UserMessage { .. },
            )
            | EventFamily::Report(ReportEvent::Progress(_))
            | EventFamily::Delegation(_)
            | EventFamily::Composition(_)
            | EventFamily::Skill(_)
            | EventFamily::Detail(_)
            | EventFamily::Context(_)
            // The sender knows its answers, and the report shows what follows.
            | EventFamily::Question(QuestionEvent::HitlResponded(_))
            | EventFamily::Record(_)
            // These are about the session, its clients and its equipment, not about the run.
            | EventFamily::Steering(_)
            | EventFamily::Setting(_)
            | EventFamily::Session(_) => {}
        }
    }

    fn append_text(&mut self, seq: Seq, content: &str) {
        let Some(message) = &mut self.transcript.message else {
            return;
        };
        let last = std::mem::replace(&mut message.tag, seq);
        match self.said.last_mut() {
            Some(passage) if message.id.is_some() && last > self.told => {
                passage.text.push_str(content);
                passage.seq = seq;
            }
            _ => self.said.push(RunMessagePart {
                seq,
                message: message.id.clone(),
                text: content.to_owned(),
            }),
        }
    }

    fn add_call(&mut self, seq: Seq, call: &ToolCall) {
        let call = CallSummary {
            id: call.tool_call_id.clone(),
            tool: call.tool_name.clone(),
            title: call.title.clone(),
            kind: call.kind,
            status: call.status,
            error: None,
        };
        self.calls.push((seq, call));
    }

    fn update_call(&mut self, seq: Seq, update: &ToolCallUpdate, ended: Option<&ShownCall>) {
        let open = self.transcript.open.calls.get(&update.tool_call_id);
        let mut calls = self.calls.iter_mut();
        let known = calls.find(|(_, call)| call.id == update.tool_call_id);
        let (Some(shown), Some((at, call))) = (ended.or(open.map(|open| &open.item)), known) else {
            // The call was never announced, so the update would mean nothing to a person.
            return;
        };
        *at = seq;
        call.status = shown.status;
        call.title.clone_from(&shown.title);
        if update.error.is_some() {
            call.error.clone_from(&update.error);
        }
    }

    fn end(&mut self, how: RunPhase) {
        // A withdrawn prompt has no event that ends its turn.
        self.transcript.close_all();
        self.questions.clear();
        self.end = Some(how);
    }
}

fn items_after<T: Clone>(all: &[(Seq, T)], after: Seq) -> Vec<T> {
    let new = all.iter().filter(|(seq, _)| *seq > after);
    new.map(|(_, it)| it.clone()).collect()
}

#[cfg(test)]
mod tests;
