//! `initialize`: needs no disk, no configuration, no network.

use agent_client_protocol::v1::schema::{InitializeRequest, InitializeResponse};
use harn_runtime::HostOffers;

use crate::{
    capabilities,
    connection::{Facts, Peer},
    ext, profile,
};

pub(crate) fn handle(peer: &Peer, request: &InitializeRequest) -> InitializeResponse {
    let client = &request.client_capabilities;
    let facts = peer.learn(Facts {
        profile: profile::choose(peer.config.profile, request),
        offers: HostOffers {
            read_text: client.fs.read_text_file,
            write_text: client.fs.write_text_file,
            terminal: client.terminal,
            tools: ext::client::wish(client.meta.as_ref()).host_bridge,
        },
    });
    capabilities::initialize(peer.hub.profile(), facts.profile)
}
