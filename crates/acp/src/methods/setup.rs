//! `session/new`, `load`, `resume` and `fork`: the methods that open a session.

use std::{path::PathBuf, sync::Arc};

use agent_client_protocol::{
    Error, Responder,
    v1::schema::{
        self, ForkSessionRequest, LoadSessionRequest, NewSessionRequest, ResumeSessionRequest,
    },
};
use harn_model::{McpServerSpec, PermissionAsked, Seq, SessionId};
use harn_runtime::{Controller, Hub, NewSession, Observer, Seat, SeatClaim, Subscription};
use serde::Serialize;

use super::wire_id;
use crate::{
    EventId,
    answer::answer,
    attached_session::AttachedSession,
    connection::Peer,
    error,
    ext::mcp,
    host::ClientHost,
    ordering::LaneSlot,
    pump::{FollowStart, LateAnswer, ReplayPlan, follow},
    settings::{config_options, mode_state},
    transport::{FollowId, RefollowError, RefollowRequest},
};

pub(crate) fn new(peer: &Arc<Peer>, request: RequestWithServers<NewSessionRequest>, to: Responder) {
    make(peer, request, to, |hub, request| async move {
        let new = new_session(request.cwd, request.additional_directories);
        hub.create(new).await.map_err(|e| error::session(&e))
    });
}

pub(crate) fn fork(
    peer: &Arc<Peer>,
    request: RequestWithServers<ForkSessionRequest>,
    to: Responder,
) {
    make(peer, request, to, |hub, request| async move {
        let new = new_session(request.cwd, request.additional_directories);
        let source = SessionId::new(request.session_id.0);
        let forked = hub.fork(&source, new).await;
        forked.map_err(|e| error::session_error_for(&source, &e))
    });
}

pub(crate) fn resume(
    peer: &Arc<Peer>,
    request: ResumableRequest<RequestWithServers<ResumeSessionRequest>>,
    to: Responder,
) {
    let parts = |it: ResumeSessionRequest| (it.session_id, it.cwd, it.additional_directories);
    reopen(peer, request, to, parts, false);
}

pub(crate) fn load(
    peer: &Arc<Peer>,
    request: ResumableRequest<RequestWithServers<LoadSessionRequest>>,
    to: Responder,
) {
    let parts = |it: LoadSessionRequest| (it.session_id, it.cwd, it.additional_directories);
    reopen(peer, request, to, parts, true);
}

fn make<T, F: Future<Output = Result<Controller, Error>> + Send + 'static>(
    peer: &Arc<Peer>,
    request: RequestWithServers<T>,
    to: Responder,
    make: impl FnOnce(Hub, T) -> F,
) {
    let made = make(peer.hub.clone(), request.request);
    let inputs = SessionInputs {
        servers: request.servers,
        directories: None,
    };
    open_from_now(peer, to, None, made, inputs);
}

/// Opens an existing session. Replays it from behind the line that the request names, or from its beginning if
/// `is_told`.
fn reopen<T>(
    peer: &Arc<Peer>,
    request: ResumableRequest<RequestWithServers<T>>,
    to: Responder,
    parts: impl FnOnce(T) -> (schema::SessionId, PathBuf, Vec<PathBuf>),
    is_told: bool,
) {
    let ResumableRequest { request, after } = request;
    // The request's own id, else the one that the connection was opened with.
    let after = after.or_else(|| peer.take_last_event_id());
    let (id, cwd, directories) = parts(request.request);
    let id = SessionId::new(id.0);
    let lane = peer.order.lanes.enter(&id);
    let inputs = SessionInputs {
        servers: request.servers,
        directories: Some(directories),
    };
    let hub = peer.hub.clone();
    let opened = async move {
        let opened = hub.open(&id, Some(&cwd)).await;
        opened.map_err(|e| error::session_error_for(&id, &e))
    };
    match is_told || after.is_some() {
        true => open_with_replay(peer, to, lane, opened, after, inputs),
        false => open_from_now(peer, to, Some(lane), opened, inputs),
    }
}

