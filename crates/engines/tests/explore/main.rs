//! The explore engine on small workspaces: questions, commands, permissions, and nothing left running.

#![allow(
    clippy::unwrap_used,
    reason = "a test says what went wrong by panicking"
)]

mod all;
mod commands;
mod hosts;
mod permissions;
mod questions;
mod rig;
mod running;
mod tools;
mod watching;
