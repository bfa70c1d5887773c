//! The tests of this crate through its public interface: one module per subject, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test says what failed by failing"
)]

mod explore;
#[allow(clippy::disallowed_methods, reason = "a test reads the paused clock")]
mod script;
