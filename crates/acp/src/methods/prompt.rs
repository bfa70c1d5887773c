//! `session/prompt` and `session/cancel`. The prompt's answer is given by the pump when the turn has ended.

use std::sync::Arc;

use agent_client_protocol::{
    Error, Responder,
    v1::schema::{CancelNotification, PromptRequest},
};
use tokio_util::sync::CancellationToken;

use super::attached;
use crate::{answer::answer, connection::Peer, error, from_wire};

pub(crate) async fn handle(
    peer: &Arc<Peer>,
    request: Result<PromptRequest, Error>,
    responder: Responder,
) {
    let mut responder = Some(responder);
    if let Err(error) = submit(peer, request, &mut responder).await
        && let Some(responder) = responder
    {
        answer::<()>(responder, Err(error));
    }
}

/// Hands the prompt to its session, and the responder to the pump.
async fn submit(
    peer: &Arc<Peer>,
    request: Result<PromptRequest, Error>,
    responder: &mut Option<Responder>,
) -> Result<(), Error> {
    let request = request?;
    let attached = attached(peer, &request.session_id)?;
    let blocks = from_wire::prompt(request.prompt).map_err(error::bad_params)?;
    let cancelled = responder.as_ref().map(Responder::cancellation);
    let watch = CancellationToken::new();
    let guard = watch.clone().drop_guard();
    let submitted = attached.session.prompt(blocks, |turn| {
        if let Some(responder) = responder.take() {
            attached.expect_end(turn, responder, guard);
        }
    });
    let turn = submitted.await.map_err(|e| error::prompt(&e))?;
    if let Some(cancelled) = cancelled {
        let attached = attached.clone();
        peer.spawn(async move {
            tokio::select! {
                () = watch.cancelled() => {}
                () = cancelled.cancelled() => attached.session.cancel(turn).await,
            }
        });
    }
    Ok(())
}

/// Binds to one turn as it is read; a late cancel must not reach the next one.
pub(crate) async fn cancel(peer: &Peer, cancel: &CancelNotification) {
    let Ok(attached) = attached(peer, &cancel.session_id) else {
        tracing::debug!("ignored a cancel for a session that is not open");
        return;
    };
    if let Some(turn) = attached.cancel_target() {
        attached.session.cancel(turn).await;
    }
}

/// A cancel sent as a request: the same, with an empty answer.
pub(crate) async fn cancel_request(
    peer: &Peer,
    request: Result<CancelNotification, Error>,
    to: Responder,
) {
    if let Ok(request) = &request {
        cancel(peer, request).await;
    }
    answer(to, request.map(|_| serde_json::Map::new()));
}
