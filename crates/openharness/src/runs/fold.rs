//! One run, folded from the events of its turn: what is told of it from any place on. Pure.

use std::sync::Arc;

use harn_model::{
    AgentEvent, Artifact, Envelope, HitlRequest, MessageId, PermissionAsked, Plan, Seq, SessionId,
    StopReason, Timestamp, ToolCall, ToolCallUpdate, TurnId, TurnOutcome,
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
        match &envelope.event {
            AgentEvent::TurnStarted(_) => self.began_at = envelope.at,
            AgentEvent::AgentMessageChunk {
                content,
                message_id,
            } => self.say(seq, message_id.as_ref(), content),
            AgentEvent::ToolCall(call) => self.announce(seq, call),
            AgentEvent::ToolCallUpdate(update) => self.update(seq, update),
            AgentEvent::Artifact(artifact) => self.artifacts.push((seq, (**artifact).clone())),
            AgentEvent::Plan { plan } => self.plan = Some((seq, plan.clone())),
            // A checklist is a plan, whatever else is reported with it.
            AgentEvent::ProgressReported(report) => {
                if !report.entries.is_empty() {
                    self.plan = Some((seq, Plan::Entries(report.entries.clone())));
                }
            }
            AgentEvent::PermissionAsked(ask) => self.asks.push((**ask).clone()),
            AgentEvent::PermissionResolved(resolved) => {
                self.asks.retain(|ask| ask.ask_id != resolved.ask_id);
            }
            AgentEvent::HitlRequested { request_id, .. } => {
                // One that an agent only tells of is nobody's here to answer.
                self.questions.extend(question(request_id));
            }
            AgentEvent::HitlResolved { request_id, .. } => {
                self.questions.retain(|it| it.request_id != *request_id);
            }
            AgentEvent::TurnEnded(ended) => self.end(match &ended.outcome {
                TurnOutcome::Stopped { stop_reason } => State::Ended(*stop_reason),
                TurnOutcome::Failed { message } => State::Failed(message.clone()),
            }),
            AgentEvent::PromptWithdrawn(_) => self.end(State::Ended(StopReason::Cancelled)),
            AgentEvent::Recovered(_) => self.end(State::Interrupted),
            // Left out above.
            AgentEvent::PromptQueued(_) => {}
            // A Shell shows what came of a run, not how: neither reasoning nor what is under way, nor what
            // the user said, which it has from them.
            AgentEvent::AgentThoughtChunk { .. }
            | AgentEvent::UserMessage { .. }
            | AgentEvent::Progress(_)
            | AgentEvent::Log(_)
            | AgentEvent::FsWatch { .. }
            | AgentEvent::Handoff { .. }
            | AgentEvent::WorkerUpdate(_)
            | AgentEvent::WorkerCall(_)
            | AgentEvent::SkillActivated { .. }
            | AgentEvent::SkillDeactivated { .. }
            | AgentEvent::SkillScopeTools { .. }
            | AgentEvent::SkillNarrow(_)
            | AgentEvent::SkillMatched(_)
            | AgentEvent::ToolSearchQuery(_)
            | AgentEvent::ToolSearchResult(_)
            | AgentEvent::TranscriptCompacted(_)
            | AgentEvent::TranscriptProjected(_)
            | AgentEvent::ReminderEmitted(_)
            | AgentEvent::CompositionStart(_)
            | AgentEvent::CompositionChildCall(_)
            | AgentEvent::CompositionChildResult(_)
            | AgentEvent::CompositionFinish(_)
            | AgentEvent::CompositionError(_)
            | AgentEvent::LoopCheckpoint(_)
            | AgentEvent::Daemon(_)
            | AgentEvent::Usage(_)
            // Which answers were given is known to who gave them, and what follows is told.
            | AgentEvent::HitlResponded(_)
            | AgentEvent::PermissionGrant(_)
            | AgentEvent::PermissionDeny(_)
            | AgentEvent::PermissionEscalation(_)
            | AgentEvent::LiveSessionPermissionRoute(_)
            | AgentEvent::GrantRevoked { .. }
            // Of the session, its clients and its equipment, not of the run.
            | AgentEvent::AvailableCommands { .. }
            | AgentEvent::ToolsChanged(_)
            | AgentEvent::McpServers { .. }
            | AgentEvent::LiveSessionClient { .. }
            | AgentEvent::Pending(_)
            | AgentEvent::ReminderLifecycle(_)
            | AgentEvent::ControlOutcome(_)
            | AgentEvent::ModeChanged { .. }
            | AgentEvent::ConfigChanged { .. }
            | AgentEvent::SessionInfo(_)
            | AgentEvent::SessionClosed { .. } => {}
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
