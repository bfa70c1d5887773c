//! `session/attach`, `takeover`, `detach`, `heartbeat` and `live_clients`: named clients of an open session.
//! The update about a client precedes the answer, and questions follow it.

use std::sync::Arc;

use agent_client_protocol::{Error, Responder};
use harn_model::{LiveClientChange, Seq, SessionId};
use harn_runtime::{AttachClient, Controller, LiveClientError, Observer, SeatClaim, SessionEnd};
use serde_json::Value;

use super::setup::{
    ResumableRequest, stop_and_replace, subscribe_after, take_seat, wait_for_earlier_end,
};
use crate::{
    EventId,
    answer::answer,
    attached_session::AttachedSession,
    connection::Peer,
    error,
    ext::{
        live::{
            AttachParams, AttachmentResult, DetachParams, HeartbeatParams, InvalidParamsMessage,
            LiveClientParams, LiveClients, SessionState, TakeoverParams,
        },
        steering::SessionParams,
    },
    ordering::{Gate, LaneSlot},
    pump::{FollowStart, LateAnswer, ReplayPlan, follow},
    settings::{config_options, mode_state},
    transport::FollowId,
};

pub(crate) async fn attach(
    peer: &Arc<Peer>,
    request: ResumableRequest<AttachParams>,
    to: Responder,
) {
    let ResumableRequest { request, after } = request;
    join(peer, &request.client, request.to_attach_client(), after, to).await;
}

pub(crate) async fn take_over(
    peer: &Arc<Peer>,
    request: ResumableRequest<TakeoverParams>,
    to: Responder,
) {
    let ResumableRequest { request, after } = request;
    join(peer, &request.client, request.to_attach_client(), after, to).await;
}

/// Attaches a client to a session. A connection that does not follow the session yet follows it from now on, or
/// from behind the line that the request names.
async fn join(
    peer: &Arc<Peer>,
    said: &LiveClientParams,
    wanted: Result<AttachClient, InvalidParamsMessage>,
    after: Option<EventId>,
    to: Responder,
) {
    let client = match wanted {
        Ok(client) => client,
        Err(e) => return answer::<()>(to, Err(error::bad_params(&e))),
    };
    let id = SessionId::new(said.session_id.as_str());
    let lane = peer.order.lanes.enter(&id);
    // Runs in the loop if it need not wait for the client, so that the client's next request finds it done.
    let open = || peer.hub.live_session(&id);
    let is_other = |it: &AttachedSession| open().is_none_or(|open| !it.session.is_same(&open));
    let followed = peer.attached(&id);
    let waits = followed.is_some_and(|followed| after.is_some() || is_other(&followed));
    let in_place = lane.is_free() && !waits;
    let peer = peer.clone();
    run_in_place_or_spawn(&peer.clone(), in_place, async move {
        lane.wait_for_earlier().await;
        match find(&peer, &id, after).await {
            Ok(found) => attach_client(&peer, found, client, to).await,
            Err(error) => answer::<()>(to, Err(error)),
        }
    })
    .await;
}

/// Runs a future in the dispatch loop, or in a task.
async fn run_in_place_or_spawn(
    peer: &Peer,
    in_place: bool,
    work: impl Future<Output = ()> + Send + 'static,
) {
    match in_place {
        true => work.await,
        false => peer.spawn(work),
    }
}

/// Queues a request behind those about the same session.
fn enter_lane(peer: &Peer, client: &LiveClientParams) -> LaneSlot {
    let id = SessionId::new(client.session_id.as_str());
    peer.order.lanes.enter(&id)
}

/// The session to attach to, this connection's attachment to it, and the line to continue after.
type AttachTarget = (Controller, Option<Arc<AttachedSession>>, Option<EventId>);

async fn find(peer: &Peer, id: &SessionId, after: Option<EventId>) -> Result<AttachTarget, Error> {
    let session = live_session(peer, id)?;
    wait_for_earlier_end(peer, &session).await;
    let followed = peer.attached(id);
    // The id that the connection was opened with applies only to a request that opens a stream.
    let after = after.or_else(|| match followed {
        None => peer.take_last_event_id(),
        Some(_) => None,
    });
    match after {
        Some(after) if after.seq() > session.last_seq() => Err(error::unknown_event(id)),
        _ => Ok((session, followed, after)),
    }
}

