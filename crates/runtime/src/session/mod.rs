//! One session: the handles others hold, and the task that owns it.

mod control;
mod handle;
mod order;
mod running;
mod scribe;
mod settle;
mod stamp;
mod task;

pub use control::Controlled;
pub use handle::{Controller, Observer};

pub(crate) use handle::{Msg, Shared, lock};
pub(crate) use scribe::Scribe;
pub(crate) use settle::recovery_events;
pub(crate) use task::SessionTask;
