//! Delegated workers: child sessions that an agent starts during a turn, and what becomes of them.
//!
//! A cycle of a worker is one turn of its own session. A task of its own follows that turn, passes its
//! questions up and writes the worker's life into the session it works for; the session's task waits for
//! none of it.

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