async fn attach_client(
    peer: &Arc<Peer>,
    (session, followed, after): AttachTarget,
    client: AttachClient,
    to: Responder,
) {
    match (followed, after) {
        (Some(attached), None) => {
            let call = attached.begin_live_call();
            let gate = peer.order.gates.gate_behind_answer(to.raw_id());
            match attached.session.attach(client).await {
                Ok((change, seq)) => {
                    let result = attach_answer(session.observer(), change, seq);
                    attached.reply_after(seq, move || answer(to, result()));
                    peer.spawn(async move {
                        gate.wait_until_open().await;
                        drop(call);
                    });
                }
                Err(e) => answer::<()>(to, Err(error::live_client(&e))),
            }
        }
        (Some(earlier), Some(after)) => {
            let attached = earlier.reattach();
            // Replaced first, or the client would receive the update about itself twice.
            stop_and_replace(peer, &attached).await;
            let result = match attached.session.attach(client).await {
                Ok((change, seq)) => attach_answer(session.observer(), change, seq),
                Err(e) => Box::new(move || Err(error::live_client(&e))),
            };
            begin_follow(peer, &attached, (after, true), to, result);
        }
        (None, after) => {
            let seat = take_seat(peer, &session, SeatClaim::Never);
            let (change, seq) = match seat.attach(client).await {
                Ok(told) => told,
                Err(e) => return answer::<()>(to, Err(error::live_client(&e))),
            };
            // Without an id, the first line is the update about the client itself.
            let has_seen = after.is_some();
            let after = after.unwrap_or_else(|| Seq(seq.0.saturating_sub(1)).into());
            let result = attach_answer(session.observer(), change, seq);
            let attached = AttachedSession::new(seat, false);
            stop_and_replace(peer, &attached).await;
            begin_follow(peer, &attached, (after, has_seen), to, result);
        }
    }
}

/// Follows the session from behind a line that it has reached; `has_seen` is whether the client has that line.
fn begin_follow(
    peer: &Arc<Peer>,
    attached: &Arc<AttachedSession>,
    (after, has_seen): (EventId, bool),
    to: Responder,
    result: LateAnswer,
) {
    let session = &attached.session;
    let Some((from, open)) = subscribe_after(session, Some(after)) else {
        return answer::<()>(to, Err(error::unknown_event(session.id())));
    };
    let replay = ReplayPlan {
        after: Some(after),
        has_seen,
        open,
        answer: Some((Box::new(to), result)),
    };
    let opening = FollowStart::Replay(replay);
    follow(peer, attached, from, opening, FollowId::next_id());
}

/// Builds the answer to a client that attached, with the session's state at that time.
fn attach_answer(session: Observer, change: LiveClientChange, seq: Seq) -> LateAnswer {
    Box::new(move || {
        let meta = session.meta();
        let state = SessionState {
            cwd: meta.directory.display().to_string(),
            title: session.title(),
            modes: serde_json::to_value(mode_state(&session))?,
            config_options: serde_json::to_value(config_options(&session))?,
            available_commands: session.commands(),
            active_prompt: session.live_state().active_prompt,
            last_event_id: seq.into(),
            epoch: session.epoch(),
        };
        Ok(serde_json::to_value(AttachmentResult::new(
            &change,
            Some(state),
        ))?)
    })
}

