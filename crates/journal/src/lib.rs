//! The durable event log of a session: the only crate that knows a disk format.
//!
//! [`Store`] and [`SessionLog`] are the port for other backends; [`JsonlStore`] is ours. Nothing here knows a wire
//! or an agent.

mod error;
mod jsonl;
mod port;

pub use error::JournalError;
pub use jsonl::{FORMAT_VERSION, JsonlStore, META_VERSION};
pub use port::{
    LogCheck, LogReader, LogRepair, LogSyncer, MetaChange, OpenedLog, ReadCursor, SessionLog,
    SessionMeta, SessionPaths, SessionSummary, Store, StoreListing,
};
