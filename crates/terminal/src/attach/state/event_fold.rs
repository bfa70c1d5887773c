//! Folds received events into the state of the screen.

use std::time::Duration;

use agent_client_protocol::v1::schema::{ContentChunk, Meta, SessionUpdate};
use harn_acp::client::{CarriedUpdate, HarnEvent, TurnEndedFields, UserMeta, vendor_data};
use harn_model::StopReason;
use serde_json::{Value, value::RawValue};

use super::{AttachScreen, ConnectionStatus};
use crate::{
    agent_messages::{activity::AgentActivity, call_text::block_text},
    attach::{
        protocol::{
            AttachEvent, JoinedSession, QuestionRequest, ReceivedUpdate, RejectedText, UpdateParams,
        },
        question::ShownQuestion,
        screen_text::escape_line,
        transcript::{MessageAuthor, NoteLevel},
    },
};

impl AttachScreen {
    /// Handles an event. Returns a question that cannot be shown here.
    pub(in crate::attach) fn handle_event(
        &mut self,
        heard: AttachEvent,
    ) -> Option<QuestionRequest> {
        match heard {
            AttachEvent::Update(params) => self.apply_update(&params),
            AttachEvent::Replaced(params) => self.handle_replacement(&params),
            AttachEvent::Event(params) => self.apply_agent_event(&params),
            AttachEvent::Idle => self.idle = true,
            AttachEvent::Asked(asked) => return self.add_question(asked),
            AttachEvent::Withdrawn(id) => self.withdraw_question(&id),
            AttachEvent::Joined(joined) => self.apply_join(*joined),
            AttachEvent::Waiting(waiting) => self.waiting = waiting,
            // The update that delivers it may arrive first.
            AttachEvent::Kept(kept) if self.transcript.has_message(&kept.message) => {}
            AttachEvent::Kept(kept) => self.waiting.push(kept),
            AttachEvent::Prompted(number, text) => self.sent.push_back((number, text)),
            AttachEvent::Answered(number) => self.sent.retain(|sent| sent.0 != number),
            AttachEvent::Refused { why, words } => self.apply_rejection(escape_line(&why), words),
            AttachEvent::NotController { controller, words } => {
                let who = match controller.as_deref() {
                    Some(who) if who == self.me => "another client of your name".to_owned(),
                    Some(who) => escape_line(who),
                    None => "no client".to_owned(),
                };
                self.handle_not_controller(controller);
                let why = format!("{who} controls the session, and you watch; Ctrl-T takes over");
                self.apply_rejection(why, words);
            }
            // The owner of the connection decides what follows.
            AttachEvent::Failed(_) => {}
        }
        None
    }

