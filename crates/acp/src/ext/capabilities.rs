//! `agentCapabilities._meta.harn`: what of the extensions this program emits, taken from the tables that
//! emit it.

use std::collections::BTreeMap;

use agent_client_protocol::v1::schema::Meta;
use serde::Serialize;

use super::{VENDOR, agent_event, tool, update};
use crate::Profile;

/// The ACP schema the wire is pinned to.
const SCHEMA: &str = "agentclientprotocol/agent-client-protocol schema v0.12.2";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Advertised {
    schema_compatibility: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    session_update_extensions: Vec<&'static str>,
    tool_lifecycle_extension_fields: &'static [&'static str],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extension_methods: BTreeMap<&'static str, Method>,
}

#[derive(Serialize)]
struct Method {
    description: &'static str,
    kinds: &'static [&'static str],
}

/// The metadata for a client of this profile: nothing is advertised that it will not be sent.
pub(crate) fn advertised(profile: Profile) -> Option<Meta> {
    let mut advertised = Advertised {
        schema_compatibility: SCHEMA,
        session_update_extensions: Vec::new(),
        tool_lifecycle_extension_fields: &tool::FIELDS,
        extension_methods: BTreeMap::new(),
    };
    match profile {
        Profile::Harn => {
            let own = update::DISCRIMINATORS.iter().copied();
            advertised.session_update_extensions =
                own.chain(["available_commands_update"]).collect();
            advertised.session_update_extensions.sort_unstable();
            let method = Method {
                description: "Agent events that are no session update; ignore unknown kinds.",
                kinds: agent_event::KINDS,
            };
            advertised
                .extension_methods
                .insert(agent_event::METHOD, method);
        }
        Profile::Acp => {}
    }
    // Serialising plain strings cannot fail; without the value the client just sees no extensions.
    let value = serde_json::to_value(advertised).ok()?;
    let mut meta = Meta::new();
    meta.insert(VENDOR.to_owned(), value);
    Some(meta)
}
