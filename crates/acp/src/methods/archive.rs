//! `session/archive` and `session/unarchive`: whether listings leave a session out. It can be opened either way.

use std::sync::Arc;

use agent_client_protocol::{
    Error, Responder,
    v1::schema::{
        ArchiveSessionRequest, ArchiveSessionResponse, UnarchiveSessionRequest,
        UnarchiveSessionResponse,
    },
};
use harn_model::SessionId;

use super::close::{may_change, wind_up};
use crate::{answer::answer, connection::Peer, error, ext::sender::Sender};

/// Closes the session first, as `session/close` does.
pub(crate) fn archive(
    peer: &Arc<Peer>,
    request: Result<ArchiveSessionRequest, Error>,
    to: Responder,
) {
    let peer = peer.clone();
    peer.clone().spawn(async move {
        let archived = async {
            let request = request?;
            let id = SessionId::new(request.session_id.0.clone());
            let mut actor = Sender::of_meta(request.meta.as_ref());
            may_change(&peer, &id, &mut actor)?;
            wind_up(&peer, &request.session_id).await;
            let archived = peer.hub.archive(&id).await;
            archived.map_err(|e| error::session_of(&id, &e))?;
            Ok(ArchiveSessionResponse::new())
        };
        answer(to, archived.await);
    });
}

pub(crate) fn unarchive(
    peer: &Arc<Peer>,
    request: Result<UnarchiveSessionRequest, Error>,
    to: Responder,
) {
    let peer = peer.clone();
    peer.clone().spawn(async move {
        let listed = async {
            let request = request?;
            let id = SessionId::new(request.session_id.0);
            let mut actor = Sender::of_meta(request.meta.as_ref());
            may_change(&peer, &id, &mut actor)?;
            let listed = peer.hub.unarchive(&id).await;
            listed.map_err(|e| error::session_of(&id, &e))?;
            Ok(UnarchiveSessionResponse::new())
        };
        answer(to, listed.await);
    });
}
