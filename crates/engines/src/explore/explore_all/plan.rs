//! The plan of `/explore-all`: one entry per folder, or per group of folders if there are many. Each update sends
//! the whole plan, so its size and the number of its updates must not both grow.

use harn_model::{PlanEntry, PlanEntryStatus, PlanPriority};
use harn_runtime::{AgentError, TurnContext};

use super::part::ExplorePart;

/// The maximum number of entries for folders.
const MAX_ENTRIES: usize = 32;

pub(super) struct ExplorePlan<'a> {
    cx: &'a TurnContext,
    entries: Vec<ExplorePlanEntry>,
    /// The number of parts per entry.
    each: usize,
    shown: Vec<PlanEntryStatus>,
}

struct ExplorePlanEntry {
    content: String,
    begun: bool,
    /// The number of unfinished parts.
    left: usize,
}

impl ExplorePlanEntry {
    fn from_parts(parts: &[ExplorePart]) -> Self {
        let content = match parts {
            [first, .., last] => {
                let (first, last) = (first.display_name(), last.display_name());
                format!("Search {first} to {last} ({} in all)", parts.len())
            }
            parts => {
                let names: Vec<_> = parts.iter().map(ExplorePart::display_name).collect();
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
    /// Returns a plan for these parts, not shown yet.
    pub(super) fn new(cx: &'a TurnContext, parts: &[ExplorePart]) -> Self {
        let each = parts.len().div_ceil(MAX_ENTRIES).max(1);
        let mut entries: Vec<_> = parts
            .chunks(each)
            .map(ExplorePlanEntry::from_parts)
            .collect();
        entries.push(ExplorePlanEntry {
            content: "Merge the best matches".to_owned(),
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

    /// Marks the entry of a part as begun.
    pub(super) fn mark_begun(&mut self, part: usize) {
        if let Some(entry) = self.entries.get_mut(part / self.each) {
            entry.begun = true;
        }
    }

    /// Marks a part as done, also if it failed: a plan has no status for failure.
    pub(super) fn mark_done(&mut self, part: usize) {
        if let Some(entry) = self.entries.get_mut(part / self.each) {
            entry.begun = true;
            entry.left = entry.left.saturating_sub(1);
        }
        // The last entry begins when all parts are done.
        if let Some((last, parts)) = self.entries.split_last_mut() {
            last.begun = parts.iter().all(|entry| entry.left == 0);
        }
    }

    /// Shows the plan if a status changed.
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
