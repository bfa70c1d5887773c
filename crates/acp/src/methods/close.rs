//! `session/close` and `session/delete`: what still runs is settled and answered first.

use std::sync::Arc;

use agent_client_protocol::{
    Error, Responder,
    v1::schema::{
        self, CloseSessionRequest, CloseSessionResponse, DeleteSessionRequest,
        DeleteSessionResponse,
    },
};
use harn_model::SessionId;

use super::attached;
use crate::{answer::answer, connection::Peer, error};

pub(crate) fn close(peer: &Arc<Peer>, request: Result<CloseSessionRequest, Error>, to: Responder) {
    let peer = peer.clone();
    peer.clone().spawn(async move {
        let closed = async {
            let id = request?.session_id;
            attached(&peer, &id)?;
            wind_up(&peer, &id).await;
            Ok(CloseSessionResponse::new())
        };
        answer(to, closed.await);
    });
}

pub(crate) fn delete(
    peer: &Arc<Peer>,
    request: Result<DeleteSessionRequest, Error>,
    to: Responder,
) {
    let peer = peer.clone();
    peer.clone().spawn(async move {
        let deleted = async {
            let id = request?.session_id;
            wind_up(&peer, &id).await;
            let deleted = peer.hub.delete(&SessionId::new(id.0)).await;
            deleted.map_err(|e| error::session(&e))?;
            Ok(DeleteSessionResponse::new())
        };
        answer(to, deleted.await);
    });
}

/// Closes a session and waits until its last updates and answers are on their way.
async fn wind_up(peer: &Peer, id: &schema::SessionId) {
    let id = SessionId::new(id.0.clone());
    let open = peer.attached(&id);
    peer.hub.close(&id).await;
    if let Some(attached) = open {
        attached.drained().await;
    }
}
