//! The tests of this crate through its public interface: one module per subject, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test says what failed by failing"
)]

mod commands;
#[cfg(target_os = "linux")]
mod link_swaps;
mod mcp;
mod session_tools;
mod skills;
mod toolbox;
mod watch;
