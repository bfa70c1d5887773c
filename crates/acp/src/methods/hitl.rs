//! `harn.hitl.respond`: an answer to a question for a person. It names no session; the question is looked up in
//! the sessions that this client has open.

use std::sync::Arc;

use agent_client_protocol::{Error, Responder};
use harn_model::{HitlResponse, Seq};
use harn_runtime::{DriverAction, HitlError};

use super::drive;
use crate::{
    answer::answer_after_update,
    attached_session::AttachedSession,
    connection::Peer,
    error,
    ext::{hitl::HitlRespondResult, sender::SenderParams},
    hitl::names_people,
};

/// Answers once the response is written and its updates are queued.
pub(crate) async fn respond(peer: &Peer, response: HitlResponse, to: Responder) {
    answer_after_update(to, write_response(peer, response).await, |_| {
        HitlRespondResult { ok: true }
    });
}

async fn write_response(
    peer: &Peer,
    mut response: HitlResponse,
) -> Result<(Arc<AttachedSession>, Seq), Error> {
    if !names_people(peer.facts()) {
        response.reviewer = Some(peer.hub.principal().as_str().to_owned());
    }
    let asked = peer.find_session_asking(&response.request_id);
    let unknown = || HitlError::Unknown(response.request_id.clone());
    let attached = asked.ok_or_else(|| error::hitl(&unknown()))?;
    let driver = drive(
        &attached,
        DriverAction::Answer,
        &mut SenderParams::default().actor(),
    )?;
    // A client that takes control from here on gets the question, and this answer no longer counts.
    let written = match attached.session.answering_term() {
        (Some(term), _) => attached.session.hitl_respond(response.clone(), term).await,
        (None, _) => driver.hitl_respond(response.clone()).await,
    };
    let seq = written.map_err(|e| error::hitl(&e))?;
    Ok((attached.clone(), seq))
}
