//! Times as hosts read them.

use std::time::{Duration, UNIX_EPOCH};

use crate::Timestamp;

/// A time as RFC 3339 in UTC, with milliseconds.
#[must_use]
pub fn rfc3339(at: Timestamp) -> String {
    /// The end of the year 9999: what comes after has no such form.
    const LAST: Timestamp = 253_402_300_799_999;
    let at = UNIX_EPOCH + Duration::from_millis(at.min(LAST));
    humantime::format_rfc3339_millis(at).to_string()
}
