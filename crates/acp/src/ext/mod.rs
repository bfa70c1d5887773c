//! The one door for vendor data: everything that goes under `_meta.harn`, and everything read from it.
//!
//! Names, fields and casing here are the contract with host authors, pinned by `spec/schemas` and
//! `fixtures/acp` and told in `docs/acp-extensions.md`. Envelope keys are camelCase; records that hosts
//! receive as they are keep snake_case.

/// Declares the fields of a `_meta.harn` together with the list of their names that is advertised, so that
/// the two cannot differ. The fields stand in the order of their names.
macro_rules! meta_fields {
    ($(#[$outer:meta])* $name:ident { $($(#[$attr:meta])* $field:ident = $wire:literal: $ty:ty,)* }) => {
        #[derive(Serialize, Deserialize, JsonSchema)]
        $(#[$outer])*
        pub struct $name<'a> {
            $($(#[$attr])* #[serde(rename = $wire)] pub $field: $ty,)*
        }

        impl $name<'_> {
            /// The names on the wire.
            pub(crate) const FIELDS: &'static [&'static str] = &[$($wire),*];
        }
    };
}

pub mod agent_event;
pub mod bridge;
pub mod capabilities;
pub(crate) mod client;
pub(crate) mod content;
pub mod event_id;
pub(crate) mod hitl;
pub mod idle;
pub(crate) mod lend;
pub(crate) mod live;
pub(crate) mod mcp;
pub(crate) mod permission;
pub(crate) mod plan;
pub mod published;
pub(crate) mod reminder;
pub(crate) mod schema;
pub(crate) mod sender;
pub mod steering;
pub(crate) mod tool;
pub mod update;
pub(crate) mod user;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

/// `{"harn": …}`, the value of a `_meta` member.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
pub struct HarnMeta<T> {
    #[allow(missing_docs, reason = "a doc would be a description in every schema")]
    pub harn: T,
}

impl<T> HarnMeta<T> {
    pub(crate) fn new(harn: T) -> Self {
        Self { harn }
    }
}

/// The vendor key, for places that build or read a map.
pub const VENDOR: &str = "harn";
