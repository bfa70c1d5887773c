//! The state of a session on the screen, folded from received events and keys. It draws nothing, sends
//! nothing and reads no clock: the caller sets the time.

mod clients;
mod event_fold;
mod scroll;

use std::{collections::VecDeque, time::Duration};

use agent_client_protocol::v1::schema::UsageUpdate;
use harn_model::Timestamp;

use super::{
    editor::PromptEditor, protocol::QueuedMessage, question::ShownQuestion,
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
    /// Whether another client has replaced us under our name.
    pub(super) replaced: bool,
    /// The time at which the running turn began or was first seen.
    pub(super) turn: Option<Duration>,
    /// Whether the turn began while we were connected, so that its start is known.
    pub(super) turn_seen: bool,
    /// Whether the agent waits for more to do.
    pub(super) idle: bool,
    pub(super) link: ConnectionStatus,
    pub(super) transcript: TranscriptWindow,
    pub(super) view: ScrollPosition,
    /// Whether the content of tool calls is shown whole.
    pub(super) unfolded: bool,
    /// The first visible line of the help; none if it is closed.
    pub(super) help: Option<usize>,
    pub(super) prompt: PromptEditor,
    /// Prompts that were sent and have not begun, with their request ids.
    pub(super) sent: VecDeque<(u64, String)>,
    pub(super) waiting: Vec<QueuedMessage>,
    pub(super) questions: VecDeque<ShownQuestion>,
    /// Whether keys answer the question instead of editing the prompt.
    pub(super) answering: bool,
    /// The first visible line of the question's body.
    pub(super) question_from: usize,
    /// A message about the last key or the last event.
    pub(super) notice: Option<String>,
    /// Whether the notice concerns the text in the prompt and so survives changes of the session.
    pub(super) notice_stays: bool,
    /// Whether the next Ctrl-C leaves.
    pub(super) leaving: bool,
    /// Why the session ended.
    pub(super) ended: Option<String>,
    /// Whether the user asked only to observe.
    pub(super) observe: bool,
    /// The monotonic clock at the last event.
    pub(super) now: Duration,
    /// The wall clock at the last event.
    pub(super) time: Timestamp,
    /// The columns and lines of the terminal.
    pub(super) size: (u16, u16),
}

/// The connection to the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum ConnectionStatus {
    #[default]
    Joining,
    Up,
    /// The connection is lost; the next attempt is at `again`.
    Lost {
        again: Duration,
    },
}

/// The minimum time for which a question must be visible before a key answers it.
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

    pub(super) fn is_controller(&self) -> bool {
        self.controller.as_deref() == Some(&self.me) && !self.replaced
    }

    /// Removes a notice that a change has made outdated.
    pub(super) fn drop_outdated_notice(&mut self) {
        if !self.notice_stays {
            self.notice = None;
        }
    }

    /// Returns the open question, and whether keys answer it now.
    pub(super) fn question(&self) -> Option<(&ShownQuestion, bool)> {
        let question = self.questions.front()?;
        let seen = self.now.saturating_sub(question.since) >= BEFORE_ANSWERING;
        Some((question, seen && self.answering))
    }

    /// Returns the time at which the open question becomes answerable, if that is in the future.
    pub(super) fn answerable_at(&self) -> Option<Duration> {
        let at = self.questions.front()?.since + BEFORE_ANSWERING;
        (at > self.now).then_some(at)
    }

    /// Returns whether typed text answers the open question.
    pub(super) fn types_answer(&self) -> bool {
        self.answering && self.questions.front().is_some_and(|it| it.takes_text)
    }

    pub(super) fn notify(&mut self, words: impl Into<String>) {
        self.notice = Some(words.into());
    }

    /// Removes the questions: from now on, another client or none is asked.
    fn clear_questions(&mut self) {
        self.questions.clear();
        self.answering = false;
    }
}

#[cfg(test)]
pub(super) mod tests;
