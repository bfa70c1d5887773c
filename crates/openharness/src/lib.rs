//! Front-end 4: OpenHarness. A Shell posts what its user wants and gets directives back.
//!
//! A run is a turn of a session and outlives the request that began it; what is answered is a projection of
//! the session's journal. Who may come in is decided before a request gets here, and said by its
//! [`Principal`](harn_model::Principal), which is also its tenant.

mod asked;
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
mod router;
mod runs;
mod shell;
mod to_wire;
mod told;
mod version;
mod wire;

#[cfg(not(feature = "schema"))]
use harn_schema::JsonSchema;
#[cfg(feature = "schema")]
use schemars::JsonSchema;

pub use router::{OpenHarnessConfig, PATHS, refusal, routes};