    fn apply_join(&mut self, joined: JoinedSession) {
        let broke = matches!(self.link, ConnectionStatus::Lost { .. });
        self.drop_outdated_notice();
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
            let who = escape_line(&instead);
            self.notify(format!(
                "{who} controls this session; you watch. Ctrl-T takes over"
            ));
        } else if broke && self.notice.is_none() {
            self.notify("reconnected, nothing was missed");
        }
        if broke {
            // Prompts that had not begun when the connection broke and that the replay does not contain.
            for (_, words) in std::mem::take(&mut self.sent) {
                self.return_text(&words, "this message did not arrive");
            }
        }
    }

    /// Handles a lost connection. The server repeats open questions after the next join.
    pub(in crate::attach) fn apply_connection_loss(
        &mut self,
        again: Duration,
        unsure: Vec<String>,
        why: Option<String>,
    ) {
        self.link = ConnectionStatus::Lost { again };
        self.drop_outdated_notice();
        self.clear_questions();
        if let (Some(why), None, None) = (why, &self.notice, &self.ended) {
            self.notify(escape_line(&why));
        }
        for words in unsure {
            self.return_text(&words, "this message may not have arrived");
        }
    }

    /// Puts a text that did not arrive, or may not have, back into the prompt; if that is not empty, shows it
    /// as a note.
    fn return_text(&mut self, words: &str, what: &str) {
        if self.prompt.is_empty() {
            self.prompt.set(words);
            self.notify(format!("{what}; Enter sends it again"));
            self.notice_stays = true;
        } else {
            let lost = format!("{what}: {}", escape_line(words));
            self.transcript.add_note(NoteLevel::Warning, lost);
        }
    }

    fn apply_rejection(&mut self, why: String, words: Option<RejectedText>) {
        if let Some(words) = words {
            self.sent.retain(|sent| Some(sent.0) != words.prompt);
            self.return_text(&words.text, "the server rejected this message");
        }
        self.notify(why);
        self.notice_stays = false;
    }

    fn add_question(&mut self, asked: QuestionRequest) -> Option<QuestionRequest> {
        let Some(question) = ShownQuestion::read(&asked, &self.transcript.cwd, self.now) else {
            return Some(asked);
        };
        if self.questions.is_empty() {
            self.drop_outdated_notice();
            // A user who is typing continues typing.
            self.answering = self.prompt.is_empty();
            self.question_from = 0;
        }
        self.questions.push_back(question);
        None
    }

    fn withdraw_question(&mut self, id: &Value) {
        let stood = self.questions.front().map(|question| question.id.clone());
        self.questions.retain(|question| question.id != *id);
        if stood.as_ref() == Some(id) {
            self.notify("question withdrawn");
            self.show_next_question();
        }
    }

    /// Shows the next question as if it had just arrived.
    pub(in crate::attach) fn show_next_question(&mut self) {
        self.question_from = 0;
        self.answering = !self.questions.is_empty() && self.prompt.is_empty();
        let now = self.now;
        if let Some(question) = self.questions.front_mut() {
            question.since = now;
        }
    }

    fn apply_update(&mut self, params: &RawValue) {
        match serde_json::from_str(params.get()).map(|params: UpdateParams| params.update) {
            Ok(ReceivedUpdate::Standard(update)) => self.apply_standard_update(*update),
            Ok(ReceivedUpdate::Extension(update)) => self.apply_extension((*update).into()),
            Ok(ReceivedUpdate::UserMessage {
                message_id,
                content,
                meta,
            }) => {
                let by = sender(meta.as_ref());
                for block in content {
                    self.add_user_message(by.clone(), message_id.as_deref(), block_text(&block));
                }
            }
            Err(_) => {}
        }
    }

    fn apply_extension(&mut self, update: CarriedUpdate<'_>) {
        let asked = match update {
            CarriedUpdate::LiveSessionClient(change) => return self.apply_client_change(change),
            CarriedUpdate::HitlResolved(ended) => {
                return self
                    .transcript
                    .settle_question(&ended.request_id, ended.outcome);
            }
            CarriedUpdate::HitlRequest(ref asked) => Some(asked.request_id.to_string()),
            _ => None,
        };
        if let Some(activity) = AgentActivity::from_update(update) {
            self.transcript.add_activity(activity);
            if let Some(id) = asked {
                self.transcript.mark_question(&id);
            }
        }
    }

    fn apply_standard_update(&mut self, update: SessionUpdate) {
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
            SessionUpdate::AgentMessageChunk(chunk) => self.add_chunk(MessageAuthor::Agent, &chunk),
            SessionUpdate::AgentThoughtChunk(chunk) => {
                self.add_chunk(MessageAuthor::Thought, &chunk)
            }
            SessionUpdate::UserMessageChunk(chunk) => {
                let id = chunk.message_id.as_ref().map(|id| id.0.to_string());
                let by = sender(chunk.meta.as_ref());
                self.add_user_message(by, id.as_deref(), block_text(&chunk.content));
            }
            SessionUpdate::ToolCall(call) => self.transcript.add_call(call),
            SessionUpdate::ToolCallUpdate(update) => self.transcript.update_call(update),
            SessionUpdate::Plan(plan) => self.transcript.set_plan(plan.entries),
            _ => return,
        }
        self.idle = false;
    }

    fn add_chunk(&mut self, who: MessageAuthor, chunk: &ContentChunk) {
        let id = chunk.message_id.as_ref().map(|id| &*id.0);
        self.transcript
            .add_text(who, id, block_text(&chunk.content));
    }

    /// Handles a message of a person to the agent.
    fn add_user_message(&mut self, by: Option<String>, id: Option<&str>, text: &str) {
        self.waiting.retain(|waiting| Some(&*waiting.message) != id);
        let mine = by.as_deref() == Some(&self.me);
        if mine && self.sent.front().is_some_and(|sent| sent.1 == text) {
            self.sent.pop_front();
        }
        let by = by.filter(|_| !mine);
        self.transcript
            .add_text(MessageAuthor::Person(by), id, text);
    }

    fn apply_agent_event(&mut self, params: &RawValue) {
        let Ok(event) = serde_json::from_str::<HarnEvent<'_>>(params.get()) else {
            return;
        };
        match event {
            HarnEvent::TurnStarted(started) => {
                self.turn = Some(self.now);
                self.turn_seen = self.link == ConnectionStatus::Up;
                self.idle = false;
                self.drop_outdated_notice();
                self.transcript.start_new_plan();
                let id = Some(&*started.message_id);
                // The server does not repeat our own prompt to us.
                let told = id.is_some_and(|id| self.transcript.has_message(id));
                if !told && let Some((_, sent)) = self.sent.pop_front() {
                    self.transcript
                        .add_text(MessageAuthor::Person(None), id, &sent);
                }
            }
            HarnEvent::TurnEnded(ended) => {
                self.turn = None;
                self.idle = false;
                self.drop_outdated_notice();
                self.note_turn_end(&ended);
            }
            HarnEvent::SessionClosed(closed) => {
                self.turn = None;
                self.drop_outdated_notice();
                let reason = match &*closed.reason {
                    "client_request" => "a client closed it",
                    reason => reason,
                };
                self.ended = Some(escape_line(reason));
                // Pending messages of a closed session are never delivered.
                self.sent.clear();
                self.waiting.clear();
                self.clear_questions();
            }
            HarnEvent::AgentIdle(_) => self.idle = true,
            event => {
                if let Some(activity) = AgentActivity::from_event(&event) {
                    self.transcript.add_activity(activity);
                }
            }
        }
    }

    /// Shows how a turn ended, unless it ended normally.
    fn note_turn_end(&mut self, ended: &TurnEndedFields<'_>) {
        if let Some(failed) = &ended.error {
            let words = format!("the turn failed: {failed}");
            return self.transcript.add_note(NoteLevel::Warning, words);
        }
        let words = match ended.stop_reason {
            Some(StopReason::Cancelled) => "cancelled",
            Some(StopReason::Refusal) => "the agent refused",
            Some(StopReason::MaxTokens) => "the agent reached its token limit",
            Some(StopReason::MaxTurnRequests) => "the agent reached its request limit",
            Some(StopReason::EndTurn) | None => return,
        };
        self.transcript.add_note(NoteLevel::Note, words);
    }
}

/// Returns the client that sent a message, if it is known.
fn sender(meta: Option<&Meta>) -> Option<String> {
    let meta: UserMeta<'_> = vendor_data(meta)?;
    Some(meta.live_session.into_owned().client_id)
}
