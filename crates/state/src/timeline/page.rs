//! A page of a timeline: where it begins, where it is full, and which rows are on it.

use std::ops::ControlFlow;

use harn_model::{Envelope, Seq};

use super::{FullRow, Timeline, WINDOW};
use crate::wire::{TimelinePage, TimelineRow};

/// What rows have to contain.
pub(crate) struct TimelineSearch(Option<String>);

impl TimelineSearch {
    /// These words, in upper or lower case; everything is found where there are none.
    pub(crate) fn new(words: &str) -> Self {
        Self((!words.is_empty()).then(|| words.to_lowercase()))
    }

    fn finds(&self, FullRow(row): &FullRow) -> bool {
        let Some(words) = &self.0 else { return true };
        let has = |text: &str| text.to_lowercase().contains(words);
        has(&row.title) || has(&row.text)
    }
}

/// A page that is being filled.
///
/// A row ends where the next one begins, and a page ends with a row: whoever goes on from `next` begins with a
/// whole one. Whoever asks for what came after `last` may have had the beginning of a message that went on
/// since; the rest of it is a row of its own then, which begins where they stood.
pub(crate) struct TimelinePageBuilder {
    after: Seq,
    limit: usize,
    search: TimelineSearch,
    timeline: Timeline,
    rows: Vec<TimelineRow>,
    seen: Seq,
}

impl TimelinePageBuilder {
    /// An empty page of what came after `after`, with room for `limit` rows, which is at least one.
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

    /// Where to begin to read, so that what the rows refer to is known: before the first event of the page.
    pub(crate) fn read_after(&self) -> Seq {
        Seq(self.after.0.saturating_sub(WINDOW))
    }

    /// Takes the next event, in order; breaks with the page when it is full.
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

    /// The page, where the log ends here.
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
        if self.search.finds(&row) {
            self.rows.push(row.cut());
        }
    }
}
