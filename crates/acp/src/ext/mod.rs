//! The one door for vendor data: everything that goes under `_meta.harn`, and everything read from it.
//!
//! Names, fields and casing here are the contract with host authors, pinned by `spec/schemas` and
//! `fixtures/acp`. Envelope keys are camelCase; records that hosts receive as they are keep snake_case.

pub mod agent_event;
pub mod capabilities;
pub(crate) mod client;
pub(crate) mod plan;
pub mod schema;
pub(crate) mod tool;
pub mod update;

use schemars::JsonSchema;
use serde::Serialize;

/// `{"harn": …}`, the value of a `_meta` member.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
pub struct HarnMeta<T> {
    harn: T,
}

impl<T> HarnMeta<T> {
    pub(crate) fn new(harn: T) -> Self {
        Self { harn }
    }
}

/// The vendor key, for places that build a map.
pub(crate) const VENDOR: &str = "harn";
