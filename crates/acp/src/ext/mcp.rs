//! `_meta.harn.mcp`: the MCP servers of a session with the state of each.

use std::borrow::Cow;

use crate::JsonSchema;
use agent_client_protocol::v1::schema::Meta;
use harn_model::McpServerStatus;
use serde::{Deserialize, Serialize};

use super::VENDOR;

/// `_meta.harn` of an answer that opens a session, and of the update that reports a change.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct McpMeta<'a> {
    /// All servers, sorted by name.
    pub mcp: Cow<'a, [McpServerStatus]>,
}

/// Returns the `_meta` of an answer, or `None` if there are no servers.
pub(crate) fn answer_meta(servers: &[McpServerStatus]) -> Option<Meta> {
    if servers.is_empty() {
        return None;
    }
    // Strings and numbers always serialise; without the value the client learns the servers from updates.
    let value = serde_json::to_value(McpMeta {
        mcp: servers.into(),
    })
    .ok()?;
    Some(Meta::from_iter([(VENDOR.to_owned(), value)]))
}
