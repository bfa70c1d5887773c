//! Text and lines for the messages of an agent, shared by the terminal clients; without a screen.

pub(super) mod activity;
pub(super) mod call_fold;
pub(super) mod call_text;
pub(super) mod diff;
pub(super) mod form;
pub(super) mod permission_keys;
pub(super) mod plan;

use std::time::UNIX_EPOCH;

use harn_model::Timestamp;

/// Parses a time of the wire (RFC 3339).
pub(super) fn parse_timestamp(text: &str) -> Option<Timestamp> {
    let at = humantime::parse_rfc3339(text).ok()?;
    let at = at.duration_since(UNIX_EPOCH).ok()?;
    at.as_millis().try_into().ok()
}
