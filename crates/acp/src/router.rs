//! The table of all methods, with where each runs.
//!
//! The SDK's dispatch loop is serial and also delivers the answers to our own requests, so nothing here waits
//! for the client. Methods that use the disk run outside the loop; methods that must keep their order run in
//! it.

use std::sync::Arc;

use agent_client_protocol::{
    Client, ConnectionTo, Dispatch, Error, HandleDispatchFrom, Handled, Responder, UntypedMessage,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    answer::answer,
    connection::Peer,
    directories, error,
    ext::{self, bridge::BridgeNotification, event_id, steering::contract_name},
    mcp,
    methods::{
        archive, auth, close, config, hitl, initialize, inject,
        list::{self, FilteredListRequest},
        live, prompt, remind,
        setup::{self, RequestWithServers, ResumableRequest},
        skills, steering, title,
    },
    ordering::Gate,
};

/// The notification that a host may send over the bridge.
const SKILLS_UPDATE: &str = BridgeNotification::SkillsUpdate.name();

pub(crate) struct Router {
    peer: Arc<Peer>,
}

impl Router {
    pub(crate) fn new(peer: Arc<Peer>) -> Self {
        Self { peer }
    }

    #[rustfmt::skip]
    async fn handle_request(&self, method: &str, params: Value, to: Responder) -> Option<(Value, Responder)> {
        let peer = &self.peer;
        match method {
            // In the loop: at once, and in order.
            "initialize"                => answer(to, decode(method, params).and_then(|p| initialize::handle(peer, &p))),
            "authenticate"              => answer(to, decode(method, params).and_then(|p| auth::authenticate(peer, &p))),
            "logout"                    => answer(to, decode(method, params).map(auth::logout)),
            "session/prompt"            => hand_over(to, decode(method, params), |p, to| prompt::handle(peer, p, to)).await,
            "session/cancel"            => answer_first(peer, to, decode(method, params), |p, gate| prompt::cancel_request(peer, p, gate)).await,
            "session/inject"            => answer_first(peer, to, decode(method, params), |p, gate| inject::inject(peer, p, gate)).await,
            "session/revoke_inject"     => answer_first(peer, to, decode(method, params), |p, gate| inject::revoke(peer, p, gate)).await,
            "session/replace_inject"    => answer_first(peer, to, decode(method, params), |p, gate| inject::replace(peer, p, gate)).await,
            "session/pending_injections"=> answer(to, decode(method, params).and_then(|p| inject::list_pending(peer, &p))),
            "session/remind"            => answer_first(peer, to, decode(method, params), |p, gate| remind::remind(peer, p, gate)).await,
            "session/revoke_reminder"   => answer_first(peer, to, decode(method, params), |p, gate| remind::revoke(peer, p, gate)).await,
            "agent/resume"              => hand_over(to, decode(method, params), async |p, to| answer(to, remind::resume(peer, p).await)).await,
            "_session/steering"         => answer_first(peer, to, decode(method, params), |p, gate| steering::steer(peer, p, gate)).await,
            "session/set_mode"          => hand_over(to, decode(method, params), |p, to| config::set_mode(peer, p, to)).await,
            "session/set_config_option" => hand_over(to, decode(method, params), |p, to| config::set_option(peer, p, to)).await,
            "harn.hitl.respond"         => hand_over(to, decode(method, params), |p, to| hitl::respond(peer, p, to)).await,
            "session/attach"            => hand_over(to, decode_resumable(method, params, decode), |p, to| live::attach(peer, p, to)).await,
            "session/takeover"          => hand_over(to, decode_resumable(method, params, decode), |p, to| live::take_over(peer, p, to)).await,
            "session/detach"            => hand_over(to, decode(method, params), |p, to| live::detach(peer, p, to)).await,
            "session/heartbeat"         => hand_over(to, decode(method, params), |p, to| live::heartbeat(peer, p, to)).await,
            "session/live_clients"      => answer(to, decode(method, params).and_then(|p| live::list_clients(peer, &p))),
            // Outside the loop: they open, copy or remove files.
            "session/new"               => hand_over(to, decode_with_servers(method, params), async |p, to| setup::new(peer, p, to)).await,
            "session/load"              => hand_over(to, decode_resumable(method, params, decode_with_servers), async |p, to| setup::load(peer, p, to)).await,
            "session/resume"            => hand_over(to, decode_resumable(method, params, decode_with_servers), async |p, to| setup::resume(peer, p, to)).await,
            "session/fork"              => hand_over(to, decode_with_servers(method, params), async |p, to| setup::fork(peer, p, to)).await,
            "session/list"              => spawn_handler(peer, to, decode_listing(method, params), list::handle),
            "session/close"             => spawn_handler(peer, to, decode(method, params), close::close),
            "session/delete"            => spawn_handler(peer, to, decode(method, params), close::delete),
            "session/archive"           => spawn_handler(peer, to, decode(method, params), archive::archive),
            "session/unarchive"         => spawn_handler(peer, to, decode(method, params), archive::unarchive),
            "session/set_title"         => title::set(peer, decode(method, params), to),
            _ => return Some((params, to)),
        }
        None
    }

