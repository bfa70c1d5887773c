//! `initialize`: who answers. Nothing has to be said before anything else.

use serde_json::Value;

use crate::{
    ThreadsError,
    connection::Peer,
    from_wire,
    wire::{Capabilities, InitializeResult},
};

pub(crate) fn handle(peer: &Peer, params: Option<Value>) -> Result<InitializeResult, ThreadsError> {
    from_wire::initialize(params)?;
    Ok(InitializeResult {
        version: peer.config.version.clone(),
        capabilities: Capabilities {
            threads: true,
            turns: true,
            approvals: true,
            streaming: true,
            persistence: true,
        },
    })
}
