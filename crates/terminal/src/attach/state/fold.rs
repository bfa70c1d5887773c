//! Folds received events into the state of the screen.

use std::time::Duration;

use agent_client_protocol::v1::schema::{ContentChunk, Meta, SessionUpdate};
use harn_acp::client::{CarriedUpdate, HarnEvent, TurnEndedFields, UserMeta, vendor_data};
use harn_model::StopReason;
use serde_json::{Value, value::RawValue};

use super::{AttachScreen, ConnectionStatus};
use crate::{
    attach::{
        measure::tame_line,
        question::ShownQuestion,
        talk::{
            AttachEvent, JoinedSession, QuestionRequest, ReceivedUpdate, RejectedText, UpdateParams,
        },
        transcript::{MessageAuthor, NoteLevel},
    },
    reading::{activity::AgentActivity, call::block_text},
};

impl AttachScreen {
    /// Handles an event. Returns a question that cannot be shown here.
    pub(in crate::attach) fn hear(&mut self, heard: AttachEvent) -> Option<QuestionRequest> {
        match heard {
            AttachEvent::Update(params) => self.update(&params),
            AttachEvent::Replaced(params) => self.replaced(&params),
            AttachEvent::Event(params) => self.event(&params),
            AttachEvent::Idle => self.idle = true,
            AttachEvent::Asked(asked) => return self.asked(asked),
            AttachEvent::Withdrawn(id) => self.withdrawn(&id),
            AttachEvent::Joined(joined) => self.joined(*joined),
            AttachEvent::Waiting(waiting) => self.waiting = waiting,
            // The update that delivers it may arrive first.
            AttachEvent::Kept(kept) if self.transcript.has_message(&kept.message) => {}
            AttachEvent::Kept(kept) => self.waiting.push(kept),
            AttachEvent::Prompted(number, text) => self.sent.push_back((number, text)),
            AttachEvent::Answered(number) => self.sent.retain(|sent| sent.0 != number),
            AttachEvent::Refused { why, words } => self.refused(tame_line(&why), words),
            AttachEvent::NotController { controller, words } => {
                let who = match controller.as_deref() {
                    Some(who) if who == self.me => "somebody else of your name".to_owned(),
                    Some(who) => tame_line(who),
                    None => "nobody".to_owned(),
                };
                self.not_controller(controller);
                let why = format!("{who} controls the session, and you watch; Ctrl-T takes over");
                self.refused(why, words);
            }
            // The owner of the connection decides what follows.
            AttachEvent::Failed(_) => {}
        }
        None
    }

    fn joined(&mut self, joined: JoinedSession) {
        let broke = matches!(self.link, ConnectionStatus::Lost { .. });
        self.changed();
        self.replaced = false;
        // A session that can be joined is open, even if the replay contains its end.
        self.ended = None;
        self.session = joined.session;
        self.link = ConnectionStatus::Up;
        self.title = joined.title.unwrap_or_default();
        self.mode = joined.mode.or(self.mode.take());
        if let Some(cwd) = joined.cwd {
            self.transcript.cwd = cwd;
        }
        self.controller = joined.controller;
        // The response does not state when the turn began.
        self.turn_seen &= self.turn.is_some();
        self.turn = match joined.working {
            true => self.turn.or(Some(self.now)),
            false => None,
        };
        if let Some(instead) = joined.instead {
            let who = tame_line(&instead);
            self.notify(format!(
                "{who} controls this session; you watch. Ctrl-T takes over"
            ));
        } else if broke && self.notice.is_none() {
            self.notify("back again, nothing was missed");
        }
        if broke {
            // Prompts that had not begun when the connection broke and that the replay does not contain.
            for (_, words) in std::mem::take(&mut self.sent) {
                self.give_back(&words, "this did not arrive");
            }
        }
    }

