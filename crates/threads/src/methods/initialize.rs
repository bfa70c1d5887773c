//! `initialize`: returns the server's name, version and capabilities. No other method requires it.

use serde_json::Value;

use crate::{
    ThreadsError,
    connection::ThreadsPeer,
    from_wire,
    wire::{InitializeResult, ServerInfo, ThreadsCapabilities},
};

/// The name of the program, whichever agent it runs.
const PROGRAM: &str = "harn-serve";

/// The version of the protocol that this server implements.
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
