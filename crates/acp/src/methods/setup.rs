//! `session/new`, `load`, `resume` and `fork`: ways to come to an open session.

use std::{
    collections::BTreeMap,
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
use harn_model::{Seq, SessionId};
use harn_runtime::{Controller, Hub, NewSession, Observer};
use serde::Serialize;

use super::wire_id;
use crate::{
    answer::answer,
    attached::Attached,
    connection::Peer,
    error,
    host::ClientHost,
    pump::{Opening, follow},
    settings::{config_options, mode_state},
};

pub(crate) fn new(peer: &Arc<Peer>, request: Result<NewSessionRequest, Error>, to: Responder) {
    let hub = peer.hub.clone();
    let created = async move {
        let request = request?;
        note_servers(&request.mcp_servers);
        let new = new_session(request.cwd, request.additional_directories);
        hub.create(new).await.map_err(|e| error::session(&e))
    };
    begin(peer, to, created, |session| {
        NewSessionResponse::new(wire_id(session.id()))
            .modes(mode_state(session))
            .config_options(config_options(session))
    });
}

pub(crate) fn fork(peer: &Arc<Peer>, request: Result<ForkSessionRequest, Error>, to: Responder) {
    let hub = peer.hub.clone();
    let forked = async move {
        let request = request?;
        note_servers(&request.mcp_servers);
        let new = new_session(request.cwd, request.additional_directories);
        let source = SessionId::new(request.session_id.0);
        let forked = hub.fork(&source, new).await;
        forked.map_err(|e| error::session_of(&source, &e))
    };
    begin(peer, to, forked, |session| {
        ForkSessionResponse::new(wire_id(session.id()))
            .modes(mode_state(session))
            .config_options(config_options(session))
    });
}

pub(crate) fn resume(
    peer: &Arc<Peer>,
    request: Result<ResumeSessionRequest, Error>,
    to: Responder,
) {
    let hub = peer.hub.clone();
    let opened = async move {
        let request = request?;
        note_servers(&request.mcp_servers);
        open(&hub, request.session_id, &request.cwd).await
    };
    begin(peer, to, opened, |session| {
        ResumeSessionResponse::new()
            .modes(mode_state(session))
            .config_options(config_options(session))
    });
}

pub(crate) fn load(peer: &Arc<Peer>, request: Result<LoadSessionRequest, Error>, to: Responder) {
    let (hub, peer) = (peer.hub.clone(), peer.clone());
    let opened = async move {
        let request = request?;
        note_servers(&request.mcp_servers);
        open(&hub, request.session_id, &request.cwd).await
    };
    peer.clone().spawn(async move {
        match opened.await {
            Ok(session) => replay(&peer, session, to).await,
            Err(error) => answer::<()>(to, Err(error)),
        }
    });
}

/// Opens a session beside the dispatch loop, answers, and follows it from here on behind the answer. One
/// that is followed already goes on as it is: nothing is missed and nothing comes twice.
fn begin<R: Serialize>(
    peer: &Arc<Peer>,
    to: Responder,
    opened: impl Future<Output = Result<Controller, Error>> + Send + 'static,
    response: impl FnOnce(&Observer) -> R + Send + 'static,
) {
    let peer = peer.clone();
    peer.clone().spawn(async move {
        let session = match opened.await {
            Ok(session) => session,
            Err(error) => return answer::<()>(to, Err(error)),
        };
        // Before the answer is made: a change in between comes as an update.
        let from = session.subscribe_from_now();
        let response = response(&session);
        let commands = session.commands();
        // Questions belong to the session: those put before this client came are put to it too.
        let open = session.view().open_turn.map(|turn| turn.asks);
        let attached = lend(&peer, session);
        if peer.attach(&attached) {
            let gate = peer.gates.behind(to.raw_id());
            let open = open.into_iter().flat_map(BTreeMap::into_values);
            let open = open.map(|ask| *ask).collect();
            follow(&peer, &attached, from, Opening::Fresh(gate, open, commands));
        }
        answer(to, Ok(response));
    });
}

/// Shows a session from its beginning, answers, and follows it from there.
async fn replay(peer: &Arc<Peer>, session: Controller, to: Responder) {
    let observer = session.observer();
    let from = session.subscribe(Seq::ZERO);
    let result = Box::new(move || {
        let response = LoadSessionResponse::new()
            .modes(mode_state(&observer))
            .config_options(config_options(&observer));
        Ok(serde_json::to_value(response)?)
    });
    let attached = lend(peer, session);
    if let Some(earlier) = peer.attach_instead(&attached) {
        // Two streams of one session would mix.
        earlier.stop().await;
        attached.take_over(&earlier);
    }
    let opening = Opening::Replay(Box::new(to), result);
    follow(peer, &attached, from, opening);
}

async fn open(hub: &Hub, id: schema::SessionId, cwd: &Path) -> Result<Controller, Error> {
    let id = SessionId::new(id.0);
    let opened = hub.open(&id, Some(cwd)).await;
    opened.map_err(|e| error::session_of(&id, &e))
}

/// The session with this client as its host.
fn lend(peer: &Arc<Peer>, session: Controller) -> Arc<Attached> {
    session.set_host(Arc::new(ClientHost::new(peer)));
    Attached::new(session)
}

fn new_session(cwd: PathBuf, additional_directories: Vec<PathBuf>) -> NewSession {
    NewSession {
        cwd,
        additional_directories,
    }
}

/// MCP servers are not connected yet, and not advertised; a client that sends some anyway is told in the
/// log. Their settings may hold secrets and are not repeated.
fn note_servers(servers: &[schema::McpServer]) {
    if !servers.is_empty() {
        tracing::warn!(
            count = servers.len(),
            "MCP servers are not supported yet and were not connected"
        );
    }
}