    /// Handles a lost connection. The server repeats open questions after the next join.
    pub(in crate::attach) fn lost(
        &mut self,
        again: Duration,
        unsure: Vec<String>,
        why: Option<String>,
    ) {
        self.link = ConnectionStatus::Lost { again };
        self.changed();
        self.ask_no_more();
        if let (Some(why), None, None) = (why, &self.notice, &self.ended) {
            self.notify(tame_line(&why));
        }
        for words in unsure {
            self.give_back(&words, "this may not have arrived");
        }
    }

    /// Puts a text that did not arrive, or may not have, back into the prompt; if that is not empty, shows it
    /// as a note.
    fn give_back(&mut self, words: &str, what: &str) {
        if self.prompt.is_empty() {
            self.prompt.set(words);
            self.notify(format!("{what}; Enter sends it again"));
            self.notice_stays = true;
        } else {
            let lost = format!("{what}: {}", tame_line(words));
            self.transcript.note(NoteLevel::Warning, lost);
        }
    }

    fn refused(&mut self, why: String, words: Option<RejectedText>) {
        if let Some(words) = words {
            self.sent.retain(|sent| Some(sent.0) != words.prompt);
            self.give_back(&words.text, "this was not taken");
        }
        self.notify(why);
        self.notice_stays = false;
    }

    fn asked(&mut self, asked: QuestionRequest) -> Option<QuestionRequest> {
        let Some(question) = ShownQuestion::read(&asked, &self.transcript.cwd, self.now) else {
            return Some(asked);
        };
        if self.questions.is_empty() {
            self.changed();
            // A user who is typing continues typing.
            self.answering = self.prompt.is_empty();
            self.question_from = 0;
        }
        self.questions.push_back(question);
        None
    }

    fn withdrawn(&mut self, id: &Value) {
        let stood = self.questions.front().map(|question| question.id.clone());
        self.questions.retain(|question| question.id != *id);
        if stood.as_ref() == Some(id) {
            self.notify("no longer asked");
            self.next_question();
        }
    }

    /// Shows the next question as if it had just arrived.
    pub(in crate::attach) fn next_question(&mut self) {
        self.question_from = 0;
        self.answering = !self.questions.is_empty() && self.prompt.is_empty();
        let now = self.now;
        if let Some(question) = self.questions.front_mut() {
            question.since = now;
        }
    }

    fn update(&mut self, params: &RawValue) {
        match serde_json::from_str(params.get()).map(|params: UpdateParams| params.update) {
            Ok(ReceivedUpdate::Standard(update)) => self.standard(*update),
            Ok(ReceivedUpdate::Extension(update)) => self.extension((*update).into()),
            Ok(ReceivedUpdate::UserMessage {
                message_id,
                content,
                meta,
            }) => {
                let by = sender(meta.as_ref());
                for block in content {
                    self.person(by.clone(), message_id.as_deref(), block_text(&block));
                }
            }
            Err(_) => {}
        }
    }

    fn extension(&mut self, update: CarriedUpdate<'_>) {
        let asked = match update {
            CarriedUpdate::LiveSessionClient(change) => return self.client_changed(change),
            CarriedUpdate::HitlResolved(ended) => {
                return self.transcript.settled(&ended.request_id, ended.outcome);
            }
            CarriedUpdate::HitlRequest(ref asked) => Some(asked.request_id.to_string()),
            _ => None,
        };
        if let Some(activity) = AgentActivity::of_update(update) {
            self.transcript.activity(activity);
            if let Some(id) = asked {
                self.transcript.asked(&id);
            }
        }
    }

