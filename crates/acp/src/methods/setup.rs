//! `session/new`, `load`, `resume` and `fork`: ways to come to an open session.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use agent_client_protocol::{
    Error, Responder,
    v1::schema::{
        self, ForkSessionRequest, ForkSessionResponse, LoadSessionRequest, LoadSessionResponse,
        NewSessionRequest, NewSessionResponse, ResumeSessionRequest, ResumeSessionResponse,
    },
};
use harn_model::{McpServerSpec, PermissionAsked, Seq, SessionId};
use harn_runtime::{Claim, Controller, Hub, NewSession, Observer, Seat, Subscription};
use serde::Serialize;

use super::wire_id;
use crate::{
    EventId,
    answer::answer,
    attached::Attached,
    connection::Peer,
    error,
    ext::mcp,
    host::ClientHost,
    ordering::Lane,
    pump::{LateAnswer, Opening, Replay, follow},
    settings::{config_options, mode_state},
    transport::{Followed, NotFollowed, Refollow},
};

pub(crate) fn new(
    peer: &Arc<Peer>,
    request: Result<Equipped<NewSessionRequest>, Error>,
    to: Responder,
) {
    let Equipped { request, servers } = match request {
        Ok(request) => request,
        Err(error) => return answer::<()>(to, Err(error)),
    };
    let hub = peer.hub.clone();
    let created = async move {
        let new = new_session(request.cwd, request.additional_directories);
        hub.create(new).await.map_err(|e| error::session(&e))
    };
    let inputs = SessionInputs::servers(servers);
    begin(peer, to, None, created, inputs, |session| {
        NewSessionResponse::new(wire_id(session.id()))
            .modes(mode_state(session))
            .config_options(config_options(session))
            .meta(mcp::answer(&session.mcp_servers()))
    });
}

pub(crate) fn fork(
    peer: &Arc<Peer>,
    request: Result<Equipped<ForkSessionRequest>, Error>,
    to: Responder,
) {
    let Equipped { request, servers } = match request {
        Ok(request) => request,
        Err(error) => return answer::<()>(to, Err(error)),
    };
    let hub = peer.hub.clone();
    let forked = async move {
        let new = new_session(request.cwd, request.additional_directories);
        let source = SessionId::new(request.session_id.0);
        let forked = hub.fork(&source, new).await;
        forked.map_err(|e| error::session_of(&source, &e))
    };
    let inputs = SessionInputs::servers(servers);
    begin(peer, to, None, forked, inputs, |session| {
        ForkSessionResponse::new(wire_id(session.id()))
            .modes(mode_state(session))
            .config_options(config_options(session))
            .meta(mcp::answer(&session.mcp_servers()))
    });
}

pub(crate) fn resume(
    peer: &Arc<Peer>,
    request: Result<Resuming<Equipped<ResumeSessionRequest>>, Error>,
    to: Responder,
) {
    let request = match request {
        Ok(request) => request,
        Err(error) => return answer::<()>(to, Err(error)),
    };
    let (hub, after) = (peer.hub.clone(), request.after(peer));
    let Equipped { request, servers } = request.request;
    let lane = peer
        .order
        .lanes
        .enter(&SessionId::new(&*request.session_id.0));
    let response = |session: &Observer| {
        ResumeSessionResponse::new()
            .modes(mode_state(session))
            .config_options(config_options(session))
            .meta(mcp::answer(&session.mcp_servers()))
    };
    let inputs = SessionInputs {
        servers,
        directories: Some(request.additional_directories),
    };
    let opened = async move { open(&hub, request.session_id, &request.cwd).await };
    match after {
        None => begin(peer, to, Some(lane), opened, inputs, response),
        Some(_) => go_on(peer, to, lane, opened, (after, inputs), response),
    }
}

pub(crate) fn load(
    peer: &Arc<Peer>,
    request: Result<Resuming<Equipped<LoadSessionRequest>>, Error>,
    to: Responder,
) {
    let request = match request {
        Ok(request) => request,
        Err(error) => return answer::<()>(to, Err(error)),
    };
    let (hub, after) = (peer.hub.clone(), request.after(peer));
    let Equipped { request, servers } = request.request;
    let lane = peer
        .order
        .lanes
        .enter(&SessionId::new(&*request.session_id.0));
    let inputs = SessionInputs {
        servers,
        directories: Some(request.additional_directories),
    };
    let opened = async move { open(&hub, request.session_id, &request.cwd).await };
    go_on(peer, to, lane, opened, (after, inputs), |session| {
        LoadSessionResponse::new()
            .modes(mode_state(session))
            .config_options(config_options(session))
            .meta(mcp::answer(&session.mcp_servers()))
    });
}

