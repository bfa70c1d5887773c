//! A page of a timeline: its start, its end, and its rows.

use std::ops::ControlFlow;

use harn_model::{Envelope, Seq};

use super::{FullRow, Timeline, WINDOW};
use crate::wire::{TimelinePage, TimelineRow};

/// The text that rows must contain, if any.
pub(crate) struct TimelineSearch(Option<String>);

impl TimelineSearch {
    /// Searches for this text in upper or lower case; an empty text matches every row.
    pub(crate) fn new(words: &str) -> Self {
        Self((!words.is_empty()).then(|| words.to_lowercase()))
    }

    fn matches(&self, FullRow(row): &FullRow) -> bool {
        let Some(words) = &self.0 else { return true };
        let has = |text: &str| text.to_lowercase().contains(words);
        has(&row.title) || has(&row.text)
    }
}

/// Builds a page of a timeline.
///
/// A row ends where the next one begins, and a page ends with a row: a reader that continues from `next` begins
/// with a whole one. A reader that asks for rows after `last` may have the beginning of a message that grew since;
/// the rest is then a row of its own, which begins where the reader stopped.
pub(crate) struct TimelinePageBuilder {
    after: Seq,
    limit: usize,
    search: TimelineSearch,
    timeline: Timeline,
    rows: Vec<TimelineRow>,
    seen: Seq,
}

impl TimelinePageBuilder {
    /// Returns an empty page for events after `after`, with room for `limit` rows, at least one.
    pub(crate) fn new(after: Seq, limit: usize, search: TimelineSearch) -> Self {
        Self {
            after,
            limit: limit.max(1),
            search,
            timeline: Timeline::default(),
            rows: Vec::new(),
            seen: after,
        }
    }

    /// Returns where to begin to read: before the first event of the page, so that the facts its rows refer to are
    /// known.
    pub(crate) fn read_after(&self) -> Seq {
        Seq(self.after.0.saturating_sub(WINDOW))
    }

    /// Adds the next event, in order; breaks with the page when it is full.
    pub(crate) fn add(&mut self, envelope: &Envelope) -> ControlFlow<TimelinePage> {
        if envelope.seq <= self.after {
            self.timeline.recall(envelope);
            return ControlFlow::Continue(());
        }
        if let Some(row) = self.timeline.add(envelope) {
            self.put(row);
            if self.rows.len() >= self.limit {
                let last = self.seen.0;
                return ControlFlow::Break(TimelinePage {
                    rows: std::mem::take(&mut self.rows),
                    next: Some(last),
                    last,
                });
            }
        }
        self.seen = envelope.seq;
        ControlFlow::Continue(())
    }

    /// Returns the page at the end of the log.
    pub(crate) fn finish(mut self, head: Seq) -> TimelinePage {
        if let Some(row) = self.timeline.finish() {
            self.put(row);
        }
        TimelinePage {
            rows: self.rows,
            next: None,
            last: head.0,
        }
    }

    fn put(&mut self, row: FullRow) {
        if self.search.matches(&row) {
            self.rows.push(row.into_shortened());
        }
    }
}