/// The answer to each of the four: ACP has a type for each, with equal members.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OpenedSession {
    /// Only for a session that the request did not name.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<schema::SessionId>,
    modes: schema::SessionModeState,
    config_options: Vec<schema::SessionConfigOption>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<schema::Meta>,
}

fn opened_session(session: &Observer, is_new: bool) -> OpenedSession {
    OpenedSession {
        session_id: is_new.then(|| wire_id(session.id())),
        modes: mode_state(session),
        config_options: config_options(session),
        meta: mcp::answer_meta(&session.mcp_servers()),
    }
}

/// A request that opens a session, and the MCP servers for the session.
pub(crate) struct RequestWithServers<T> {
    pub(crate) request: T,
    pub(crate) servers: Vec<McpServerSpec>,
}

/// The parts of a request that change the session it opens, if its client controls that session.
pub(crate) struct SessionInputs {
    servers: Vec<McpServerSpec>,
    /// The complete list that `session/load` and `session/resume` carry; none for a request without one.
    directories: Option<Vec<PathBuf>>,
}

/// A request that opens a session, and the line to continue after.
pub(crate) struct ResumableRequest<T> {
    pub(crate) request: T,
    pub(crate) after: Option<EventId>,
}

/// Opens a session in a task, replays it from its beginning or from behind a line, answers, and follows it from
/// there. Rejects a line that the session has not reached before anything changes.
fn open_with_replay(
    peer: &Arc<Peer>,
    to: Responder,
    lane: LaneSlot,
    opened: impl Future<Output = Result<Controller, Error>> + Send + 'static,
    after: Option<EventId>,
    inputs: SessionInputs,
) {
    let peer = peer.clone();
    peer.clone().spawn(async move {
        lane.wait_for_earlier().await;
        let found = opened.await.and_then(|session| {
            let from = subscribe_after(&session, after);
            let from = from.ok_or_else(|| error::unknown_event(session.id()))?;
            Ok((session, from))
        });
        let (session, (from, open)) = match found {
            Ok(found) => found,
            Err(error) => return answer::<()>(to, Err(error)),
        };
        let attached = attach_opener(&peer, &session);
        apply_inputs(&attached, inputs).await;
        let observer = session.observer();
        let result: LateAnswer =
            Box::new(move || Ok(serde_json::to_value(opened_session(&observer, false))?));
        let replay = ReplayPlan {
            after,
            has_seen: true,
            open,
            answer: Some((Box::new(to), result)),
        };
        follow_instead(&peer, &attached, from, replay, FollowId::next_id()).await;
    });
}

/// Opens a session in a task, answers, and follows it from now on behind the answer. An existing follow of it
/// continues: nothing is missed and nothing is sent twice. A new session has no lane: no other request can name
/// it.
fn open_from_now(
    peer: &Arc<Peer>,
    to: Responder,
    lane: Option<LaneSlot>,
    opened: impl Future<Output = Result<Controller, Error>> + Send + 'static,
    inputs: SessionInputs,
) {
    let peer = peer.clone();
    peer.clone().spawn(async move {
        if let Some(lane) = &lane {
            lane.wait_for_earlier().await;
        }
        let session = match opened.await {
            Ok(session) => session,
            Err(error) => return answer::<()>(to, Err(error)),
        };
        wait_for_earlier_end(&peer, &session).await;
        // Before the answer is built: a change in between is sent as an update.
        let from = session.subscribe_from_now();
        let attached = attach_opener(&peer, &session);
        apply_inputs(&attached, inputs).await;
        let response = opened_session(&session, lane.is_none());
        let commands = session.commands();
        let open = session.open_asks();
        if peer.attach(&attached) {
            let gate = peer.order.gates.gate_behind_answer(to.raw_id());
            let opening = FollowStart::Fresh(gate, open, commands);
            follow(&peer, &attached, from, opening, FollowId::next_id());
        } else if let Some(followed) = peer.attached(session.id()) {
            followed.mark_opened_by_client();
        }
        answer(to, Ok(response));
    });
}

