//! Places in a listing, as text that is handed out and comes back.

use harn_journal::SessionSummary;

pub(super) fn cursor(summary: &SessionSummary) -> String {
    format!("{}:{}", summary.updated, summary.meta.thread_id)
}

pub(super) fn parse_cursor(cursor: &str) -> Option<(u64, &str)> {
    let (updated, id) = cursor.split_once(':')?;
    Some((updated.parse().ok()?, id))
}

/// Whether a row comes after the cursor in the listing's order: newest first, then by id.
pub(super) fn is_after(summary: &SessionSummary, (updated, id): (u64, &str)) -> bool {
    summary.updated < updated
        || (summary.updated == updated && summary.meta.thread_id.as_str() > id)
}
