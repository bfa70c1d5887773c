//! What was heard, folded into what is shown.

use std::time::Duration;

use agent_client_protocol::v1::schema::{ContentBlock, ContentChunk, Meta, SessionUpdate};
use harn_acp::client::{
    CarriedUpdate, HarnEvent, TurnEndedFields, UserMeta, extension_update, vendor_data,
};
use harn_model::{HitlOutcome, StopReason};
use serde_json::{Value, value::RawValue};

use super::{Link, Screen, Usage};
use crate::{
    attach::{
        measure::tame_line,
        question::Question,
        talk::{Asked, Heard, Joined, Words},
        transcript::{Mark, Who},
    },
    reading::{activity::Activity, call::block_text},
};

impl Screen {
    /// Takes in what was heard. Gives back a question that cannot be put here.
    pub(in crate::attach) fn hear(&mut self, heard: Heard) -> Option<Asked> {
        match heard {
            Heard::Update(params) => self.update(&params),
            Heard::Replaced(params) => self.replaced(&params),
            Heard::Event(params) => self.event(&params),
            Heard::Idle => self.idle = true,
            Heard::Asked(asked) => return self.asked(asked),
            Heard::Withdrawn(id) => self.withdrawn(&id),
            Heard::Joined(joined) => self.joined(*joined),
            Heard::Waiting(waiting) => self.waiting = waiting,
            // Its delivery may be told in the same breath.
            Heard::Kept(kept) if self.transcript.has_message(&kept.message) => {}
            Heard::Kept(kept) => self.waiting.push(kept),
            Heard::Prompted(number, text) => self.sent.push_back((number, text)),
            Heard::Answered(number) => self.sent.retain(|sent| sent.0 != number),
            Heard::Refused { why, words } => self.refused(tame_line(&why), words),
            Heard::NotController { controller, words } => {
                let who = match controller.as_deref() {
                    Some(who) if who == self.me => "somebody else of your name".to_owned(),
                    Some(who) => tame_line(who),
                    None => "nobody".to_owned(),
                };
                self.not_controller(controller);
                let why = format!("{who} controls the session, and you watch; Ctrl-T takes over");
                self.refused(why, words);
            }
            // Whoever holds the connection decides what follows.
            Heard::Failed(_) => {}
        }
        None
    }

    fn joined(&mut self, joined: Joined) {
        let broke = matches!(self.link, Link::Lost { .. });
        self.changed();
        self.replaced = false;
        // Whoever can come to it finds it open, whatever was told of the time before.
        self.ended = None;
        self.session = joined.session;
        self.link = Link::Up;
        self.title = joined.title.unwrap_or_default();
        self.mode = joined.mode.or(self.mode.take());
        if let Some(cwd) = joined.cwd {
            self.transcript.set_cwd(cwd);
        }
        self.controller = joined.controller;
        // When it began is not told.
        self.turn_seen &= self.turn.is_some();
        self.turn = match joined.working {
            true => self.turn.or(Some(self.now)),
            false => None,
        };
        if let Some(instead) = joined.instead {
            let who = tame_line(&instead);
            let words = format!("{who} controls this session; you watch. Ctrl-T takes over");
            self.notice = Some(words);
        } else if broke && self.notice.is_none() {
            self.notice = Some("back again, nothing was missed".to_owned());
        }
        if broke {
            // What had not begun when the connection broke, and was not in what was missed.
            for (_, words) in std::mem::take(&mut self.sent) {
                self.give_back(&words, "this did not arrive");
            }
        }
    }

    /// The connection is lost. What is asked is asked again when it is back.
    pub(in crate::attach) fn lost(
        &mut self,
        again: Duration,
        unsure: Vec<String>,
        why: Option<String>,
    ) {
        self.link = Link::Lost { again };
        self.changed();
        self.questions.clear();
        self.answering = false;
        if let (Some(why), None, None) = (why, &self.notice, &self.ended) {
            self.notice = Some(tame_line(&why));
        }
        for words in unsure {
            self.give_back(&words, "this may not have arrived");
        }
    }

    /// Words come back, into the box if it is free: they did not arrive, or that is not known.
    fn give_back(&mut self, words: &str, what: &str) {
        if self.prompt.is_empty() {
            self.prompt.set(words);
            self.notice = Some(format!("{what}; Enter sends it again"));
            self.notice_stays = true;
        } else {
            let lost = format!("{what}: {}", tame_line(words));
            self.note(Mark::Warning, lost);
        }
    }

    fn refused(&mut self, why: String, words: Option<Words>) {
        if let Some(words) = words {
            self.sent.retain(|sent| Some(sent.0) != words.prompt);
            self.give_back(&words.text, "this was not taken");
        }
        self.notice = Some(why);
        self.notice_stays = false;
    }

    fn asked(&mut self, asked: Asked) -> Option<Asked> {
        let copy = Asked {
            id: asked.id.clone(),
            params: asked.params.clone(),
            form: asked.form,
        };
        let Some(question) = Question::read(asked, self.transcript.cwd(), self.now) else {
            return Some(copy);
        };
        if self.questions.is_empty() {
            self.changed();
            // Whoever is typing goes on typing.
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
            self.notice = Some("no longer asked".to_owned());
            self.next_question();
        }
    }

    /// The next question is as new as if it had just come.
    pub(in crate::attach) fn next_question(&mut self) {
        self.question_from = 0;
        self.answering = !self.questions.is_empty() && self.prompt.is_empty();
        let now = self.now;
        if let Some(question) = self.questions.front_mut() {
            question.since = now;
        }
    }

