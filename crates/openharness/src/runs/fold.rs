//! One run, folded from the events of its turn: what is told of it from any place on. Pure.

use std::sync::Arc;

use harn_model::{
    AgentEvent, Artifact, Envelope, EventFamily, HitlRequest, MessageEvent, MessageId,
    PermissionAsked, PermissionEvent, Plan, QuestionEvent, ReportEvent, Seq, SessionId, StopReason,
    Timestamp, ToolCall, ToolCallUpdate, ToolEvent, TurnEvent, TurnId, TurnOutcome,
};

use crate::{
    continuation::Place,
    told::{Call, State, Told},
};

/// What a run has come to.
pub(super) struct Fold {
    session: SessionId,
    turn: TurnId,
    began_at: Timestamp,
    until: Timestamp,
    last: Seq,
    /// Somebody was told up to here: what is said after it is not put together with what was said before.
    told: Seq,
    said: Vec<Passage>,
    calls: Vec<(Seq, Call)>,
    artifacts: Vec<(Seq, Artifact)>,
    plan: Option<(Seq, Plan)>,
    asks: Vec<PermissionAsked>,
    questions: Vec<Arc<HitlRequest>>,
    end: Option<State>,
}

/// Part of a message.
struct Passage {
    /// Its last event.
    seq: Seq,
    message: Option<MessageId>,
    text: String,
}

impl Fold {
    /// A run that nothing is known of but when it was wanted, for somebody who has its past up to `told`.
    pub(super) fn new(session: SessionId, turn: TurnId, at: Timestamp, told: Seq) -> Self {
        Self {
            session,
            turn,
            began_at: at,
            until: at,
            last: Seq::ZERO,
            told,
            said: Vec::new(),
            calls: Vec::new(),
            artifacts: Vec::new(),
            plan: None,
            asks: Vec::new(),
            questions: Vec::new(),
            end: None,
        }
    }

    /// Whether nothing more will come.
    pub(super) fn is_over(&self) -> bool {
        self.end.is_some()
    }

    pub(super) fn asks(&self) -> &[PermissionAsked] {
        &self.asks
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
        self.asks.len() + self.questions.len()
    }

    /// Whether this waits for a decision.
    pub(super) fn asks_for(&self, id: &str) -> bool {
        let asks = self.asks.iter().map(|ask| ask.ask_id.as_str());
        let questions = self.questions.iter().map(|it| it.request_id.as_str());
        asks.chain(questions).any(|open| open == id)
    }

    /// What there is to tell from just after a place. What comes later begins with passages of its own.
    pub(super) fn tell(&mut self, after: Seq) -> Told {
        self.told = self.told.max(self.last);
        let state = match &self.end {
            Some(end) => end.clone(),
            None if self.is_parked() => State::Parked,
            None => State::Running,
        };
        Told {
            place: Place {
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
            asks: self.asks.clone(),
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
        match envelope.event.family() {
            EventFamily::Turn(TurnEvent::TurnStarted(_)) => self.began_at = envelope.at,
            EventFamily::Message(MessageEvent::AgentMessageChunk {
                content,
                message_id,
            }) => self.say(seq, message_id.as_ref(), content),
            EventFamily::Tool(ToolEvent::ToolCall(call)) => self.announce(seq, call),
            EventFamily::Tool(ToolEvent::ToolCallUpdate(update)) => self.update(seq, update),
            EventFamily::Report(ReportEvent::Artifact(artifact)) => self.artifacts.push((seq, artifact.clone())),
            EventFamily::Report(ReportEvent::Plan { plan }) => self.plan = Some((seq, plan.clone())),
            // A checklist is a plan, whatever else is reported with it.
            EventFamily::Report(ReportEvent::ProgressReported(report)) => {
                if !report.entries.is_empty() {
                    self.plan = Some((seq, Plan::Entries(report.entries.clone())));
                }
            }
            EventFamily::Permission(PermissionEvent::PermissionAsked(ask)) => self.asks.push(ask.clone()),
            EventFamily::Permission(PermissionEvent::PermissionResolved(resolved)) => {
                self.asks.retain(|ask| ask.ask_id != resolved.ask_id);
            }
            EventFamily::Question(QuestionEvent::HitlRequested { request_id, .. }) => {
                // One that an agent only tells of is nobody's here to answer.
                self.questions.extend(question(request_id));
            }
            EventFamily::Question(QuestionEvent::HitlResolved { request_id, .. }) => {
                self.questions.retain(|it| it.request_id != *request_id);
            }
            EventFamily::Turn(TurnEvent::TurnEnded(ended)) => self.end(match &ended.outcome {
                TurnOutcome::Stopped { stop_reason } => State::Ended(*stop_reason),
                TurnOutcome::Failed { message } => State::Failed(message.clone()),
            }),
            EventFamily::Turn(TurnEvent::PromptWithdrawn(_)) => self.end(State::Ended(StopReason::Cancelled)),
            EventFamily::Turn(TurnEvent::Recovered(_)) => self.end(State::Interrupted),
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

    fn say(&mut self, seq: Seq, message: Option<&MessageId>, content: &str) {
        if let Some(last) = self.said.last_mut()
            && message.is_some()
            && last.message.as_ref() == message
            && last.seq > self.told
        {
            last.text.push_str(content);
            last.seq = seq;
            return;
        }
        self.said.push(Passage {
            seq,
            message: message.cloned(),
            text: content.to_owned(),
        });
    }

    fn announce(&mut self, seq: Seq, call: &ToolCall) {
        let call = Call {
            id: call.tool_call_id.clone(),
            tool: call.tool_name.clone(),
            title: call.title.clone(),
            kind: call.kind,
            status: call.status,
            error: None,
        };
        self.calls.push((seq, call));
    }

    fn update(&mut self, seq: Seq, update: &ToolCallUpdate) {
        let mut calls = self.calls.iter_mut();
        let Some((at, call)) = calls.find(|(_, call)| call.id == update.tool_call_id) else {
            // Never announced: there is nothing a person could make of it.
            return;
        };
        *at = seq;
        call.status = update.status;
        if update.title.is_some() {
            call.title.clone_from(&update.title);
        }
        if update.error.is_some() {
            call.error.clone_from(&update.error);
        }
    }

    fn end(&mut self, how: State) {
        self.asks.clear();
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
