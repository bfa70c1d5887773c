//! The timeline: a pure fold from a session's events to rows that a person reads.
//!
//! Every event is a row of its own, but for the chunks of a message and the steps of a call on its way: those
//! that follow each other are one row. What a row says depends on its own events and on the [`WINDOW`] of
//! events before it, so that a page can be read from the middle of a log and says the same words as all of it
//! would.

mod activity;
mod calls;
mod decisions;
mod memory;
mod page;
mod rows;
mod said;
mod session;
mod words;

use harn_model::{Envelope, MessageId, Seq, ToolCallId};

use crate::wire::{TimelineKind, TimelineRow};
use memory::TimelineMemory;

pub(crate) use memory::WINDOW;
pub(crate) use page::{TimelinePageBuilder, TimelineSearch};

/// What one event says, before it is known whether the next one goes on with it.
struct RowDraft {
    kind: TimelineKind,
    /// One line, or what becomes one.
    title: String,
    text: String,
    joins: Option<RowJoin>,
}

/// What a row goes on with.
#[derive(PartialEq, Eq)]
enum RowJoin {
    /// Chunks of this message, which add to it.
    Message(Option<MessageId>),
    /// Chunks of this thought.
    Thought(Option<MessageId>),
    /// Steps of this call before its end; each says all that the one before said.
    Call(ToolCallId),
}

impl RowDraft {
    fn new(kind: TimelineKind, title: impl Into<String>) -> Self {
        Self {
            kind,
            title: title.into(),
            text: String::new(),
            joins: None,
        }
    }

    fn text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    fn joins(mut self, joins: RowJoin) -> Self {
        self.joins = Some(joins);
        self
    }

    /// Takes in what the next event says about the same thing.
    fn go_on(&mut self, next: Self) {
        match &self.joins {
            Some(RowJoin::Message(_) | RowJoin::Thought(_)) => self.text.push_str(&next.text),
            Some(RowJoin::Call(_)) => {
                self.title = next.title;
                if !next.text.is_empty() {
                    self.text = next.text;
                }
            }
            None => {}
        }
    }
}

/// A row that may grow.
struct OpenRow {
    seq: Seq,
    at: u64,
    turn: Option<String>,
    draft: RowDraft,
}

impl OpenRow {
    fn new(envelope: &Envelope, draft: RowDraft) -> Self {
        Self {
            seq: envelope.seq,
            at: envelope.at,
            turn: envelope.turn.as_ref().map(ToString::to_string),
            draft,
        }
    }

    fn whole(self) -> FullRow {
        let RowDraft {
            kind, title, text, ..
        } = self.draft;
        // What somebody said has no title but how it begins.
        let title = match (title.is_empty(), kind) {
            (false, _) => words::line(&title),
            (true, TimelineKind::Thought) => words::line_or(&text, "(an empty thought)"),
            (true, _) => words::line_or(&text, "(an empty message)"),
        };
        FullRow(TimelineRow {
            seq: self.seq.0,
            at: self.at,
            turn: self.turn,
            kind,
            title,
            text,
        })
    }
}

/// A row with all of its text.
pub(crate) struct FullRow(TimelineRow);

impl FullRow {
    /// As it is shown.
    fn cut(mut self) -> TimelineRow {
        words::cut(&mut self.0.text);
        self.0
    }
}

#[derive(Default)]
pub(crate) struct Timeline {
    memory: TimelineMemory,
    open: Option<OpenRow>,
}

impl Timeline {
    /// Takes note of an event that rows to come may refer to, and makes no row of it.
    pub(crate) fn recall(&mut self, envelope: &Envelope) {
        rows::draft(envelope, &mut self.memory);
    }

    /// Takes an event, and gives out the row before it, if the event begins another one.
    pub(crate) fn add(&mut self, envelope: &Envelope) -> Option<FullRow> {
        let draft = rows::draft(envelope, &mut self.memory)?;
        if let Some(open) = &mut self.open
            && draft.joins.is_some()
            && open.draft.joins == draft.joins
        {
            open.draft.go_on(draft);
            return None;
        }
        let before = self.open.replace(OpenRow::new(envelope, draft));
        before.map(OpenRow::whole)
    }

    pub(crate) fn finish(&mut self) -> Option<FullRow> {
        self.open.take().map(OpenRow::whole)
    }
}

#[cfg(test)]
mod tests;
