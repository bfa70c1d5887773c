//! The vendor data: this module alone writes and reads `_meta.harn`.
//!
//! Names, fields and casing here are the contract with host authors. `spec/schemas` and `fixtures/acp` pin
//! them, `docs/acp-extensions.md` describes them. Envelope keys are camelCase; records that hosts receive
//! unchanged keep snake_case.

/// Declares the fields of a `_meta.harn` together with the advertised list of their names, so that the two
/// cannot differ. The fields are sorted by name.
macro_rules! meta_fields {
    ($(#[$outer:meta])* $name:ident { $($(#[$attr:meta])* $field:ident = $wire:literal: $ty:ty,)* }) => {
        #[derive(Serialize, Deserialize, JsonSchema)]
        $(#[$outer])*
        pub struct $name<'a> {
            $($(#[$attr])* #[serde(rename = $wire)] pub $field: $ty,)*
        }

        impl $name<'_> {
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
pub mod published_schemas;
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

/// The vendor key, for code that builds or reads a map.
pub const VENDOR: &str = "harn";
