//! Plans: how a step is marked, and when two of them are the same plan.

use agent_client_protocol::v1::schema::{PlanEntry, PlanEntryStatus};

use crate::paint::PaintStyle;

/// What stands before a step, and how both look.
pub(crate) fn plan_mark(status: &PlanEntryStatus) -> (PaintStyle, &'static str) {
    match status {
        PlanEntryStatus::Completed => (PaintStyle::Dim, "[x] "),
        PlanEntryStatus::InProgress => (PaintStyle::Bold, "[>] "),
        _ => (PaintStyle::Plain, "[ ] "),
    }
}

/// Whether two plans have the same steps, whatever became of them.
pub(crate) fn is_same_plan(one: &[PlanEntry], other: &[PlanEntry]) -> bool {
    let same = |(a, b): (&PlanEntry, &PlanEntry)| a.content == b.content;
    one.len() == other.len() && one.iter().zip(other).all(same)
}
