//! The timeline: a pure fold from a session's events to rows that a person reads.
//!
//! Every event is a row, except that successive chunks of a message and successive steps of a running call share
//! one. A row depends only on its own events and on the [`WINDOW`] of events before it, so a page that is read
//! from the middle of a log has the same text as the whole.

mod activity;
mod calls;
mod decisions;
mod memory;
mod messages;
mod page;
mod rows;
mod session;
mod text_format;

use harn_model::{Envelope, MessageId, Seq, ToolCallId};

use crate::wire::{TimelineKind, TimelineRow};
use memory::TimelineMemory;

pub(crate) use memory::WINDOW;
pub(crate) use page::{TimelinePageBuilder, TimelineSearch};

/// The row of one event, before it is known whether the next event extends it.
struct RowDraft {
    kind: TimelineKind,
    /// Becomes one line when the row is complete.
    title: String,
    text: String,
    joins: Option<RowJoin>,
}

/// The events that extend a row.
#[derive(PartialEq, Eq)]
enum RowJoin {
    /// Chunks of this message; their text is appended.
    Message(Option<MessageId>),
    /// Chunks of this thought; their text is appended.
    Thought(Option<MessageId>),
    /// Steps of this call before its end; each contains the one before.
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

    fn with_text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    fn with_join(mut self, joins: RowJoin) -> Self {
        self.joins = Some(joins);
        self
    }

    /// Adds the draft of the next event about the same thing.
    fn merge(&mut self, next: Self) {
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

    fn into_full_row(self) -> FullRow {
        let RowDraft {
            kind, title, text, ..
        } = self.draft;
        // Messages and thoughts have no title but their first line.
        let title = match (title.is_empty(), kind) {
            (false, _) => text_format::first_line(&title),
            (true, TimelineKind::Thought) => {
                text_format::first_line_or(&text, "(an empty thought)")
            }
            (true, _) => text_format::first_line_or(&text, "(an empty message)"),
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

/// A row with its whole text.
pub(crate) struct FullRow(TimelineRow);

impl FullRow {
    /// Returns the row with its text shortened for display.
    fn into_shortened(mut self) -> TimelineRow {
        text_format::shorten(&mut self.0.text);
        self.0
    }
}

#[derive(Default)]
pub(crate) struct Timeline {
    memory: TimelineMemory,
    open: Option<OpenRow>,
}

impl Timeline {
    /// Remembers an event that later rows may refer to, without a row for it.
    pub(crate) fn recall(&mut self, envelope: &Envelope) {
        rows::draft(envelope, &mut self.memory);
    }

    /// Adds an event, and returns the row before it if the event begins another one.
    pub(crate) fn add(&mut self, envelope: &Envelope) -> Option<FullRow> {
        let draft = rows::draft(envelope, &mut self.memory)?;
        if let Some(open) = &mut self.open
            && draft.joins.is_some()
            && open.draft.joins == draft.joins
        {
            open.draft.merge(draft);
            return None;
        }
        let before = self.open.replace(OpenRow::new(envelope, draft));
        before.map(OpenRow::into_full_row)
    }

    pub(crate) fn finish(&mut self) -> Option<FullRow> {
        self.open.take().map(OpenRow::into_full_row)
    }
}

#[cfg(test)]
mod tests;
