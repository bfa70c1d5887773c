//! Front-end 1: the Agent Client Protocol, version 1, with the Harn extensions.
//!
//! The SDK matches JSON-RPC answers with requests and handles cancellation; streamed updates bypass its queue:
//! they are encoded once and sent to the same ordered writer. Only `ext` writes vendor data. Nothing here runs
//! an agent or stores the state of a session.

mod answer;
mod attached_session;
mod capabilities;
pub mod client;
mod connection;
mod directories;
mod error;
pub mod ext;
mod from_wire;
mod hitl;
mod host;
#[cfg(feature = "http")]
pub mod http;
mod known_clients;
mod lock;
mod mcp;
mod methods;
mod newer_acp;
mod ordering;
mod permission;
mod profile;
mod pump;
mod router;
mod settings;
mod terminal_auth;
mod to_wire;
pub mod transport;
mod wire;

#[cfg(not(feature = "schema"))]
use harn_schema::JsonSchema;
#[cfg(feature = "schema")]
use schemars::JsonSchema;

pub use agent_client_protocol::schema::ProtocolVersion;
pub use connection::{AcpConfig, ConnectionError, LAST_ANSWERS, serve_connection};
pub use ext::event_id::{BadEventId, EventId};
pub use newer_acp::NewerAcp;
pub use profile::{Dialect, HitlCalls, HostBridgeChoice, Profile, ProfileChoice};
pub use terminal_auth::TerminalAuth;
pub use to_wire::UpdateProjector;
