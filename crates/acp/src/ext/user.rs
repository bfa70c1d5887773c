//! `_meta.harn` of a user's message: the client of a live session that sent it.

use crate::JsonSchema;
use harn_model::LiveAuthor;
use serde::{Deserialize, Serialize};

use super::lend::RecordCow;

/// `_meta.harn` of a `user_message` or a `user_message_chunk`.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "UserMessageMeta", deny_unknown_fields)]
pub struct UserMeta<'a> {
    /// The client that sent the message; the record keeps snake_case.
    pub live_session: RecordCow<'a, LiveAuthor>,
}
