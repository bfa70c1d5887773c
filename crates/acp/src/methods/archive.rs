//! `session/archive` and `session/unarchive`: whether lists omit a session. It can be opened in both states.

use std::sync::Arc;

use agent_client_protocol::{
    Error,
    v1::schema::{
        ArchiveSessionRequest, ArchiveSessionResponse, UnarchiveSessionRequest,
        UnarchiveSessionResponse,
    },
};
use harn_model::SessionId;

use super::close::{close_and_drain, may_change};
use crate::{connection::Peer, error, ext::sender::SenderParams};

/// Archives a session; closes it first, as `session/close` does.
pub(crate) async fn archive(
    peer: Arc<Peer>,
    request: ArchiveSessionRequest,
) -> Result<ArchiveSessionResponse, Error> {
    let id = SessionId::new(request.session_id.0);
    let mut actor = SenderParams::from_meta(request.meta.as_ref());
    may_change(&peer, &id, &mut actor)?;
    close_and_drain(&peer, &id).await;
    let archived = peer.hub.archive(&id).await;
    archived.map_err(|e| error::session_error_for(&id, &e))?;
    Ok(ArchiveSessionResponse::new())
}

pub(crate) async fn unarchive(
    peer: Arc<Peer>,
    request: UnarchiveSessionRequest,
) -> Result<UnarchiveSessionResponse, Error> {
    let id = SessionId::new(request.session_id.0);
    let mut actor = SenderParams::from_meta(request.meta.as_ref());
    may_change(&peer, &id, &mut actor)?;
    let listed = peer.hub.unarchive(&id).await;
    listed.map_err(|e| error::session_error_for(&id, &e))?;
    Ok(UnarchiveSessionResponse::new())
}
