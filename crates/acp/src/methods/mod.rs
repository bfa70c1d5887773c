//! The methods, a file each or a few that belong together.

pub(crate) mod auth;
pub(crate) mod close;
pub(crate) mod config;
pub(crate) mod hitl;
pub(crate) mod initialize;
pub(crate) mod list;
pub(crate) mod prompt;
pub(crate) mod setup;

use std::sync::Arc;

use agent_client_protocol::{Error, v1::schema};
use harn_model::{SessionId, StopReason};

use crate::{attached::Attached, connection::Peer, error};

/// The session, if this client has it open.
pub(crate) fn attached(peer: &Peer, id: &schema::SessionId) -> Result<Arc<Attached>, Error> {
    let open = peer.attached(&SessionId::new(id.0.clone()));
    open.ok_or_else(|| error::unknown_session(&id.0))
}

/// Only ACP's own words: an unknown one fails the prompt in several SDKs.
pub(crate) fn stop_reason(reason: StopReason) -> schema::StopReason {
    match reason {
        StopReason::EndTurn => schema::StopReason::EndTurn,
        StopReason::MaxTokens => schema::StopReason::MaxTokens,
        StopReason::MaxTurnRequests => schema::StopReason::MaxTurnRequests,
        StopReason::Refusal => schema::StopReason::Refusal,
        StopReason::Cancelled => schema::StopReason::Cancelled,
    }
}

/// Our id as ACP's.
pub(crate) fn wire_id(id: &SessionId) -> schema::SessionId {
    schema::SessionId::new(id.as_str().to_owned())
}
