//! Front-end 3: a session as one JSON document that clients copy, and the web page that shows it.
//!
//! A client that connects receives the whole document, then its changes. The document is a pure fold over the
//! session's events; one room per session computes it for all clients. Each request arrives authenticated, with
//! its [`Principal`](harn_model::Principal).

mod assistant;
mod changes;
mod client;
mod command_error;
mod commands;
mod error;
mod from_wire;
mod listing;
mod methods;
mod page;
pub mod published_schemas;
mod room;
mod rooms;
mod router;
mod session_choice;
mod socket;
mod timeline;
mod to_wire;
pub mod wire;

#[cfg(not(feature = "schema"))]
use harn_schema::JsonSchema;
#[cfg(feature = "schema")]
use schemars::JsonSchema;

pub use changes::DocumentChanges;
pub use page::is_page;
pub use router::{StateConfig, routes};
pub use session_choice::{NoSessionMemory, SessionMemory};
pub use to_wire::{Document, Presence};
