//! `session/prompt` and `session/cancel`. The pump answers the prompt when the turn has ended.

use std::sync::Arc;

use agent_client_protocol::{Error, Responder, v1::schema::PromptRequest};
use harn_model::{ControlKind, TurnId};
use harn_runtime::DriverAction;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{attached_session, drive, session_to_steer};
use crate::{
    answer::answer,
    attached_session::AttachedSession,
    connection::Peer,
    error::{self, ControlSubject},
    ext::{
        HarnMeta,
        sender::SenderParams,
        steering::{CancelParams, CancelResult, CancelResultMeta},
    },
    from_wire,
    ordering::{ControlKey, Gate},
};

pub(crate) async fn handle(peer: &Arc<Peer>, request: PromptRequest, responder: Responder) {
    let mut responder = Some(responder);
    if let Err(error) = submit(peer, request, &mut responder).await
        && let Some(responder) = responder
    {
        answer::<()>(responder, Err(error));
    }
}

/// Passes the prompt to its session, and the responder to the pump.
async fn submit(
    peer: &Arc<Peer>,
    request: PromptRequest,
    responder: &mut Option<Responder>,
) -> Result<(), Error> {
    let attached = attached_session(peer, &request.session_id)?;
    let blocks = from_wire::prompt(request.prompt).map_err(error::bad_params)?;
    let cancelled = responder.as_ref().map(Responder::cancellation);
    let watch = CancellationToken::new();
    let guard = watch.clone().drop_guard();
    let mut actor = SenderParams::from_meta(request.meta.as_ref());
    let driver = drive(&attached, DriverAction::Speak, &mut actor)?;
    let submitted = driver.prompt(blocks, |turn| {
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
                () = cancelled.cancelled() => cancel_withdrawn_prompt(&attached, turn).await,
            }
        });
    }
    Ok(())
}

/// Cancels the turn of a prompt that `$/cancel_request` cancelled.
async fn cancel_withdrawn_prompt(attached: &AttachedSession, turn: TurnId) {
    let mut actor = SenderParams::default().actor();
    let driver = match drive(attached, DriverAction::Steer, &mut actor) {
        Ok(driver) => driver,
        Err(error) => return tracing::debug!(%error.message, "could not cancel a withdrawn prompt"),
    };
    if let Err(refused) = driver.cancel_for(Some(turn), actor).await {
        tracing::debug!(%refused, "the withdrawn prompt had ended already");
    }
}

/// Cancels the current turn. Selects it when the message is read; a late cancel must not reach the next one.
pub(crate) async fn cancel(peer: &Peer, params: CancelParams) -> Result<(), Error> {
    let attached = session_to_steer(peer, params.session_id.as_str())?;
    let mut actor = SenderParams::read_actor_leniently(&params.rest);
    let driver = drive(&attached, DriverAction::Steer, &mut actor)?;
    let cancelled = driver.cancel_for(attached.cancel_target(), actor);
    if let Err(refused) = cancelled.await {
        tracing::debug!(%refused, "nothing to cancel");
    }
    Ok(())
}

/// Cancels the current turn, for a request, and returns the result.
pub(crate) async fn cancel_request(
    peer: &Peer,
    params: CancelParams,
    gate: Gate,
) -> Result<Value, Error> {
    let id = params.session_id.as_str();
    let attached = session_to_steer(peer, id)?;
    let mut actor = SenderParams::read_actor_leniently(&params.rest);
    let driver = drive(&attached, DriverAction::Steer, &mut actor)?;
    let target = attached.cancel_target();
    let asked = ControlKey::new(ControlKind::Cancel, target.as_ref().map(TurnId::as_str));
    let cancelled = driver.cancel_for(target, actor.clone());
    let cancelled = attached.run_with_held_outcome(asked, gate, cancelled).await;
    let done = cancelled.map_err(|e| error::control(&e, ControlSubject::Turn(id)))?;
    let cancelled = CancelResult {
        session_id: id,
        status: done.result.as_str(),
        meta: HarnMeta::new(CancelResultMeta {
            actor: (&actor).into(),
        }),
    };
    Ok(serde_json::to_value(cancelled)?)
}
