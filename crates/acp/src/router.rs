//! The serving surface on one screen: a row a method, each saying where it runs.
//!
//! The SDK's dispatch loop is serial and carries the answers to our own requests too, so nothing here waits
//! for the client. What touches the disk runs beside the loop; what must keep its order runs in it.

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
    ext::{self, bridge::Notification, event_id, steering::contract_name},
    mcp,
    methods::{
        archive, auth, close, config, hitl, initialize, inject,
        list::{self, Listing},
        live, prompt, remind,
        setup::{self, Equipped, Resuming},
        skills, steering, title,
    },
    ordering::Gate,
};

/// What a host may tell over the bridge.
const SKILLS_UPDATE: &str = Notification::SkillsUpdate.name();

pub(crate) struct Router {
    peer: Arc<Peer>,
}

impl Router {
    pub(crate) fn new(peer: Arc<Peer>) -> Self {
        Self { peer }
    }

    #[rustfmt::skip]
    async fn request(&self, method: &str, params: Value, to: Responder) -> Option<(Value, Responder)> {
        let peer = &self.peer;
        match method {
            // In the loop: at once, and in order.
            "initialize"                => answer(to, decode(method, params).and_then(|p| initialize::handle(peer, &p))),
            "authenticate"              => answer(to, decode(method, params).and_then(|p| auth::authenticate(peer, &p))),
            "logout"                    => answer(to, decode(method, params).map(auth::logout)),
            "session/prompt"            => prompt::handle(peer, decode(method, params), to).await,
            "session/cancel"            => first(peer, to, |gate| prompt::cancel_request(peer, decode(method, params), gate)).await,
            "session/inject"            => first(peer, to, |gate| inject::inject(peer, decode(method, params), gate)).await,
            "session/revoke_inject"     => first(peer, to, |gate| inject::revoke(peer, decode(method, params), gate)).await,
            "session/replace_inject"    => first(peer, to, |gate| inject::replace(peer, decode(method, params), gate)).await,
            "session/pending_injections"=> answer(to, inject::pending(peer, decode(method, params))),
            "session/remind"            => first(peer, to, |gate| remind::remind(peer, decode(method, params), gate)).await,
            "session/revoke_reminder"   => first(peer, to, |gate| remind::revoke(peer, decode(method, params), gate)).await,
            "agent/resume"              => answer(to, remind::resume(peer, decode(method, params)).await),
            "_session/steering"         => first(peer, to, |gate| steering::steer(peer, decode(method, params), gate)).await,
            "session/set_mode"          => config::set_mode(peer, decode(method, params), to).await,
            "session/set_config_option" => config::set_option(peer, decode(method, params), to).await,
            "harn.hitl.respond"         => hitl::respond(peer, decode(method, params), to).await,
            "session/attach"            => live::attach(peer, resuming(method, params, decode), to).await,
            "session/takeover"          => live::take_over(peer, resuming(method, params, decode), to).await,
            "session/detach"            => live::detach(peer, decode(method, params), to).await,
            "session/heartbeat"         => live::heartbeat(peer, decode(method, params), to).await,
            "session/live_clients"      => answer(to, live::clients(peer, decode(method, params))),
            // Beside the loop: they open, copy or remove files.
            "session/new"               => setup::new(peer, equipped(method, params), to),
            "session/load"              => setup::load(peer, resuming(method, params, equipped), to),
            "session/resume"            => setup::resume(peer, resuming(method, params, equipped), to),
            "session/fork"              => setup::fork(peer, equipped(method, params), to),
            "session/list"              => list::handle(peer, listing(method, params), to),
            "session/close"             => close::close(peer, decode(method, params), to),
            "session/delete"            => close::delete(peer, decode(method, params), to),
            "session/archive"           => archive::archive(peer, decode(method, params), to),
            "session/unarchive"         => archive::unarchive(peer, decode(method, params), to),
            "session/set_title"         => title::set(peer, decode(method, params), to),
            _ => return Some((params, to)),
        }
        None
    }

    async fn notification(&self, method: &str, params: Value) {
        match method {
            "session/cancel" => match decode(method, params) {
                Ok(cancel) => prompt::cancel(&self.peer, cancel).await,
                Err(error) => tracing::debug!(%error.message, "ignored a session/cancel"),
            },
            "session/remind" => remind::remind_unanswered(&self.peer, decode(method, params)).await,
            "agent/resume" => {
                if let Err(error) = remind::resume(&self.peer, decode(method, params)).await {
                    tracing::debug!(%error.message, "ignored an agent/resume");
                }
            }
            SKILLS_UPDATE => skills::updated(&self.peer),
            // `$/cancel_request` reaches its request through the SDK; anything else is not for us.
            _ => tracing::debug!(method, "ignored a notification"),
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
                let unknown = self.request(name, params, responder).await;
                unknown.map(|(params, responder)| {
                    Dispatch::Request(UntypedMessage { method, params }, responder)
                })
            }
            Dispatch::Notification(notification) => {
                let (method, params) = notification.into_parts();
                self.notification(contract_name(&method), params).await;
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

/// Answers before anything that comes of the request is told.
async fn first<T: Serialize, F: Future<Output = Result<T, Error>>>(
    peer: &Peer,
    to: Responder,
    work: impl FnOnce(Gate) -> F,
) {
    let done = work(peer.order.gates.behind_at_once(to.raw_id())).await;
    answer(to, done);
}

fn decode<T: DeserializeOwned>(method: &str, params: Value) -> Result<T, Error> {
    let params = match params {
        // They may be left out where none are needed.
        Value::Null => Value::Object(serde_json::Map::new()),
        Value::Object(_) => params,
        // By position they would fit by luck.
        _ => {
            let message = format!("{method}: params must be an object");
            return Err(error::bad_params(&message));
        }
    };
    serde_json::from_value(params).map_err(|e| error::params(method, &e))
}

/// The same for a request that may go on after an event.
fn resuming<T>(
    method: &str,
    params: Value,
    read: impl FnOnce(&str, Value) -> Result<T, Error>,
) -> Result<Resuming<T>, Error> {
    let after = event_id::wanted(&params).map_err(|_| error::bad_event_id(method))?;
    let request = read(method, params)?;
    Ok(Resuming { request, after })
}

/// The same for a request that opens a session, with servers.
fn equipped<T: DeserializeOwned>(method: &str, mut params: Value) -> Result<Equipped<T>, Error> {
    let servers = mcp::servers(method, &mut params)?;
    directories::check(method, &params)?;
    let request = decode(method, params)?;
    Ok(Equipped { request, servers })
}

/// The same for a listing.
fn listing(method: &str, params: Value) -> Result<Listing, Error> {
    let live = ext::live::wanted_liveness(&params).map_err(|e| error::bad_params(&e))?;
    Ok((decode(method, params)?, live))
}
