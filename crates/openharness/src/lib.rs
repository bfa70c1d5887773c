//! Front-end 4: OpenHarness. A Shell posts what its user wants and receives directives.
//!
//! A run is a turn of a session and outlives the request that started it; a response is a projection of the
//! session's journal. The caller authenticates a request before it passes it on, and attaches its
//! [`Principal`](harn_model::Principal), which is also its tenant.

mod attachment;
mod capabilities;
mod continuation;
mod digest;
mod environment;
mod error;
mod ext;
#[cfg(test)]
mod fixtures;
mod from_wire;
pub mod published;
mod report;
mod request;
mod router;
mod runs;
mod shell;
mod to_wire;
mod version;
mod wire;

#[cfg(not(feature = "schema"))]
use harn_schema::JsonSchema;
#[cfg(feature = "schema")]
use schemars::JsonSchema;

pub use router::{OpenHarnessConfig, PATHS, refusal, routes};
