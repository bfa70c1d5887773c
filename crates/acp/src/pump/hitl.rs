//! Sends questions for a person to one client, in the form that the client supports, and cancels them when they
//! are answered elsewhere.

use std::sync::Arc;

use harn_model::HitlRequest;
use harn_runtime::{HitlError, Seat, SeatTerm};
use tokio_util::sync::CancellationToken;

use super::{
    SessionPump,
    questions::{SentQuestion, wait_for_response},
};
use crate::{
    UpdateProjector, ext,
    hitl::{self, HitlClientAnswer, HitlRoute},
    transport::ClientDisconnected,
};

impl SessionPump {
    /// Asks the client if it is the one to ask. A separate task waits for the answer: an unanswered question
    /// must not block the session's updates.
    pub(super) async fn ask_person(
        &mut self,
        request: Arc<HitlRequest>,
    ) -> Result<(), ClientDisconnected> {
        let Some(term) = self.questions.term else {
            return Ok(());
        };
        // A question that was open when this client attached may also arrive in the stream.
        if self.questions.put.contains_key(&request.request_id) {
            return Ok(());
        }
        let peer = self.peer.clone();
        let session = self.attached.session.clone();
        let (facts, profile) = (peer.facts(), self.dialect.profile);
        let route = hitl::route(&request, facts, peer.hub.principal().as_str());
        if route == HitlRoute::Bridge {
            self.send(ext::hitl::requested_notification(session.id(), &request))
                .await?;
        }
        // No other client is asked.
        if let HitlRoute::Nobody(why) = &route {
            let (why, id) = (why.clone(), request.request_id.clone());
            self.peer.spawn(async move {
                session.report_hitl_unavailable(&id, why, term).await;
            });
            return Ok(());
        }
        if route == HitlRoute::Choice {
            let id = &request.request_id;
            let announce = |lines: &UpdateProjector, out: &mut Vec<u8>| {
                lines.write_hitl_call(id, &request.payload(), out);
            };
            self.announce_unseen(id, announce).await?;
        }
        let client = session.asked_name();
        let message = hitl::message(&route, session.id(), &request, profile, client.as_deref());
        let wire = self.peer.wire().cloned();
        let sent = message.zip(wire);
        // A choice names a call, whose end must not overtake it.
        let gate = (route == HitlRoute::Choice && matches!(&sent, Some((Ok(_), _)))).then(|| {
            let (gates, call) = (&peer.order.gates, &request.request_id);
            gates.gate_behind_question(session.id(), call, None)
        });
        // Sent here and not in the task, so that it precedes the end of its turn.
        let sent = sent.map(|(message, wire)| message.map(|message| wire.send_request(message)));
        let withdrawn = CancellationToken::new();
        let handle = sent.as_ref().and_then(|sent| sent.as_ref().ok());
        let question = SentQuestion {
            sent: handle.map(|sent| sent.cancellation_handle()),
            _waiting: withdrawn.clone().drop_guard(),
        };
        self.questions
            .put
            .insert(request.request_id.clone(), question);
        let asked = session.asked_client();
        self.peer.spawn(async move {
            if let Some(client) = asked {
                let put_to = hitl::permission_route(&request, client);
                session.record_route(put_to).await;
            }
            let Some(sent) = sent else { return };
            if let Some(response) = wait_for_response(sent, withdrawn, &peer).await {
                let reviewer = peer.hub.principal().as_str();
                let given = hitl::interpret_answer(&route, &request, profile, reviewer, response);
                pass_on_answer(&session, &request.request_id, given, term).await;
            }
        });
        if let Some(gate) = gate {
            gate.wait_until_open().await;
        }
        Ok(())
    }
}

/// Passes on an answer. An unusable answer settles the question too: no other client is asked.
async fn pass_on_answer(session: &Seat, id: &str, given: HitlClientAnswer, term: SeatTerm) {
    let why = match given {
        HitlClientAnswer::Declined => return session.decline_hitl(id, term).await,
        HitlClientAnswer::Nothing(why) => why,
        HitlClientAnswer::Answer(response) => match session.hitl_respond(*response, term).await {
            // The question is settled or another client is asked. If this principal has decided already, the
            // question waits for the others.
            Ok(_) | Err(HitlError::Unknown(_) | HitlError::Closed | HitlError::Twice(_)) => return,
            Err(error) => error.to_string(),
        },
    };
    session.report_hitl_unavailable(id, why, term).await;
}
