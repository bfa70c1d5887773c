//! Skills on real disks and in real sessions: where they are found, when they are used, what follows.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test says what went wrong by panicking"
)]

mod broken;
mod discovery;
mod effects;
mod hosts;
mod live;
mod matching;
mod rig;
mod using;
