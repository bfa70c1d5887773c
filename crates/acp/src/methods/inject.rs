//! `session/inject` and what can be done about a message until it is delivered. Answered as soon as it is
//! written; its outcome and its delivery are told after the answer.

use agent_client_protocol::Error;
use harn_model::{Actor, ContentBlock, Control, DeliveryMode, MessageId};
use harn_runtime::{Act, ControlError, Controlled, Driver};
use serde_json::Value;

use super::{drive, steered};
use crate::{
    attached::Attached,
    connection::Peer,
    error::{self, About},
    ext::{
        HarnMeta,
        steering::{
            InjectParams, Injected, InjectedMeta, MessageChanged, PendingInjections,
            ReplaceInjectParams, RevokeInjectParams, SessionParams,
        },
    },
    from_wire,
    ordering::{ControlKey, Gate},
};

pub(crate) async fn inject(peer: &Peer, params: InjectParams, gate: Gate) -> Result<Value, Error> {
    let attached = steered(peer, params.session_id.as_str())?;
    let content = from_wire::content(params.content.unwrap_or_default());
    let content = content.map_err(|e| error::bad_params(&e))?;
    let mut actor = params.sender.actor();
    let driver = drive(&attached, Act::Speak, &mut actor)?;
    let mode = params.mode.into();
    let injected = held(&attached, driver, mode, content, &actor, gate).await;
    let session = About::Session(params.session_id.as_str());
    let (id, done) = injected.map_err(|e| error::control(&e, session))?;
    let injected = Injected {
        message_id: id.as_str(),
        status: done.result.as_str(),
        meta: HarnMeta::new(InjectedMeta {
            actor: (&actor).into(),
            pending_count: done.pending,
        }),
    };
    Ok(serde_json::to_value(injected)?)
}

/// Injects a message, its outcome held back behind the answer.
async fn held(
    attached: &Attached,
    driver: Driver<'_>,
    mode: DeliveryMode,
    content: Vec<ContentBlock>,
    actor: &Actor,
    gate: Gate,
) -> Result<(MessageId, Controlled), ControlError> {
    let mut asked = None;
    let injected = driver.inject(mode, content, actor.clone(), |id: &MessageId| {
        let it = ControlKey::new(Control::Inject, Some(id.as_str()));
        attached.hold(it.clone(), gate);
        asked = Some(it);
    });
    let injected = injected.await;
    if let Some(asked) = &asked {
        attached.settled(asked, &injected);
    }
    injected
}

pub(crate) async fn revoke(
    peer: &Peer,
    params: RevokeInjectParams,
    gate: Gate,
) -> Result<Value, Error> {
    let attached = steered(peer, params.session_id.as_str())?;
    let (id, mut actor) = (params.message_id.as_str(), params.sender.actor());
    let asked = ControlKey::new(Control::RevokeInject, Some(id));
    let driver = drive(&attached, Act::Steer, &mut actor)?;
    let revoked = driver.revoke_inject(MessageId::new(id), actor);
    changed(id, attached.held(asked, gate, revoked).await)
}

pub(crate) async fn replace(
    peer: &Peer,
    params: ReplaceInjectParams,
    gate: Gate,
) -> Result<Value, Error> {
    let attached = steered(peer, params.session_id.as_str())?;
    let (id, mut actor) = (params.message_id.as_str(), params.sender.actor());
    let asked = ControlKey::new(Control::ReplaceInject, Some(id));
    let content = from_wire::content(params.content.unwrap_or_default());
    let driver = drive(&attached, Act::Speak, &mut actor)?;
    let replaced = driver.replace_inject(MessageId::new(id), content, actor);
    changed(id, attached.held(asked, gate, replaced).await)
}

fn changed(id: &str, changed: Result<Controlled, ControlError>) -> Result<Value, Error> {
    let done = changed.map_err(|e| error::control(&e, About::Message(id)))?;
    let changed = MessageChanged {
        message_id: id,
        status: done.result.as_str(),
    };
    Ok(serde_json::to_value(changed)?)
}

pub(crate) fn pending(peer: &Peer, params: &SessionParams) -> Result<Value, Error> {
    let attached = steered(peer, params.session_id.as_str())?;
    let pending = attached.session.pending();
    Ok(serde_json::to_value(PendingInjections::new(&pending))?)
}
