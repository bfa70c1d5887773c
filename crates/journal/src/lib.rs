//! The durable event log of a session: the only room that knows a disk format.
//!
//! [`Store`] and [`Log`] are the port another backend implements; [`JsonlStore`] is ours. Nothing here
//! knows a wire or an agent.

mod error;
mod jsonl;
mod port;

pub use error::JournalError;
pub use jsonl::{FORMAT_VERSION, JsonlStore};
pub use port::{
    Listing, Log, LogReader, MetaChange, Opened, Place, ReadCursor, SessionMeta, SessionSummary,
    Store, Syncer,
};
