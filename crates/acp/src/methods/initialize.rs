//! `initialize`: needs no disk, no configuration, no network.

use agent_client_protocol::{Error, v1::schema::InitializeRequest};
use harn_runtime::HostOffers;
use serde_json::Value;

use crate::{
    capabilities,
    connection::{InitializeFacts, Peer},
    ext, profile,
    terminal_auth::TerminalAuthSupport,
};

pub(crate) fn handle(peer: &Peer, request: &InitializeRequest) -> Result<Value, Error> {
    let client = &request.client_capabilities;
    let wish = ext::client::parse_client_meta(client.meta.as_ref());
    if let Some(client) = &request.client_info {
        peer.learn_name(&client.name);
    }
    let facts = peer.learn(InitializeFacts {
        dialect: profile::choose(&peer.config, &wish, request),
        offers: HostOffers {
            read_text: client.fs.read_text_file,
            write_text: client.fs.write_text_file,
            terminal: client.terminal,
            tools: profile::has_host_bridge(&peer.config, &wish),
            same_machine: peer.config.on_this_machine,
        },
        declares_harn: wish.declares_harn(),
        terminal_auth: TerminalAuthSupport::from_capabilities(client),
    });
    let auth = facts
        .terminal_auth
        .auth_methods(peer.config.terminal_auth.as_ref());
    capabilities::initialize(peer.hub.profile(), facts, auth)
}