    fn standard(&mut self, update: SessionUpdate) {
        match update {
            SessionUpdate::SessionInfoUpdate(info) => {
                self.title = info.title.take().unwrap_or(std::mem::take(&mut self.title));
                return;
            }
            SessionUpdate::CurrentModeUpdate(update) => {
                self.mode = Some(update.current_mode_id.0.to_string());
                return;
            }
            SessionUpdate::UsageUpdate(usage) => {
                self.usage = Some(usage);
                return;
            }
            SessionUpdate::AgentMessageChunk(chunk) => self.words(MessageAuthor::Agent, &chunk),
            SessionUpdate::AgentThoughtChunk(chunk) => self.words(MessageAuthor::Thought, &chunk),
            SessionUpdate::UserMessageChunk(chunk) => {
                let id = chunk.message_id.as_ref().map(|id| id.0.to_string());
                let by = sender(chunk.meta.as_ref());
                self.person(by, id.as_deref(), block_text(&chunk.content));
            }
            SessionUpdate::ToolCall(call) => self.transcript.call(call),
            SessionUpdate::ToolCallUpdate(update) => self.transcript.call_update(update),
            SessionUpdate::Plan(plan) => self.transcript.plan(plan.entries),
            _ => return,
        }
        self.idle = false;
    }

    fn words(&mut self, who: MessageAuthor, chunk: &ContentChunk) {
        let id = chunk.message_id.as_ref().map(|id| &*id.0);
        self.transcript.said(who, id, block_text(&chunk.content));
    }

    /// Handles a message of a person to the agent.
    fn person(&mut self, by: Option<String>, id: Option<&str>, text: &str) {
        self.waiting.retain(|waiting| Some(&*waiting.message) != id);
        let mine = by.as_deref() == Some(&self.me);
        if mine && self.sent.front().is_some_and(|sent| sent.1 == text) {
            self.sent.pop_front();
        }
        let by = by.filter(|_| !mine);
        self.transcript.said(MessageAuthor::Person(by), id, text);
    }

    fn event(&mut self, params: &RawValue) {
        let Ok(event) = serde_json::from_str::<HarnEvent<'_>>(params.get()) else {
            return;
        };
        match event {
            HarnEvent::TurnStarted(started) => {
                self.turn = Some(self.now);
                self.turn_seen = self.link == ConnectionStatus::Up;
                self.idle = false;
                self.changed();
                self.transcript.next_plan();
                let id = Some(&*started.message_id);
                // The server does not repeat our own prompt to us.
                let told = id.is_some_and(|id| self.transcript.has_message(id));
                if !told && let Some((_, sent)) = self.sent.pop_front() {
                    self.transcript.said(MessageAuthor::Person(None), id, &sent);
                }
            }
            HarnEvent::TurnEnded(ended) => {
                self.turn = None;
                self.idle = false;
                self.changed();
                self.turn_ended(&ended);
            }
            HarnEvent::SessionClosed(closed) => {
                self.turn = None;
                self.changed();
                let reason = match &*closed.reason {
                    "client_request" => "a client closed it",
                    reason => reason,
                };
                self.ended = Some(tame_line(reason));
                // Pending messages of a closed session are never delivered.
                self.sent.clear();
                self.waiting.clear();
                self.ask_no_more();
            }
            HarnEvent::AgentIdle(_) => self.idle = true,
            event => {
                if let Some(activity) = AgentActivity::of_event(&event) {
                    self.transcript.activity(activity);
                }
            }
        }
    }

    /// Shows how a turn ended, unless it ended normally.
    fn turn_ended(&mut self, ended: &TurnEndedFields<'_>) {
        if let Some(failed) = &ended.error {
            let words = format!("the turn failed: {failed}");
            return self.transcript.note(NoteLevel::Warning, words);
        }
        let words = match ended.stop_reason {
            Some(StopReason::Cancelled) => "cancelled",
            Some(StopReason::Refusal) => "the agent refused",
            Some(StopReason::MaxTokens) => "the agent ran out of tokens",
            Some(StopReason::MaxTurnRequests) => "the agent made as many requests as it may",
            Some(StopReason::EndTurn) | None => return,
        };
        self.transcript.note(NoteLevel::Note, words);
    }
}

/// Returns the client that sent a message, if it is known.
fn sender(meta: Option<&Meta>) -> Option<String> {
    let meta: UserMeta<'_> = vendor_data(meta)?;
    Some(meta.live_session.into_owned().client_id)
}
