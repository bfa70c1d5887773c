//! What the clients that run in a terminal make of what an agent sends: words and lines, without a screen.

pub(super) mod activity;
pub(super) mod call;
pub(super) mod diff;
pub(super) mod form;
pub(super) mod permission_keys;