/// A request that opens a session, and the MCP servers that the session is to have.
pub(crate) struct Equipped<T> {
    pub(crate) request: T,
    pub(crate) servers: Vec<McpServerSpec>,
}

/// The parts of a request that change the session it opens, if its client controls that session.
#[derive(Default)]
pub(crate) struct SessionInputs {
    servers: Vec<McpServerSpec>,
    /// The complete list that `session/load` and `session/resume` carry; none for a request without one.
    directories: Option<Vec<PathBuf>>,
}

impl SessionInputs {
    /// MCP servers and nothing else.
    pub(crate) fn servers(servers: Vec<McpServerSpec>) -> Self {
        Self {
            servers,
            directories: None,
        }
    }
}

/// A request that opens a session, and the line it goes on after.
pub(crate) struct Resuming<T> {
    pub(crate) request: T,
    pub(crate) after: Option<EventId>,
}

impl<T> Resuming<T> {
    /// What it says itself, else what the connection was made with.
    fn after(&self, peer: &Peer) -> Option<EventId> {
        self.after.or_else(|| peer.take_last_event_id())
    }
}

/// Opens a session beside the dispatch loop, and tells of it as [`replay`] does.
fn go_on<R: Serialize>(
    peer: &Arc<Peer>,
    to: Responder,
    lane: Lane,
    opened: impl Future<Output = Result<Controller, Error>> + Send + 'static,
    (after, inputs): (Option<EventId>, SessionInputs),
    response: impl FnOnce(&Observer) -> R + Send + 'static,
) {
    let peer = peer.clone();
    peer.clone().spawn(async move {
        lane.come().await;
        let session = match opened.await {
            Ok(session) => session,
            Err(error) => return answer::<()>(to, Err(error)),
        };
        let observer = session.observer();
        let result = Box::new(move || Ok(serde_json::to_value(response(&observer))?));
        if let Err((to, error)) = replay(&peer, session, after, inputs, to, result).await {
            answer::<()>(to, Err(error));
        }
    });
}

/// Opens a session beside the dispatch loop, answers, and follows it from here on behind the answer. One
/// that is followed already goes on as it is: nothing is missed and nothing comes twice.
fn begin<R: Serialize>(
    peer: &Arc<Peer>,
    to: Responder,
    lane: Option<Lane>,
    opened: impl Future<Output = Result<Controller, Error>> + Send + 'static,
    inputs: SessionInputs,
    response: impl FnOnce(&Observer) -> R + Send + 'static,
) {
    let peer = peer.clone();
    peer.clone().spawn(async move {
        if let Some(lane) = &lane {
            lane.come().await;
        }
        let session = match opened.await {
            Ok(session) => session,
            Err(error) => return answer::<()>(to, Err(error)),
        };
        after_its_end(&peer, &session).await;
        // Before the answer is made: a change in between comes as an update.
        let from = session.subscribe_from_now();
        let attached = sit(&peer, &session);
        equip(&attached, inputs).await;
        let response = response(&session);
        let commands = session.commands();
        let open = session.open_asks();
        if peer.attach(&attached) {
            let gate = peer.order.gates.behind(to.raw_id());
            let opening = Opening::Fresh(gate, open, commands);
            follow(&peer, &attached, from, opening, Followed::begin());
        } else if let Some(followed) = peer.attached(session.id()) {
            followed.open();
        }
        answer(to, Ok(response));
    });
}

/// One that was closed and is open again may be followed still, up to its end: that comes first.
pub(crate) async fn after_its_end(peer: &Peer, session: &Controller) {
    if let Some(closed) = peer.attached(session.id())
        && !closed.session.is_same(session)
    {
        closed.drained().await;
    }
}

