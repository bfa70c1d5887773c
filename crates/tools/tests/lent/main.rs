//! Tool search and shells as a session uses them: events, hosts that lend, and hosts that do not.
#![allow(clippy::unwrap_used, reason = "a test says what failed by failing")]

mod rig;
mod shells;
mod tool_search;
