//! `harn.hitl.respond`: an answer to what a person is asked. It names no session: it is looked for among
//! those that this client has open.

use std::sync::Arc;

use agent_client_protocol::{Error, Responder};
use harn_model::{HitlResponse, Seq};
use harn_runtime::{DriverAction, HitlError};

use super::drive;
use crate::{
    answer::answer_behind,
    attached::AttachedSession,
    connection::Peer,
    error,
    ext::{hitl::HitlRespondResult, sender::SenderParams},
    hitl::names_people,
};

/// Answered once the answer is written and its updates are on their way.
pub(crate) async fn respond(peer: &Peer, response: HitlResponse, to: Responder) {
    answer_behind(to, take(peer, response).await, |_| HitlRespondResult {
        ok: true,
    });
}

async fn take(
    peer: &Peer,
    mut response: HitlResponse,
) -> Result<(Arc<AttachedSession>, Seq), Error> {
    if !names_people(peer.facts()) {
        response.reviewer = Some(peer.hub.principal().as_str().to_owned());
    }
    let asked = peer.asking(&response.request_id);
    let unknown = || HitlError::Unknown(response.request_id.clone());
    let attached = asked.ok_or_else(|| error::hitl(&unknown()))?;
    let driver = drive(
        &attached,
        DriverAction::Answer,
        &mut SenderParams::default().actor(),
    )?;
    // Whoever takes control from here on is asked, and this does not count any more.
    let written = match attached.session.asked() {
        (Some(term), _) => attached.session.hitl_respond(response.clone(), term).await,
        (None, _) => driver.hitl_respond(response.clone()).await,
    };
    let seq = written.map_err(|e| error::hitl(&e))?;
    Ok((attached.clone(), seq))
}
