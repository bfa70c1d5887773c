//! `initialize`: who answers. Nothing has to be said before anything else.

use serde_json::Value;

use crate::{
    ThreadsError,
    connection::ThreadsPeer,
    from_wire,
    wire::{InitializeResult, ServerInfo, ThreadsCapabilities},
};

/// The program that speaks it, whichever agent works behind it.
const PROGRAM: &str = "harn-serve";

/// The version of the protocol that is spoken here.
const PROTOCOL_VERSION: &str = "1.0.0";

pub(crate) fn handle(
    peer: &ThreadsPeer,
    params: Option<Value>,
) -> Result<InitializeResult, ThreadsError> {
    from_wire::initialize(params)?;
    Ok(InitializeResult {
        version: PROTOCOL_VERSION.to_owned(),
        server_info: ServerInfo {
            name: PROGRAM.to_owned(),
            version: peer.config.version.clone(),
        },
        capabilities: ThreadsCapabilities {
            threads: true,
            turns: true,
            approvals: true,
            streaming: true,
            persistence: true,
        },
    })
}
