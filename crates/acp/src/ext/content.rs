//! `_meta.harn` of the text of an `agent_message_chunk`. The contract's names are in snake_case.

use std::borrow::Cow;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

meta_fields! {
    /// `content._meta.harn`. A chunk is complete in itself, so both fields are equal.
    #[schemars(rename = "ContentMeta", deny_unknown_fields)]
    ContentMeta {
        /// The part of the chunk that a person should see.
        visible_delta = "visible_delta": Cow<'a, str>,
        /// The same text as `visible_delta`.
        visible_text = "visible_text": Cow<'a, str>,
    }
}

impl<'a> ContentMeta<'a> {
    /// Builds the metadata of one chunk from its visible text.
    pub(crate) fn from_chunk(visible: &'a str) -> Self {
        Self {
            visible_delta: visible.into(),
            visible_text: visible.into(),
        }
    }
}
