//! The state wire at the real server, when things go wrong: the process is killed, the disk is full, a client
//! does not read, sends what is no command, or comes with too many others.
#![allow(clippy::unwrap_used, reason = "a test says what failed by failing")]
// A process's limits are changed from outside, and its socket's buffers are those of this system.
#![cfg(target_os = "linux")]

#[path = "../support_stress/mod.rs"]
mod support_stress;

mod full_disk;
mod garbage;
mod killed;
mod returning;
mod server;
mod storm;
mod unread;