/// Shows a session from its beginning or from behind a line, answers, and follows it from there. A line that
/// the session has not come to is refused before anything changes.
pub(crate) async fn replay(
    peer: &Arc<Peer>,
    session: Controller,
    after: Option<EventId>,
    inputs: SessionInputs,
    to: Responder,
    result: LateAnswer,
) -> Result<(), (Responder, Error)> {
    let (from, open) = match from(&session, after) {
        Some(from) => from,
        None => return Err((to, error::unknown_event(session.id()))),
    };
    let attached = sit(peer, &session);
    equip(&attached, inputs).await;
    let answer = Some((Box::new(to), result));
    let replay = Replay {
        after,
        has_seen: true,
        open,
        answer,
    };
    instead(peer, &attached, from, replay, Followed::begin()).await;
    Ok(())
}

/// Follows a session that is open here anew, as its transport wants it.
pub(crate) fn refollow(peer: &Arc<Peer>, refollow: Refollow) {
    let Refollow {
        session,
        after,
        stream,
        reply,
    } = refollow;
    let lane = peer.order.lanes.enter(&session);
    let peer = peer.clone();
    peer.clone().spawn(async move {
        lane.come().await;
        let found = match peer.attached(&session) {
            None => Err(NotFollowed::NotOpen),
            Some(earlier) => match from(&earlier.session, Some(after)) {
                None => Err(NotFollowed::UnknownEvent),
                Some((from, open)) => Ok((earlier, from, open)),
            },
        };
        // The transport may be gone.
        let _ = reply.send(found.as_ref().map(|_| ()).map_err(|why| *why));
        let Ok((earlier, from, open)) = found else {
            return;
        };
        let replay = Replay {
            after: Some(after),
            has_seen: true,
            open,
            answer: None,
        };
        let attached = earlier.again();
        instead(&peer, &attached, from, replay, stream).await;
    });
}

/// Where to read a session from, and the questions that were open before it; none where it has not come
/// that far.
pub(crate) fn from(
    session: &Observer,
    after: Option<EventId>,
) -> Option<(Subscription, Vec<PermissionAsked>)> {
    let Some(after) = after else {
        // All questions there ever were come with it.
        return Some((session.subscribe(Seq::ZERO), Vec::new()));
    };
    let from = session.subscribe(after.whole());
    (after.seq() <= from.head()).then(|| (from, session.open_asks()))
}

/// Follows a session in the place of an earlier following.
async fn instead(
    peer: &Arc<Peer>,
    attached: &Arc<Attached>,
    from: Subscription,
    replay: Replay,
    stream: Followed,
) {
    replace(peer, attached).await;
    follow(peer, attached, from, Opening::Replay(replay), stream);
}

/// Ends an earlier following and takes its place: two streams of one session would mix.
pub(crate) async fn replace(peer: &Arc<Peer>, attached: &Arc<Attached>) {
    if let Some(earlier) = peer.attach_instead(attached) {
        earlier.stop().await;
        attached.take_over(&earlier);
    }
}

async fn open(hub: &Hub, id: schema::SessionId, cwd: &Path) -> Result<Controller, Error> {
    let id = SessionId::new(id.0);
    let opened = hub.open(&id, Some(cwd)).await;
    opened.map_err(|e| error::session_of(&id, &e))
}

/// A session that this client opens: it drives while nobody else does. Where it is on it already, its clients
/// stay.
fn sit(peer: &Arc<Peer>, session: &Controller) -> Arc<Attached> {
    let seat = match peer.seat(session) {
        Some(seat) => {
            seat.claim();
            seat
        }
        None => take_seat(peer, session, Claim::IfFree),
    };
    Attached::new(seat, true)
}

/// Adds servers and replaces directories for the client that controls the session: both widen what its agent
/// can reach, and the other clients only look on.
async fn equip(attached: &Attached, inputs: SessionInputs) {
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
        "MCP servers of a client that does not control the session were not added"
    );
}

/// A place at a session for this connection.
pub(crate) fn take_seat(peer: &Arc<Peer>, session: &Controller, claim: Claim) -> Arc<Seat> {
    let host = Arc::new(ClientHost::new(peer));
    Arc::new(session.sit(&peer.seat_name(), host, claim))
}

fn new_session(cwd: PathBuf, additional_directories: Vec<PathBuf>) -> NewSession {
    NewSession {
        cwd,
        additional_directories,
    }
}
