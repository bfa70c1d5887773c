//! The script engine as its users meet it: files that load, files that are refused, turns that play.

#![allow(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and reads the paused clock"
)]

mod files;
mod people;
mod play;
mod refuse;
mod rig;
mod steering;
mod workers;
