//! `session/close` and `session/delete`: running work is settled and answered first.

use std::sync::Arc;

use agent_client_protocol::{
    Error,
    v1::schema::{
        CloseSessionRequest, CloseSessionResponse, DeleteSessionRequest, DeleteSessionResponse,
    },
};
use harn_model::{Actor, SessionId};
use harn_runtime::{DriverAction, JournalError, NotInControl, SessionError};

use super::{attached_session, drive};
use crate::{connection::Peer, error, ext::sender::SenderParams};

pub(crate) async fn close(
    peer: Arc<Peer>,
    request: CloseSessionRequest,
) -> Result<CloseSessionResponse, Error> {
    let id = request.session_id;
    let mut actor = SenderParams::from_meta(request.meta.as_ref());
    drive(
        &*attached_session(&peer, &id)?,
        DriverAction::Steer,
        &mut actor,
    )?;
    close_and_drain(&peer, &SessionId::new(id.0)).await;
    Ok(CloseSessionResponse::new())
}

pub(crate) async fn delete(
    peer: Arc<Peer>,
    request: DeleteSessionRequest,
) -> Result<DeleteSessionResponse, Error> {
    let id = SessionId::new(request.session_id.0);
    let mut actor = SenderParams::from_meta(request.meta.as_ref());
    may_change(&peer, &id, &mut actor)?;
    close_and_drain(&peer, &id).await;
    match peer.hub.delete(&id).await {
        // A missing session counts as deleted, as the protocol's compatibility kit advises: a client that
        // retries, or that shows an old list, has no error to report.
        Ok(()) | Err(SessionError::NotFound(_)) => {}
        Err(SessionError::Journal(JournalError::NotFound(_) | JournalError::InvalidId)) => {}
        Err(refused) => return Err(error::session(&refused)),
    }
    Ok(DeleteSessionResponse::new())
}

/// Rejects a request to delete, archive or retitle a session that another client controls; or, if no client
/// controls it, a session that runs a turn or has observers.
pub(super) fn may_change(peer: &Peer, id: &SessionId, actor: &mut Actor) -> Result<(), Error> {
    if let Some(attached) = peer.attached(id) {
        return drive(&attached, DriverAction::Steer, actor).map(drop);
    }
    let Some(state) = peer
        .hub
        .live_session(id)
        .map(|session| session.live_state())
    else {
        return Ok(());
    };
    if state.controller.is_none() && state.clients == 0 && !state.active_prompt {
        return Ok(());
    }
    let controller = state.controller.map(|it| it.client_id);
    let refused = NotInControl::NotController { controller };
    Err(error::not_in_control(&refused))
}

/// Closes a session and waits until its last updates and answers are queued.
pub(super) async fn close_and_drain(peer: &Peer, id: &SessionId) {
    let open = peer.attached(id);
    peer.hub.close(id).await;
    if let Some(attached) = open {
        attached.wait_until_drained().await;
    }
}
