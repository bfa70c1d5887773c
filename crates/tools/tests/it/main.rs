//! The tests of this crate through its public interface: one module per subject, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test says what failed by failing"
)]

mod commands;
mod lent;
mod mcp;
mod skills;
#[cfg(target_os = "linux")]
mod swap;
mod toolbox;
mod watch;
