//! Front-end 3: a session as one document that clients hold a copy of, and the web page that shows it.
//!
//! On connect a client gets the whole document, then what changes of it. The document is a pure fold over the
//! session's events; one room a session makes it once for everyone who looks at it. Who may come in is decided
//! before a request gets here, and said by its [`Principal`](harn_model::Principal).

mod assistant;
mod changes;
mod client;
mod commands;
mod error;
mod from_wire;
mod listing;
mod methods;
mod page;
pub mod published;
mod refused;
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
