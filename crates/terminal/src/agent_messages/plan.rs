//! Plans: the marks of their steps, and the comparison of two plans.

use agent_client_protocol::v1::schema::{PlanEntry, PlanEntryStatus};

use crate::paint::PaintStyle;

/// Returns the mark before a step, with the style of both.
pub(crate) fn plan_mark(status: &PlanEntryStatus) -> (PaintStyle, &'static str) {
    match status {
        PlanEntryStatus::Completed => (PaintStyle::Dim, "[x] "),
        PlanEntryStatus::InProgress => (PaintStyle::Bold, "[>] "),
        _ => (PaintStyle::Plain, "[ ] "),
    }
}

/// Returns whether two plans have the same steps; their status may differ.
pub(crate) fn is_same_plan(one: &[PlanEntry], other: &[PlanEntry]) -> bool {
    let same = |(a, b): (&PlanEntry, &PlanEntry)| a.content == b.content;
    one.len() == other.len() && one.iter().zip(other).all(same)
}
