//! `_meta.harn` of what a user said: which client of a live session said it.

use crate::JsonSchema;
use harn_model::LiveAuthor;
use serde::{Deserialize, Serialize};

use super::lend::RecordCow;

/// Of a `user_message` or a `user_message_chunk`.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "UserMessageMeta", deny_unknown_fields)]
pub struct UserMeta<'a> {
    /// The client; the record keeps snake_case.
    pub live_session: RecordCow<'a, LiveAuthor>,
}
