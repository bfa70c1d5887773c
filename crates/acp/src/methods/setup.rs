//! `session/new`, `load`, `resume` and `fork`: ways to come to an open session.

use std::{path::PathBuf, sync::Arc};

use agent_client_protocol::{
    Error, Responder,
    v1::schema::{
        self, ForkSessionRequest, ForkSessionResponse, LoadSessionRequest, LoadSessionResponse,
        NewSessionRequest, NewSessionResponse, ResumeSessionRequest, ResumeSessionResponse,
    },
};
use harn_model::{Seq, SessionId};
use harn_runtime::{Controller, NewSession};
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
    let peer = peer.clone();
    peer.clone().spawn(async move {
        let created = async {
            let request = request?;
            note_servers(&request.mcp_servers);
            let new = new_session(request.cwd, request.additional_directories);
            peer.hub.create(new).await.map_err(|e| error::session(&e))
        };
        match created.await {
            Ok(session) => {
                let response = NewSessionResponse::new(wire_id(session.id()))
                    .modes(mode_state(&session))
                    .config_options(config_options(&session));
                start(&peer, session, to, response);
            }
            Err(error) => answer::<()>(to, Err(error)),
        }
    });
}

pub(crate) fn fork(peer: &Arc<Peer>, request: Result<ForkSessionRequest, Error>, to: Responder) {
    let peer = peer.clone();
    peer.clone().spawn(async move {
        let forked = async {
            let request = request?;
            note_servers(&request.mcp_servers);
            let new = new_session(request.cwd, request.additional_directories);
            let source = SessionId::new(request.session_id.0);
            peer.hub
                .fork(&source, new)
                .await
                .map_err(|e| error::session(&e))
        };
        match forked.await {
            Ok(session) => {
                let response = ForkSessionResponse::new(wire_id(session.id()))
                    .modes(mode_state(&session))
                    .config_options(config_options(&session));
                start(&peer, session, to, response);
            }
            Err(error) => answer::<()>(to, Err(error)),
        }
    });
}

pub(crate) fn resume(
    peer: &Arc<Peer>,
    request: Result<ResumeSessionRequest, Error>,
    to: Responder,
) {
    let peer = peer.clone();
    peer.clone().spawn(async move {
        let opened = async {
            let request = request?;
            note_servers(&request.mcp_servers);
            open(&peer, request.session_id, request.cwd).await
        };
        match opened.await {
            Ok(session) => {
                let response = ResumeSessionResponse::new()
                    .modes(mode_state(&session))
                    .config_options(config_options(&session));
                start(&peer, session, to, response);
            }
            Err(error) => answer::<()>(to, Err(error)),
        }
    });
}

pub(crate) fn load(peer: &Arc<Peer>, request: Result<LoadSessionRequest, Error>, to: Responder) {
    let peer = peer.clone();
    peer.clone().spawn(async move {
        let opened = async {
            let request = request?;
            note_servers(&request.mcp_servers);
            open(&peer, request.session_id, request.cwd).await
        };
        match opened.await {
            Ok(session) => {
                let observer = session.observer();
                let from = session.subscribe(Seq::ZERO);
                let result = Box::new(move || {
                    let response = LoadSessionResponse::new()
                        .modes(mode_state(&observer))
                        .config_options(config_options(&observer));
                    Ok(serde_json::to_value(response)?)
                });
                let attached = lend(&peer, session);
                if let Some(earlier) = peer.attach_instead(&attached) {
                    // Two streams of one session would mix.
                    earlier.stop().await;
                    attached.take_over(&earlier);
                }
                let opening = Opening::Replay(Box::new(to), result);
                follow(&peer, &attached, from, opening);
            }
            Err(error) => answer::<()>(to, Err(error)),
        }
    });
}

async fn open(peer: &Peer, id: schema::SessionId, cwd: PathBuf) -> Result<Controller, Error> {
    let id = SessionId::new(id.0);
    let opened = peer.hub.open(&id, Some(&cwd)).await;
    opened.map_err(|e| error::session_of(&id, &e))
}

/// Answers, and follows the session from here on behind the answer. One that is followed already goes on
/// as it is: nothing is missed and nothing comes twice.
fn start(peer: &Arc<Peer>, session: Controller, to: Responder, response: impl Serialize) {
    let view = session.view();
    let from = session.subscribe(view.last_seq);
    let attached = lend(peer, session);
    if peer.attach(&attached) {
        let gate = peer.gates.behind(to.raw_id());
        // Questions belong to the session: those put before this client came are put to it too.
        let open = view.open_turn.map(|turn| turn.asks).unwrap_or_default();
        let open = open.into_values().map(|ask| *ask).collect();
        follow(peer, &attached, from, Opening::Fresh(gate, open));
    }
    answer(to, Ok(response));
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
