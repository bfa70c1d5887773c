//! Times in the form that hosts read.

use std::time::{Duration, UNIX_EPOCH};

use crate::Timestamp;

/// Returns a time as RFC 3339 in UTC, with milliseconds.
pub fn format_rfc3339(at: Timestamp) -> String {
    /// The end of the year 9999: later times have no such form.
    const LAST: Timestamp = 253_402_300_799_999;
    let at = UNIX_EPOCH + Duration::from_millis(at.min(LAST));
    humantime::format_rfc3339_millis(at).to_string()
}