    fn update(&mut self, params: &RawValue) {
        let Ok(mut params) = serde_json::from_str::<Value>(params.get()) else {
            return;
        };
        let update = params["update"].take();
        let name = update["sessionUpdate"].as_str().unwrap_or_default();
        match name {
            "agent_message_chunk"
            | "agent_thought_chunk"
            | "user_message_chunk"
            | "tool_call"
            | "tool_call_update"
            | "plan" => {
                if let Ok(update) = serde_json::from_value(update) {
                    self.standard(update);
                }
            }
            "user_message" => {
                let id = update["messageId"].as_str();
                let blocks = serde_json::from_value::<Vec<ContentBlock>>(update["content"].clone());
                let by = sender(update["_meta"].as_object());
                for block in blocks.unwrap_or_default() {
                    self.person(by.clone(), id, block_text(&block));
                }
            }
            "session_info_update" => {
                if let Some(title) = update["title"].as_str() {
                    self.title = title.to_owned();
                }
            }
            "current_mode_update" => {
                self.mode = update["currentModeId"].as_str().map(str::to_owned);
            }
            "usage_update" => self.usage = usage(&update),
            _ => {
                if let Some(update) = extension_update(&update) {
                    self.extension(update);
                }
            }
        }
    }

    fn extension(&mut self, update: CarriedUpdate<'_>) {
        let asked = match update {
            CarriedUpdate::LiveSessionClient(change) => return self.client_changed(change),
            CarriedUpdate::HitlResolved(ended) => {
                let how = match ended.outcome {
                    HitlOutcome::Answered => "answered",
                    HitlOutcome::Timeout => "timeout",
                    HitlOutcome::Cancelled => "cancelled",
                };
                return self.transcript.settled(&ended.request_id, how);
            }
            CarriedUpdate::HitlRequest(ref asked) => Some(asked.request_id.to_string()),
            _ => None,
        };
        if let Some(activity) = Activity::of_update(update) {
            self.transcript.activity(activity);
            if let Some(id) = asked {
                self.transcript.asked(&id);
            }
        }
    }

    fn standard(&mut self, update: SessionUpdate) {
        self.idle = false;
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => self.words(Who::Agent, &chunk),
            SessionUpdate::AgentThoughtChunk(chunk) => self.words(Who::Thought, &chunk),
            SessionUpdate::UserMessageChunk(chunk) => {
                let id = chunk.message_id.as_ref().map(|id| id.0.to_string());
                let by = sender(chunk.meta.as_ref());
                self.person(by, id.as_deref(), block_text(&chunk.content));
            }
            SessionUpdate::ToolCall(call) => self.transcript.call(call),
            SessionUpdate::ToolCallUpdate(update) => self.transcript.call_update(update),
            SessionUpdate::Plan(plan) => self.transcript.plan(plan.entries),
            _ => {}
        }
    }

    fn words(&mut self, who: Who, chunk: &ContentChunk) {
        let id = chunk.message_id.as_ref().map(|id| &*id.0);
        self.transcript.said(who, id, block_text(&chunk.content));
    }

    /// Somebody said something to the agent.
    fn person(&mut self, by: Option<String>, id: Option<&str>, text: &str) {
        self.waiting.retain(|waiting| Some(&*waiting.message) != id);
        let mine = by.as_deref() == Some(&self.me);
        if mine && self.sent.front().is_some_and(|sent| sent.1 == text) {
            self.sent.pop_front();
        }
        let by = by.filter(|_| !mine);
        self.transcript.said(Who::Person(by), id, text);
    }

    fn event(&mut self, params: &RawValue) {
        let Ok(event) = serde_json::from_str::<HarnEvent<'_>>(params.get()) else {
            return;
        };
        match event {
            HarnEvent::TurnStarted(started) => {
                self.turn = Some(self.now);
                self.turn_seen = self.link == Link::Up;
                self.idle = false;
                self.changed();
                self.transcript.next_plan();
                let id = Some(&*started.message_id);
                // What we sent ourselves is not told again.
                let told = id.is_some_and(|id| self.transcript.has_message(id));
                if !told && let Some((_, sent)) = self.sent.pop_front() {
                    self.transcript.said(Who::Person(None), id, &sent);
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
                // Nothing of it comes to anybody any more.
                self.sent.clear();
                self.waiting.clear();
                self.questions.clear();
                self.answering = false;
            }
            HarnEvent::AgentIdle(_) => self.idle = true,
            event => {
                if let Some(activity) = Activity::of_event(&event) {
                    self.transcript.activity(activity);
                }
            }
        }
    }

    /// How a turn ended, where that is worth a line.
    fn turn_ended(&mut self, ended: &TurnEndedFields<'_>) {
        if let Some(failed) = &ended.error {
            let words = format!("the turn failed: {failed}");
            return self.note(Mark::Warning, words);
        }
        let words = match ended.stop_reason {
            Some(StopReason::Cancelled) => "cancelled",
            Some(StopReason::Refusal) => "the agent refused",
            Some(StopReason::MaxTokens) => "the agent ran out of tokens",
            Some(StopReason::MaxTurnRequests) => "the agent made as many requests as it may",
            Some(StopReason::EndTurn) | None => return,
        };
        self.note(Mark::Note, words);
    }
}

/// The client a message came through, where it is known.
fn sender(meta: Option<&Meta>) -> Option<String> {
    let meta: UserMeta<'_> = vendor_data(meta)?;
    Some(meta.live_session.into_owned().client_id)
}

fn usage(update: &Value) -> Option<Usage> {
    let cost = update.get("cost").and_then(|cost| {
        let currency = cost.get("currency")?.as_str()?.to_owned();
        Some((cost.get("amount")?.as_f64()?, currency))
    });
    Some(Usage {
        used: update.get("used")?.as_u64()?,
        size: update.get("size")?.as_u64()?,
        cost,
    })
}
