//! What the clients that run in a terminal make of what an agent sends: words and lines, without a screen.

pub(super) mod activity;
pub(super) mod call;
pub(super) mod calls;
pub(super) mod diff;
pub(super) mod form;
pub(super) mod permission_keys;
pub(super) mod plan;

use std::time::UNIX_EPOCH;

use harn_model::Timestamp;

/// A time as the wire has it.
pub(super) fn timestamp(text: &str) -> Option<Timestamp> {
    let at = humantime::parse_rfc3339(text).ok()?;
    let at = at.duration_since(UNIX_EPOCH).ok()?;
    at.as_millis().try_into().ok()
}
