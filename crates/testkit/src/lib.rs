//! Fakes for the environment of the runtime, and strict clients. For tests only.
//!
//! With [`FakeClock`] and [`CountedIds`] every run sends the same messages, so transcripts can be compared byte
//! for byte; [`StrictClient`] fails a test that leaves a message unread.

mod agent;
mod client;
mod clock;
mod equipment;
mod event_strategy;
mod every_event;
pub mod golden;
mod host;
mod hub;
mod ids;
mod link;
pub mod openharness;
mod process_ids;
mod programs;
mod recorder;
mod rules;
pub mod schema;
mod served_routes;
mod soak;
mod state;
pub mod state_fold;
mod thread_screen;
mod threads;

use std::{
    fmt::Display,
    sync::{Mutex, MutexGuard, PoisonError},
};

pub use agent::ScriptedAgent;
pub use client::{MessageFromAgent, StrictClient};
pub use clock::FakeClock;
pub use equipment::FakeEquip;
pub use event_strategy::EventStrategy;
pub use every_event::every_event;
pub use host::{FakeHost, HostAnswer, HostAnswerForm, asking_agent, forms};
pub use hub::{TestHub, TestHubBuilder};
pub use ids::CountedIds;
pub use process_ids::outer_pid;
pub use programs::skip_without;
pub use recorder::{RecordDirection, Recorder};
pub use rules::MemoryRules;
pub use soak::attack_count;
pub use state::{ReceivedFrame, StateClient, StateHttpResponse, StateServer};
pub use thread_screen::ThreadScreen;
pub use threads::ThreadsClient;

/// Returns the value of a result that the test needs, or panics with `what`.
#[track_caller]
fn must<T>(result: Result<T, impl Display>, what: impl Display) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{what}: {error}"),
    }
}

/// Locks a mutex; a panic in another thread does not cause another one here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
