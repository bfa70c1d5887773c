//! `_meta.harn` of what a user said: which client of a live session said it.

use harn_model::LiveAuthor;
use schemars::JsonSchema;
use serde::Serialize;

/// Of a `user_message` or a `user_message_chunk`.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[schemars(rename = "UserMessageMeta", deny_unknown_fields)]
pub(crate) struct UserMeta<'a> {
    /// The client; the record keeps snake_case.
    pub(crate) live_session: &'a LiveAuthor,
}
