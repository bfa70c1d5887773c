//! Runs commands in the sandbox of this system, through the helper in `sandbox-trial`.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test says what failed by failing")]

mod ends;
mod files;
mod git_attacks;
mod processes;
mod programs_at_work;
mod rig;
mod sockets;
mod weaker_systems;

#[allow(unreachable_pub, reason = "a test binary exports nothing")]
#[path = "../../../testkit/src/programs.rs"]
mod programs;