/// Waits for the end of an earlier follow, if the session was closed and opened again.
pub(crate) async fn wait_for_earlier_end(peer: &Peer, session: &Controller) {
    if let Some(closed) = peer.attached(session.id())
        && !closed.session.is_same(session)
    {
        closed.wait_until_drained().await;
    }
}

/// Follows a session that is open here again, as its transport requests.
pub(crate) fn refollow(peer: &Arc<Peer>, refollow: RefollowRequest) {
    let RefollowRequest {
        session,
        after,
        stream,
        reply,
    } = refollow;
    let lane = peer.order.lanes.enter(&session);
    let peer = peer.clone();
    peer.clone().spawn(async move {
        lane.wait_for_earlier().await;
        let found = match peer.attached(&session) {
            None => Err(RefollowError::NotOpen),
            Some(earlier) => match subscribe_after(&earlier.session, Some(after)) {
                None => Err(RefollowError::UnknownEvent),
                Some((from, open)) => Ok((earlier, from, open)),
            },
        };
        // The transport may have ended.
        let _ = reply.send(found.as_ref().map(|_| ()).map_err(|why| *why));
        let Ok((earlier, from, open)) = found else {
            return;
        };
        let replay = ReplayPlan {
            after: Some(after),
            has_seen: true,
            open,
            answer: None,
        };
        let attached = earlier.reattach();
        follow_instead(&peer, &attached, from, replay, stream).await;
    });
}

/// Returns a subscription from behind this line, and the questions that were open before it; none if the
/// session has not reached the line.
pub(crate) fn subscribe_after(
    session: &Observer,
    after: Option<EventId>,
) -> Option<(Subscription, Vec<PermissionAsked>)> {
    let Some(after) = after else {
        // The stream from its beginning contains all questions.
        return Some((session.subscribe(Seq::ZERO), Vec::new()));
    };
    let from = session.subscribe(after.last_whole_event());
    (after.seq() <= from.head()).then(|| (from, session.open_asks()))
}

/// Follows a session and ends an earlier follow of it.
async fn follow_instead(
    peer: &Arc<Peer>,
    attached: &Arc<AttachedSession>,
    from: Subscription,
    replay: ReplayPlan,
    stream: FollowId,
) {
    stop_and_replace(peer, attached).await;
    follow(peer, attached, from, FollowStart::Replay(replay), stream);
}

/// Replaces an earlier attachment and stops its follow: two streams of one session would mix.
pub(crate) async fn stop_and_replace(peer: &Arc<Peer>, attached: &Arc<AttachedSession>) {
    if let Some(earlier) = peer.replace_attached(attached) {
        earlier.stop().await;
        attached.take_over(&earlier);
    }
}

/// Attaches a connection that opens a session: it drives the session while no other client does. If it has a
/// seat already, the clients on it stay.
fn attach_opener(peer: &Arc<Peer>, session: &Controller) -> Arc<AttachedSession> {
    let seat = match peer.seat(session) {
        Some(seat) => {
            seat.claim();
            seat
        }
        None => take_seat(peer, session, SeatClaim::IfFree),
    };
    AttachedSession::new(seat, true)
}

/// Adds servers and replaces directories for the client that controls the session: both widen what its agent
/// can reach, and the other clients only observe.
async fn apply_inputs(attached: &AttachedSession, inputs: SessionInputs) {
    let SessionInputs {
        servers,
        directories,
    } = inputs;
    if attached.session.has_control() {
        let session = &attached.session;
        session.add_servers(servers);
        if let Some(directories) = directories {
            session.set_directories(directories).await;
        }
        return;
    }
    if servers.is_empty() {
        return;
    }
    tracing::warn!(
        count = servers.len(),
        "ignored the MCP servers of a client that does not control the session"
    );
}

/// Takes a seat on a session for this connection.
pub(crate) fn take_seat(peer: &Arc<Peer>, session: &Controller, claim: SeatClaim) -> Arc<Seat> {
    let host = Arc::new(ClientHost::new(peer));
    Arc::new(session.take_seat(&peer.seat_name(), host, claim))
}

fn new_session(cwd: PathBuf, additional_directories: Vec<PathBuf>) -> NewSession {
    NewSession {
        cwd,
        additional_directories,
    }
}
