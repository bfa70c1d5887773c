//! Sessions from the outside: turns, asks, cancellation, subscriptions, recovery.

#![allow(unreachable_pub, reason = "a test binary exports nothing")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "a test may look at the paused clock"
)]

mod asks;
mod cancel;
mod crash;
mod daemon;
mod equipment;
mod follow;
mod lifecycle;
mod live;
mod named;
mod permissions;
mod queued;
mod reminders;
mod steering;
mod support;
mod turns;
mod workers;
