//! Delegated workers: child sessions that an agent starts during a turn, and their results.
//!
//! A cycle of a worker is one turn of its own session. A separate task follows that turn, relays its
//! questions and writes the worker's events into the parent session; the session task never waits for it.

mod active_workers;
mod builder;
mod calls;
mod cycle;
mod handle;
mod hitl;
mod lineage;
mod relay;
mod reply_tail;

pub use builder::WorkerBuilder;
pub use handle::{Worker, WorkerReport};

pub(crate) use active_workers::WorkerCrew;
pub(crate) use lineage::ParentLink;
