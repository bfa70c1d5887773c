//! Delegated workers: child sessions that an agent starts during a turn, and their results.
//!
//! A cycle of a worker is one turn of its own session. A separate task follows that turn, relays its
//! questions and writes the worker's events into the parent session; the session task never waits for it.

mod builder;
mod calls;
mod crew;
mod cycle;
mod handle;
mod hitl;
mod lineage;
mod relay;
mod said;

pub use builder::WorkerBuilder;
pub use handle::{Worker, WorkerReport};

pub(crate) use crew::WorkerCrew;
pub(crate) use lineage::ParentLink;
