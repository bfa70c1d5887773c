//! `session/inject`, and the methods that change a message before its delivery. Answered as soon as the message
//! is written; its outcome and its delivery are sent after the answer.

use agent_client_protocol::Error;
use harn_model::{Actor, ContentBlock, ControlKind, DeliveryMode, MessageId};
use harn_runtime::{AppliedControl, ControlError, Driver, DriverAction};
use serde_json::Value;

use super::{drive, session_to_steer};
use crate::{
    attached_session::AttachedSession,
    connection::Peer,
    error::{self, ControlSubject},
    ext::{
        HarnMeta,
        steering::{
            InjectChangeResult, InjectParams, InjectResult, InjectResultMeta, PendingInjections,
            ReplaceInjectParams, RevokeInjectParams, SessionParams,
        },
    },
    from_wire,
    ordering::{ControlKey, Gate},
};

pub(crate) async fn inject(peer: &Peer, params: InjectParams, gate: Gate) -> Result<Value, Error> {
    let attached = session_to_steer(peer, params.session_id.as_str())?;
    let content = from_wire::content(params.content.unwrap_or_default());
    let content = content.map_err(|e| error::bad_params(&e))?;
    let mut actor = params.sender.actor();
    let driver = drive(&attached, DriverAction::Speak, &mut actor)?;
    let mode = params.mode.into();
    let injected = inject_with_held_outcome(&attached, driver, mode, content, &actor, gate).await;
    let session = ControlSubject::Session(params.session_id.as_str());
    let (id, done) = injected.map_err(|e| error::control(&e, session))?;
    let injected = InjectResult {
        message_id: id.as_str(),
        status: done.result.as_str(),
        meta: HarnMeta::new(InjectResultMeta {
            actor: (&actor).into(),
            pending_count: done.pending,
        }),
    };
    Ok(serde_json::to_value(injected)?)
}

/// Injects a message; its outcome waits behind the answer.
async fn inject_with_held_outcome(
    attached: &AttachedSession,
    driver: Driver<'_>,
    mode: DeliveryMode,
    content: Vec<ContentBlock>,
    actor: &Actor,
    gate: Gate,
) -> Result<(MessageId, AppliedControl), ControlError> {
    let mut asked = None;
    let injected = driver.inject(mode, content, actor.clone(), |id: &MessageId| {
        let it = ControlKey::new(ControlKind::Inject, Some(id.as_str()));
        attached.hold(it.clone(), gate);
        asked = Some(it);
    });
    let injected = injected.await;
    if let Some(asked) = &asked {
        attached.release_if_no_outcome(asked, &injected);
    }
    injected
}

pub(crate) async fn revoke(
    peer: &Peer,
    params: RevokeInjectParams,
    gate: Gate,
) -> Result<Value, Error> {
    let attached = session_to_steer(peer, params.session_id.as_str())?;
    let (id, mut actor) = (params.message_id.as_str(), params.sender.actor());
    let asked = ControlKey::new(ControlKind::RevokeInject, Some(id));
    let driver = drive(&attached, DriverAction::Steer, &mut actor)?;
    let revoked = driver.revoke_inject(MessageId::new(id), actor);
    change_result(
        id,
        attached.run_with_held_outcome(asked, gate, revoked).await,
    )
}

pub(crate) async fn replace(
    peer: &Peer,
    params: ReplaceInjectParams,
    gate: Gate,
) -> Result<Value, Error> {
    let attached = session_to_steer(peer, params.session_id.as_str())?;
    let (id, mut actor) = (params.message_id.as_str(), params.sender.actor());
    let asked = ControlKey::new(ControlKind::ReplaceInject, Some(id));
    let content = from_wire::content(params.content.unwrap_or_default());
    let driver = drive(&attached, DriverAction::Speak, &mut actor)?;
    let replaced = driver.replace_inject(MessageId::new(id), content, actor);
    change_result(
        id,
        attached.run_with_held_outcome(asked, gate, replaced).await,
    )
}

fn change_result(id: &str, changed: Result<AppliedControl, ControlError>) -> Result<Value, Error> {
    let done = changed.map_err(|e| error::control(&e, ControlSubject::Message(id)))?;
    let changed = InjectChangeResult {
        message_id: id,
        status: done.result.as_str(),
    };
    Ok(serde_json::to_value(changed)?)
}

pub(crate) fn list_pending(peer: &Peer, params: &SessionParams) -> Result<Value, Error> {
    let attached = session_to_steer(peer, params.session_id.as_str())?;
    let pending = attached.session.pending();
    Ok(serde_json::to_value(PendingInjections::new(&pending))?)
}