    async fn handle_notification(&self, method: &str, params: Value) {
        let peer = &self.peer;
        let done = async {
            match method {
                "session/cancel" => prompt::cancel(peer, decode(method, params)?).await,
                "session/remind" => remind::remind_unanswered(peer, decode(method, params)?).await,
                "agent/resume" => remind::resume(peer, decode(method, params)?)
                    .await
                    .map(drop),
                SKILLS_UPDATE => {
                    skills::notify_skills_updated(peer);
                    Ok(())
                }
                // The SDK applies `$/cancel_request` to its request; other notifications are not for us.
                _ => {
                    tracing::debug!(method, "ignored a notification");
                    Ok(())
                }
            }
        };
        let done: Result<(), Error> = done.await;
        if let Err(error) = done {
            tracing::debug!(%error.message, method, "ignored a notification");
        }
    }
}

impl HandleDispatchFrom<Client> for Router {
    async fn handle_dispatch_from(
        &mut self,
        message: Dispatch,
        connection: ConnectionTo<Client>,
    ) -> Result<Handled<Dispatch>, Error> {
        self.peer.set_wire(&connection);
        let declined = match message {
            Dispatch::Request(request, responder) => {
                let (method, params) = request.into_parts();
                let name = contract_name(&method);
                let unknown = self.handle_request(name, params, responder).await;
                unknown.map(|(params, responder)| {
                    Dispatch::Request(UntypedMessage { method, params }, responder)
                })
            }
            Dispatch::Notification(notification) => {
                let (method, params) = notification.into_parts();
                self.handle_notification(contract_name(&method), params)
                    .await;
                None
            }
            response @ Dispatch::Response(..) => Some(response),
        };
        Ok(match declined {
            None => Handled::Yes,
            Some(message) => Handled::No {
                message,
                retry: false,
            },
        })
    }

    fn describe_chain(&self) -> impl std::fmt::Debug {
        "harn-serve"
    }
}

/// Answers before any update that the request causes is sent.
async fn answer_first<P, T: Serialize, F: Future<Output = Result<T, Error>>>(
    peer: &Peer,
    to: Responder,
    params: Result<P, Error>,
    work: impl FnOnce(P, Gate) -> F,
) {
    let gate = peer.order.gates.gate_behind_priority_answer(to.raw_id());
    let done = match params {
        Ok(params) => work(params, gate).await,
        Err(error) => Err(error),
    };
    answer(to, done);
}

/// Passes the responder on to the handler.
async fn hand_over<P, F: Future<Output = ()>>(
    to: Responder,
    params: Result<P, Error>,
    work: impl FnOnce(P, Responder) -> F,
) {
    match params {
        Ok(params) => work(params, to).await,
        Err(error) => answer::<()>(to, Err(error)),
    }
}

/// Runs the handler in a task, and answers with its result.
fn spawn_handler<P, T, F>(
    peer: &Arc<Peer>,
    to: Responder,
    params: Result<P, Error>,
    work: impl FnOnce(Arc<Peer>, P) -> F + Send + 'static,
) where
    P: Send + 'static,
    T: Serialize + Send,
    F: Future<Output = Result<T, Error>> + Send,
{
    let peer = peer.clone();
    peer.clone().spawn(async move {
        let done = match params {
            Ok(params) => work(peer, params).await,
            Err(error) => Err(error),
        };
        answer(to, done);
    });
}

fn decode<T: DeserializeOwned>(method: &str, params: Value) -> Result<T, Error> {
    let params = match params {
        // Params may be missing if none are needed.
        Value::Null => Value::Object(serde_json::Map::new()),
        Value::Object(_) => params,
        // Positional params would fit only by chance.
        _ => {
            let message = format!("{method}: params must be an object");
            return Err(error::bad_params(&message));
        }
    };
    serde_json::from_value(params).map_err(|e| error::params(method, &e))
}

/// Decodes a request that may continue after an event.
fn decode_resumable<T>(
    method: &str,
    params: Value,
    read: impl FnOnce(&str, Value) -> Result<T, Error>,
) -> Result<ResumableRequest<T>, Error> {
    let after = event_id::read_last_event_id(&params).map_err(|_| error::bad_event_id(method))?;
    let request = read(method, params)?;
    Ok(ResumableRequest { request, after })
}

/// Decodes a request that opens a session, with servers.
fn decode_with_servers<T: DeserializeOwned>(
    method: &str,
    mut params: Value,
) -> Result<RequestWithServers<T>, Error> {
    let servers = mcp::take_servers(method, &mut params)?;
    directories::check(method, &params)?;
    let request = decode(method, params)?;
    Ok(RequestWithServers { request, servers })
}

/// Decodes a request that lists sessions.
fn decode_listing(method: &str, params: Value) -> Result<FilteredListRequest, Error> {
    let live = ext::live::parse_liveness_filter(&params).map_err(|e| error::bad_params(&e))?;
    Ok((decode(method, params)?, live))
}