pub(crate) async fn detach(peer: &Arc<Peer>, params: DetachParams, to: Responder) {
    let lane = enter_lane(peer, &params.client);
    let (peer, in_place) = (peer.clone(), lane.is_free());
    run_in_place_or_spawn(&peer.clone(), in_place, async move {
        lane.wait_for_earlier().await;
        let detached = async {
            let reason = params.reason().map_err(|e| error::bad_params(&e))?;
            let (session, client, metadata) = named_client(&peer, &params.client)?;
            let metadata = metadata.unwrap_or_default();
            let attached = peer.attached(session.id());
            // A broker that is not attached to the session itself may report that a client is gone.
            let seat = match &attached {
                Some(attached) => attached.session.clone(),
                None => take_seat(&peer, &session, SeatClaim::Never),
            };
            let told = seat.detach(&client, reason, metadata).await;
            Ok::<_, Error>((attached, told.map_err(|e| error::live_client(&e))?))
        };
        match detached.await {
            Ok((None, (change, _))) => answer(to, Ok(AttachmentResult::new(&change, None))),
            Ok((Some(attached), told)) => {
                let gate = peer.order.gates.gate_behind_answer(to.raw_id());
                answer_live_change(&attached, told, to);
                stop_unused_follow(&peer, attached, gate, lane);
            }
            Err(error) => answer::<()>(to, Err(error)),
        }
    })
    .await;
}

/// Stops a follow that only observes and has no client left, because its lines have no reader. The next request
/// in the lane waits for that.
fn stop_unused_follow(
    peer: &Arc<Peer>,
    attached: Arc<AttachedSession>,
    gate: Gate,
    lane: LaneSlot,
) {
    let idle = !attached.session.has_clients() && !attached.has_prompts();
    if idle && !attached.is_opened_by_client() {
        let peer = peer.clone();
        peer.clone().spawn(async move {
            gate.wait_until_open().await;
            attached.stop().await;
            peer.detach(&attached);
            // Pending answers there would wait forever.
            attached.end(&SessionEnd::Closed);
            drop(lane);
        });
    }
}

pub(crate) async fn heartbeat(peer: &Arc<Peer>, params: HeartbeatParams, to: Responder) {
    let lane = enter_lane(peer, &params.client);
    let (peer, in_place) = (peer.clone(), lane.is_free());
    run_in_place_or_spawn(&peer.clone(), in_place, async move {
        lane.wait_for_earlier().await;
        let heard = async {
            let (session, client, metadata) = named_client(&peer, &params.client)?;
            let Some(attached) = peer.attached(session.id()) else {
                let client_id = client;
                return Err(error::live_client(&LiveClientError::NotAttached {
                    client_id,
                }));
            };
            let told = attached.session.heartbeat(&client, metadata).await;
            Ok::<_, Error>((attached.clone(), told.map_err(|e| error::live_client(&e))?))
        };
        match heard.await {
            Ok((attached, told)) => answer_live_change(&attached, told, to),
            Err(error) => answer::<()>(to, Err(error)),
        }
    })
    .await;
}

pub(crate) fn list_clients(peer: &Peer, params: &SessionParams) -> Result<Value, Error> {
    let session = live_session(peer, &SessionId::new(params.session_id.as_str()))?;
    let (clients, state) = (session.clients(), session.live_state());
    let controller = state.controller.as_ref().map(|it| &*it.client_id);
    let clients = LiveClients::new(&clients, controller, session.epoch());
    Ok(serde_json::to_value(clients)?)
}

/// Answers after the update.
fn answer_live_change(
    attached: &AttachedSession,
    (change, seq): (LiveClientChange, Seq),
    to: Responder,
) {
    attached.reply_after(seq, move || {
        answer(to, Ok(AttachmentResult::new(&change, None)))
    });
}

/// Returns the session, if it is open in this process and belongs to this principal.
fn live_session(peer: &Peer, id: &SessionId) -> Result<Controller, Error> {
    let session = peer.hub.live_session(id);
    session.ok_or_else(|| error::not_live(id.as_str()))
}

/// Returns the session, the client that a request names, and the client's metadata.
fn named_client(
    peer: &Peer,
    client: &LiveClientParams,
) -> Result<(Controller, String, Option<Value>), Error> {
    let session = live_session(peer, &SessionId::new(client.session_id.as_str()))?;
    let name = client.id().map_err(|e| error::bad_params(&e))?.to_owned();
    let metadata = client.metadata().map_err(|e| error::bad_params(&e))?;
    Ok((session, name, metadata))
}
