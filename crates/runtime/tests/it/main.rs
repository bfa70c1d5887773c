//! The tests of this crate through its public interface: one module per subject, in one binary.
#![allow(unreachable_pub, reason = "a test binary exports nothing")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test says what failed by failing"
)]

mod hitl;
#[allow(
    clippy::disallowed_methods,
    reason = "a test may look at the paused clock"
)]
mod sessions;
mod support;
