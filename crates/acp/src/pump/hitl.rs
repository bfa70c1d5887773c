//! What a person is asked, on its way to one client: put in the way the client has, and taken back when it
//! is settled.

use std::sync::Arc;

use harn_model::HitlRequest;
use harn_runtime::{Controller, HitlError};
use tokio_util::sync::CancellationToken;

use super::{Pump, Question};
use crate::{
    ext,
    hitl::{self, Given, Route},
    transport::Disconnected,
};

impl Pump {
    /// Puts everything that is open to a client that has come to it.
    pub(super) async fn put_open(&mut self) -> Result<(), Disconnected> {
        for request in self.attached.session.open_hitl() {
            self.put(request).await?;
        }
        Ok(())
    }

    /// Asks the client, off this task: a parked question must not hold up the session's updates.
    pub(super) async fn put(&mut self, request: Arc<HitlRequest>) -> Result<(), Disconnected> {
        // One that was open when this client came may also be on its way in the stream.
        if self.put.contains_key(&request.request_id) {
            return Ok(());
        }
        let peer = self.peer.clone();
        let session = self.attached.session.clone();
        // Others may be able to answer; whoever wanted the turn is told that they are not.
        let mine = self.attached.is_mine(Some(&request.turn));
        let route = hitl::route(&request, peer.facts(), peer.client_name(), mine);
        if route == Route::Bridge {
            self.send(ext::hitl::requested(session.id(), &request))
                .await?;
        }
        if let Route::Nobody(why) = &route
            && mine
        {
            let (why, id) = (why.clone(), request.request_id.clone());
            self.peer.spawn(async move {
                session.hitl_unavailable(&id, why).await;
            });
            return Ok(());
        }
        let message = hitl::message(&route, session.id(), &request);
        let wire = self.peer.wire().cloned();
        // Sent here and not in the task, so that it comes before the end of its turn.
        let sent = message.zip(wire);
        let sent = sent.map(|(message, wire)| message.map(|message| wire.send_request(message)));
        let withdrawn = CancellationToken::new();
        let handle = sent.as_ref().and_then(|sent| sent.as_ref().ok());
        let question = Question {
            sent: handle.map(|sent| sent.cancellation_handle()),
            _waiting: withdrawn.clone().drop_guard(),
        };
        self.put.insert(request.request_id.clone(), question);
        if let Route::Nobody(_) = route {
            return Ok(());
        }
        self.peer.spawn(async move {
            let put_to = hitl::put_to(&request, peer.client_name(), session.now());
            session.routed(put_to).await;
            let Some(sent) = sent else { return };
            let response = async {
                match sent {
                    Ok(sent) => sent.block_task().await,
                    Err(error) => Err(error),
                }
            };
            let response = tokio::select! {
                () = withdrawn.cancelled() => return,
                response = response => response,
            };
            // Leaving is no answer: others may be looking at the question, or come to it.
            if response.is_err() && peer.has_left() {
                return;
            }
            let given = hitl::given(&route, &request, peer.client_name(), response);
            take(&session, &request.request_id, given, mine).await;
        });
        Ok(())
    }
}

/// Hands an answer on. What is none leaves the question to others, unless there is nobody else to ask.
async fn take(session: &Controller, id: &str, given: Given, mine: bool) {
    let why = match given {
        Given::Declined => return session.hitl_declined(id).await,
        Given::Nothing(why) => why,
        Given::Answer(response) => match session.hitl_respond(*response).await {
            // Somebody was faster, or nobody asks any more.
            Ok(_) | Err(HitlError::Unknown(_) | HitlError::Closed) => return,
            Err(error) => error.to_string(),
        },
    };
    if mine {
        session.hitl_unavailable(id, why).await;
    }
}
