//! The plan of `/explore-all`: an entry a folder, or a few folders where there are very many. A plan is
//! said whole each time, so that its size and the number of its changes must not grow together.

use harn_model::{PlanEntry, PlanEntryStatus, PlanPriority};
use harn_runtime::{AgentError, TurnContext};

use super::part::ExplorePart;

/// The most entries that stand for folders.
const MAX_ENTRIES: usize = 32;

pub(super) struct ExplorePlan<'a> {
    cx: &'a TurnContext,
    entries: Vec<ExplorePlanEntry>,
    /// How many parts an entry stands for.
    each: usize,
    shown: Vec<PlanEntryStatus>,
}

/// What an entry stands for, and how far it is.
struct ExplorePlanEntry {
    content: String,
    begun: bool,
    /// Parts that are not done.
    left: usize,
}

impl ExplorePlanEntry {
    fn of(parts: &[ExplorePart]) -> Self {
        let content = match parts {
            [first, .., last] => {
                let (first, last) = (first.shown(), last.shown());
                format!("Search {first} to {last} ({} in all)", parts.len())
            }
            parts => {
                let names: Vec<_> = parts.iter().map(ExplorePart::shown).collect();
                format!("Search {}", names.concat())
            }
        };
        Self {
            content,
            begun: false,
            left: parts.len(),
        }
    }

    fn status(&self) -> PlanEntryStatus {
        match (self.begun, self.left) {
            (_, 0) => PlanEntryStatus::Completed,
            (true, _) => PlanEntryStatus::InProgress,
            (false, _) => PlanEntryStatus::Pending,
        }
    }
}

impl<'a> ExplorePlan<'a> {
    /// A plan for these parts, not shown yet.
    pub(super) fn new(cx: &'a TurnContext, parts: &[ExplorePart]) -> Self {
        let each = parts.len().div_ceil(MAX_ENTRIES).max(1);
        let mut entries: Vec<_> = parts.chunks(each).map(ExplorePlanEntry::of).collect();
        entries.push(ExplorePlanEntry {
            content: "Put the best places together".to_owned(),
            begun: false,
            left: 1,
        });
        Self {
            cx,
            entries,
            each,
            shown: Vec::new(),
        }
    }

    /// Work on a part begins.
    pub(super) fn begins(&mut self, part: usize) {
        if let Some(entry) = self.entries.get_mut(part / self.each) {
            entry.begun = true;
        }
    }

    /// Work on a part is over, well or not: a plan has no word for failure.
    pub(super) fn ends(&mut self, part: usize) {
        if let Some(entry) = self.entries.get_mut(part / self.each) {
            entry.begun = true;
            entry.left = entry.left.saturating_sub(1);
        }
        // What is left is the last entry's.
        if let Some((last, parts)) = self.entries.split_last_mut() {
            last.begun = parts.iter().all(|entry| entry.left == 0);
        }
    }

    /// Shows it if something changed.
    pub(super) async fn show(&mut self) -> Result<(), AgentError> {
        let now: Vec<_> = self.entries.iter().map(ExplorePlanEntry::status).collect();
        if self.shown == now {
            return Ok(());
        }
        self.shown = now;
        let entry = |(entry, status): (&ExplorePlanEntry, &PlanEntryStatus)| PlanEntry {
            content: entry.content.clone(),
            status: *status,
            priority: PlanPriority::Medium,
        };
        let entries = self.entries.iter().zip(&self.shown).map(entry);
        self.cx.plan(entries.collect()).await
    }

    pub(super) async fn finish(mut self) -> Result<(), AgentError> {
        if let Some(last) = self.entries.last_mut() {
            last.left = 0;
        }
        self.show().await
    }
}
