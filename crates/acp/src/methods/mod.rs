//! The methods of ACP and its extensions: one file for each, or for a few that belong together.

pub(crate) mod archive;
pub(crate) mod auth;
pub(crate) mod close;
pub(crate) mod config;
pub(crate) mod hitl;
pub(crate) mod initialize;
pub(crate) mod inject;
pub(crate) mod list;
pub(crate) mod live;
pub(crate) mod prompt;
pub(crate) mod remind;
pub(crate) mod setup;
pub(crate) mod skills;
pub(crate) mod steering;
pub(crate) mod title;

use std::sync::Arc;

use agent_client_protocol::{Error, v1::schema};
use harn_model::{Actor, SessionId, StopReason};
use harn_runtime::{Driver, DriverAction};

use crate::{
    attached_session::AttachedSession, connection::Peer, error, ext::sender::NonBlankName,
};

/// Returns the session, if this client has it open.
pub(crate) fn attached_session(
    peer: &Peer,
    id: &schema::SessionId,
) -> Result<Arc<AttachedSession>, Error> {
    let open = peer.attached(&SessionId::new(id.0.clone()));
    open.ok_or_else(|| error::unknown_session(&id.0))
}

/// Returns the session for a method that steers a turn; these have their own error.
pub(crate) fn session_to_steer(peer: &Peer, id: &str) -> Result<Arc<AttachedSession>, Error> {
    let open = peer.attached(&SessionId::new(id));
    open.ok_or_else(|| error::nothing_to_steer(id))
}

/// Returns the named session, or the only open one if none is named.
pub(crate) fn session_to_steer_or_only(
    peer: &Peer,
    id: Option<&NonBlankName>,
) -> Result<Arc<AttachedSession>, Error> {
    match id {
        Some(id) => session_to_steer(peer, id.as_str()),
        None => peer
            .only_open_session()
            .ok_or_else(error::ambiguous_session),
    }
}

/// Returns the session if this client may do `act` with it. `actor` is the sender that the request names; a
/// client that controls the session under a name acts under that name, whatever the request names.
pub(crate) fn drive<'a>(
    attached: &'a AttachedSession,
    act: DriverAction,
    actor: &mut Actor,
) -> Result<Driver<'a>, Error> {
    let driver = attached.session.drive(act, Some(&actor.client_id));
    let driver = driver.map_err(|e| error::not_in_control(&e))?;
    if let Some(client_id) = driver.client_id() {
        client_id.clone_into(&mut actor.client_id);
    }
    Ok(driver)
}

/// Returns only ACP's own values: an unknown one fails the prompt in several SDKs.
pub(crate) fn stop_reason(reason: StopReason) -> schema::StopReason {
    match reason {
        StopReason::EndTurn => schema::StopReason::EndTurn,
        StopReason::MaxTokens => schema::StopReason::MaxTokens,
        StopReason::MaxTurnRequests => schema::StopReason::MaxTurnRequests,
        StopReason::Refusal => schema::StopReason::Refusal,
        StopReason::Cancelled => schema::StopReason::Cancelled,
    }
}

/// Converts a session id to ACP's type.
pub(crate) fn wire_id(id: &SessionId) -> schema::SessionId {
    schema::SessionId::new(id.as_str().to_owned())
}
