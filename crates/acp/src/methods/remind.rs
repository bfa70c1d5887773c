//! `session/remind`, `session/revoke_reminder` and `agent/resume`. The first and the last may be notifications,
//! whose errors are only logged.

use std::sync::Arc;

use agent_client_protocol::Error;
use harn_model::{Actor, ControlKind, PendingReminder};
use harn_runtime::DriverAction;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{drive, session_to_steer, session_to_steer_or_only};
use crate::{
    attached_session::AttachedSession,
    connection::Peer,
    error::{self, ControlSubject},
    ext::{
        reminder,
        sender::SenderParams,
        steering::{
            RemindResult, ResumeParams, ResumeResult, RevokeReminderParams, RevokeReminderResult,
        },
    },
    ordering::{ControlKey, Gate},
};

struct RemindRequest {
    attached: Arc<AttachedSession>,
    reminder: PendingReminder,
    actor: Actor,
}

impl RemindRequest {
    fn read(peer: &Peer, params: Map<String, Value>) -> Result<Self, Error> {
        const METHOD: &str = "session/remind";
        let all = Value::Object(params);
        let named = ResumeParams::deserialize(&all).map_err(|e| error::params(METHOD, &e))?;
        let attached = session_to_steer_or_only(peer, named.session_id.as_ref())?;
        let sender = SenderParams::deserialize(&all);
        let Value::Object(params) = all else {
            return Err(error::bad_params("params must be an object"));
        };
        let reminder = reminder::read(params).map_err(|e| error::reminder(&e))?;
        let sender = sender.map_err(|e| error::params(METHOD, &e))?;
        Ok(Self {
            attached,
            reminder,
            actor: sender.actor(),
        })
    }
}

pub(crate) async fn remind(
    peer: &Peer,
    params: Map<String, Value>,
    gate: Gate,
) -> Result<RemindResult, Error> {
    let mut wanted = RemindRequest::read(peer, params)?;
    let session = &wanted.attached.session;
    let driver = drive(&wanted.attached, DriverAction::Steer, &mut wanted.actor)?;
    let given = wanted.reminder.reminder.id.clone();
    let asked = ControlKey::new(ControlKind::Remind, None);
    let reminded = driver.queue_reminder(wanted.reminder, wanted.actor);
    let reminded = wanted
        .attached
        .run_with_held_outcome(asked, gate, reminded)
        .await;
    let about = match given.as_str() {
        "" => ControlSubject::Session(session.id().as_str()),
        id => ControlSubject::Reminder(id),
    };
    let (reminder_id, _) = reminded.map_err(|e| error::control(&e, about))?;
    Ok(RemindResult { reminder_id })
}

/// Adds a reminder for a notification, without an answer.
pub(crate) async fn remind_unanswered(
    peer: &Peer,
    params: Map<String, Value>,
) -> Result<(), Error> {
    let mut wanted = RemindRequest::read(peer, params)?;
    let driver = drive(&wanted.attached, DriverAction::Steer, &mut wanted.actor)?;
    let reminded = driver.queue_reminder(wanted.reminder, wanted.actor);
    if let Err(error) = reminded.await {
        tracing::debug!(%error, "rejected a session/remind");
    }
    Ok(())
}

pub(crate) async fn revoke(
    peer: &Peer,
    params: RevokeReminderParams,
    gate: Gate,
) -> Result<Value, Error> {
    let attached = session_to_steer(peer, params.session_id.as_str())?;
    let (id, mut actor) = (params.reminder_id.as_str(), params.sender.actor());
    let asked = ControlKey::new(ControlKind::RevokeReminder, Some(id));
    let driver = drive(&attached, DriverAction::Steer, &mut actor)?;
    let revoked = driver.revoke_reminder(id, actor);
    let revoked = attached.run_with_held_outcome(asked, gate, revoked).await;
    let done = revoked.map_err(|e| error::control(&e, ControlSubject::Reminder(id)))?;
    let revoked = RevokeReminderResult {
        reminder_id: id,
        status: done.result.as_str(),
    };
    Ok(serde_json::to_value(revoked)?)
}

pub(crate) async fn resume(peer: &Peer, params: ResumeParams) -> Result<ResumeResult, Error> {
    let attached = session_to_steer_or_only(peer, params.session_id.as_ref())?;
    let driver = drive(
        &attached,
        DriverAction::Steer,
        &mut SenderParams::default().actor(),
    )?;
    driver.resume().await;
    Ok(ResumeResult {})
}
