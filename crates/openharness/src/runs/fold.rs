//! One run, folded from the events of its turn: what is told of it from any place on. Pure.

use std::sync::Arc;

use harn_model::{
    AgentEvent, Artifact, Envelope, EventFamily, HitlRequest, MessageEvent, MessageId,
    PermissionAsked, PermissionEvent, Plan, QuestionEvent, ReportEvent, Seq, SessionId, ShownCall,
    StopReason, Timestamp, ToolCall, ToolCallUpdate, ToolEvent, Transcript, TurnEvent, TurnId,
    TurnOutcome,
};

use crate::{
    continuation::RunCursor,
    told::{CallSummary, RunPhase, RunReport},
};

/// What a run has come to.
pub(super) struct RunFold {
    session: SessionId,
    turn: TurnId,
    began_at: Timestamp,
    until: Timestamp,
    last: Seq,
    /// Somebody was told up to here: what is said after it is not put together with what was said before.
    told: Seq,
    /// The message under way is tagged with its last event, a decision with the event that asks for it.
    transcript: Transcript<Seq>,
    said: Vec<RunMessagePart>,
    calls: Vec<(Seq, CallSummary)>,
    artifacts: Vec<(Seq, Artifact)>,
    plan: Option<(Seq, Plan)>,
    questions: Vec<Arc<HitlRequest>>,
    end: Option<RunPhase>,
}

/// Part of a message.
struct RunMessagePart {
    seq: Seq,
    message: Option<MessageId>,
    text: String,
}

impl RunFold {
    /// A run that nothing is known of but when it was wanted, for somebody who has its past up to `told`.
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

    /// Whether nothing more will come.
    pub(super) fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// The decisions it waits for, in the order they were asked for.
    pub(super) fn asks(&self) -> Vec<PermissionAsked> {
        let mut asks: Vec<_> = self.transcript.open.asks.values().collect();
        asks.sort_by_key(|ask| ask.tag);
        asks.into_iter().map(|ask| (*ask.item).clone()).collect()
    }

    pub(super) fn questions(&self) -> &[Arc<HitlRequest>] {
        &self.questions
    }

    /// Whether something waits for a decision.
    pub(super) fn is_parked(&self) -> bool {
        self.open_questions() > 0
    }

    /// How many decisions it waits for.
    pub(super) fn open_questions(&self) -> usize {
        self.transcript.open.asks.len() + self.questions.len()
    }

    /// Whether this waits for a decision.
    pub(super) fn asks_for(&self, id: &str) -> bool {
        let mut questions = self.questions.iter();
        self.transcript.open.asks.contains_key(id) || questions.any(|it| it.request_id == id)
    }

    /// What there is to tell from just after a place. What comes later begins with passages of its own.
    pub(super) fn tell(&mut self, after: Seq) -> RunReport {
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
            calls: since(&self.calls, after),
            artifacts: since(&self.artifacts, after),
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

    /// Folds an event of this turn in. `question` finds what a person is being asked, while it is open.
    pub(super) fn apply(
        &mut self,
        envelope: &Envelope,
        question: impl FnOnce(&str) -> Option<Arc<HitlRequest>>,
    ) {
        // Nothing of the run yet: a Shell that it waits for has no place in it, and no time has passed.
        if let AgentEvent::PromptQueued(_) = &envelope.event {
            return;
        }
        let seq = envelope.seq;
        self.last = seq;
        self.until = envelope.at;
        let closed = self.transcript.apply(&envelope.event);
        match envelope.event.family() {
            EventFamily::Turn(TurnEvent::TurnStarted(_)) => self.began_at = envelope.at,
            EventFamily::Message(MessageEvent::AgentMessageChunk { content, .. }) => self.say(seq, content),
            EventFamily::Tool(ToolEvent::ToolCall(call)) => self.announce(seq, call),
            EventFamily::Tool(ToolEvent::ToolCallUpdate(update)) => self.update(seq, update, closed.call.as_deref()),
            EventFamily::Report(ReportEvent::Artifact(artifact)) => self.artifacts.push((seq, artifact.clone())),
            EventFamily::Report(ReportEvent::Plan { plan }) => self.plan = Some((seq, plan.clone())),
            // A checklist is a plan, whatever else is reported with it.
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
            // The transcript waits for it no more.
            EventFamily::Permission(PermissionEvent::PermissionResolved(_)) => {}
            EventFamily::Question(QuestionEvent::HitlRequested { request_id, .. }) => {
                // One that an agent only tells of is nobody's here to answer.
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
            // Left out above.
            EventFamily::Turn(TurnEvent::PromptQueued(_)) => {}
            // A Shell shows what came of a run, not how: neither reasoning nor what is under way, nor what
            // the user said, which it has from them.
            EventFamily::Message(
                MessageEvent::AgentThoughtChunk { .. } | MessageEvent::UserMessage { .. },
            )
            | EventFamily::Report(ReportEvent::Progress(_))
            | EventFamily::Delegation(_)
            | EventFamily::Composition(_)
            | EventFamily::Skill(_)
            | EventFamily::Detail(_)
            | EventFamily::Context(_)
            // Which answers were given is known to who gave them, and what follows is told.
            | EventFamily::Question(QuestionEvent::HitlResponded(_))
            | EventFamily::Record(_)
            // Of the session, its clients and its equipment, not of the run.
            | EventFamily::Steering(_)
            | EventFamily::Setting(_)
            | EventFamily::Session(_) => {}
        }
    }

    fn say(&mut self, seq: Seq, content: &str) {
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

    fn announce(&mut self, seq: Seq, call: &ToolCall) {
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

    fn update(&mut self, seq: Seq, update: &ToolCallUpdate, ended: Option<&ShownCall>) {
        let open = self.transcript.open.calls.get(&update.tool_call_id);
        let mut calls = self.calls.iter_mut();
        let known = calls.find(|(_, call)| call.id == update.tool_call_id);
        let (Some(shown), Some((at, call))) = (ended.or(open.map(|open| &open.item)), known) else {
            // Never announced: there is nothing a person could make of it.
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
        // A prompt that is withdrawn ends no turn.
        self.transcript.break_off();
        self.questions.clear();
        self.end = Some(how);
    }
}

fn since<T: Clone>(all: &[(Seq, T)], after: Seq) -> Vec<T> {
    let new = all.iter().filter(|(seq, _)| *seq > after);
    new.map(|(_, it)| it.clone()).collect()
}

#[cfg(test)]
mod tests;
