//! Tests over the whole stack, in one binary; each module is a separate suite.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test says what failed by failing"
)]

mod broker;
mod client_files;
mod clients;
mod event_decisions;
mod fixtures;
mod golden;
mod golden_state;
mod golden_threads;
mod host_bridge;
mod host_operations;
mod host_skills;
mod kill9;
mod live;
mod lost_journal;
mod many_sessions;
mod many_threads;
mod misbehaving;
mod open_questions;
mod ordering;
#[cfg(unix)]
mod permission_rejections;
mod projector;
mod reconnect;
mod replay;
mod scenarios;
mod search_permissions;
mod slow_client;
// These tests change the limits of a process from outside and use the socket buffers of Linux.
#[cfg(target_os = "linux")]
mod state;
#[cfg(unix)]
mod steering;
mod support_stress;
mod waiting;
mod wire;
mod wire_clients;
