//! All that the screen shows of a session, folded from what was heard and typed. It draws nothing, sends
//! nothing and asks no clock: what time it is comes with what happens.

mod clients;
mod fold;
mod scroll;

use std::{collections::VecDeque, time::Duration};

use agent_client_protocol::v1::schema::UsageUpdate;
use harn_model::Timestamp;

use super::{
    editor::PromptEditor, question::ShownQuestion, talk::QueuedMessage,
    transcript::TranscriptWindow,
};

pub(super) use self::scroll::ScrollPosition;

#[derive(Debug, Default)]
pub(super) struct AttachScreen {
    pub(super) me: String,
    pub(super) session: String,
    pub(super) title: String,
    pub(super) mode: Option<String>,
    pub(super) usage: Option<UsageUpdate>,
    pub(super) controller: Option<String>,
    /// Whether somebody else has come under our name.
    pub(super) replaced: bool,
    /// When the running turn began here, or was first heard of.
    pub(super) turn: Option<Duration>,
    /// Whether it began before our eyes, so that it is known when.
    pub(super) turn_seen: bool,
    /// Whether the agent waits for more to do.
    pub(super) idle: bool,
    pub(super) link: ConnectionStatus,
    pub(super) transcript: TranscriptWindow,
    pub(super) view: ScrollPosition,
    /// Whether what tools show is shown whole.
    pub(super) unfolded: bool,
    /// Whether the keys are shown, and from which line.
    pub(super) help: Option<usize>,
    pub(super) prompt: PromptEditor,
    /// Prompts that were sent and have not begun, by their numbers.
    pub(super) sent: VecDeque<(u64, String)>,
    pub(super) waiting: Vec<QueuedMessage>,
    pub(super) questions: VecDeque<ShownQuestion>,
    /// Whether keys answer the question, rather than go into the prompt.
    pub(super) answering: bool,
    /// How far down the body of the question is shown.
    pub(super) question_from: usize,
    /// Something to know about the last key, or about what was last heard.
    pub(super) notice: Option<String>,
    /// Whether that is about what stands in the prompt, and as true after whatever happens.
    pub(super) notice_stays: bool,
    /// Whether the next Ctrl-C leaves.
    pub(super) leaving: bool,
    /// Why the session is over.
    pub(super) ended: Option<String>,
    /// Only watching was asked for.
    pub(super) observe: bool,
    /// The clock when something last happened.
    pub(super) now: Duration,
    /// What time it was then.
    pub(super) time: Timestamp,
    /// Columns and lines of the terminal.
    pub(super) size: (u16, u16),
}

/// How we stand with the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum ConnectionStatus {
    /// On the way in.
    #[default]
    Joining,
    Up,
    /// Lost, and tried again after a while.
    Lost {
        again: Duration,
    },
}

/// How long a question must have been in sight before a key answers it.
pub(super) const BEFORE_ANSWERING: Duration = Duration::from_millis(400);

impl AttachScreen {
    pub(super) fn new(me: &str, observe: bool) -> Self {
        Self {
            me: me.to_owned(),
            observe,
            size: (80, 24),
            ..Self::default()
        }
    }

    pub(super) fn in_control(&self) -> bool {
        self.controller.as_deref() == Some(&self.me) && !self.replaced
    }

    /// What was said about how things stood is not true any more.
    pub(super) fn changed(&mut self) {
        if !self.notice_stays {
            self.notice = None;
        }
    }

    /// The question that stands, and whether keys answer it by now.
    pub(super) fn question(&self) -> Option<(&ShownQuestion, bool)> {
        let question = self.questions.front()?;
        let seen = self.now.saturating_sub(question.since) >= BEFORE_ANSWERING;
        Some((question, seen && self.answering))
    }

    /// When the question that stands can be answered, if that is still to come.
    pub(super) fn answerable_at(&self) -> Option<Duration> {
        let at = self.questions.front()?.since + BEFORE_ANSWERING;
        (at > self.now).then_some(at)
    }

    /// Whether what is typed answers the question that stands.
    pub(super) fn types_answer(&self) -> bool {
        self.answering && self.questions.front().is_some_and(|it| it.takes_text)
    }

    pub(super) fn notify(&mut self, words: impl Into<String>) {
        self.notice = Some(words.into());
    }

    /// Questions are put to another client now, or to none.
    fn ask_no_more(&mut self) {
        self.questions.clear();
        self.answering = false;
    }
}

#[cfg(test)]
pub(super) mod tests;
