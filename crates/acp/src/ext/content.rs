//! What Harn adds to the text of an `agent_message_chunk`. The names are snake_case in the contract.

use std::borrow::Cow;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

meta_fields! {
    /// `content._meta.harn`. A chunk is complete in itself, so the two are the same.
    #[schemars(rename = "ContentMeta", deny_unknown_fields)]
    ContentMeta {
        /// What a person should see of the chunk.
        visible_delta = "visible_delta": Cow<'a, str>,
        /// The same.
        visible_text = "visible_text": Cow<'a, str>,
    }
}

impl<'a> ContentMeta<'a> {
    /// Of the visible text of one chunk.
    pub(crate) fn of_chunk(visible: &'a str) -> Self {
        Self {
            visible_delta: visible.into(),
            visible_text: visible.into(),
        }
    }
}
