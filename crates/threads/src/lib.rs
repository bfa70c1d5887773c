//! Front-end 2: threads and turns as JSON-RPC 2.0, one message per line.
//!
//! A thread is a session, and its history a projection of the session's journal: nothing is stored twice.
//! Translation is pure; one task per thread follows it and writes its lines in order. This crate uses no files.

mod connection;
mod error;
mod from_wire;
mod history;
mod methods;
pub mod published_schemas;
mod registry;
mod router;
mod rpc;
mod thread;
mod to_wire;
pub mod wire;

#[cfg(not(feature = "schema"))]
use harn_schema::JsonSchema;
#[cfg(feature = "schema")]
use schemars::JsonSchema;

pub use connection::{ThreadsConfig, serve_connection};
pub use error::ThreadsError;
pub use harn_lines::{
    ClientDisconnected, IncomingLine, OutgoingReceiver, OutgoingSender, outgoing,
};
pub use history::ThreadHistory;
pub use to_wire::ThreadProjector;
