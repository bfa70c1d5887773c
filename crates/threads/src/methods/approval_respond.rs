//! `approval.respond`: a decision. The answer follows the notification that the decision was taken.

use std::sync::Arc;

use harn_model::{AskId, Decision};
use harn_runtime::DriverAction;
use serde_json::Value;

use super::send_to_thread;
use crate::{
    ThreadsError,
    connection::{ReplyTarget, ThreadsPeer},
    from_wire,
    thread::{ThreadAction, ThreadTask},
    wire::{ApprovalDecision, ApprovalReply},
};

pub(crate) async fn handle(
    peer: &Arc<ThreadsPeer>,
    params: Option<Value>,
    reply: ReplyTarget,
) -> Result<(), ThreadsError> {
    let params = from_wire::approval_respond(params)?;
    let ask: AskId = params.request_id.into();
    let thread = peer.registry.thread_of_ask(&ask);
    let thread = thread.ok_or(ThreadsError::ApprovalNotFound)?;
    send_to_thread(
        peer,
        &thread,
        ThreadAction::Decide(ask, params.decision),
        reply,
    )
    .await
}

impl ThreadTask {
    /// Sends a decision, and returns the reply that is notified if this decision counts.
    pub(crate) async fn decide(
        &mut self,
        ask: &AskId,
        decide: ApprovalDecision,
    ) -> Result<ApprovalReply, ThreadsError> {
        // It is settled, as the client knows or will know soon.
        let open = self.seat.open_asks();
        let is_open = open.iter().any(|open| open.ask_id == *ask);
        let options = self.projector.options(ask).filter(|_| is_open);
        let options = options.ok_or(ThreadsError::ApprovalNotFound)?;
        let (decision, reply) = from_wire::decision(decide, options)?;
        self.answer(ask.clone(), decision).await?;
        if decide == ApprovalDecision::Reject {
            // A rejection rejects everything that the thread asks at the moment.
            for other in open.iter().filter(|open| open.ask_id != *ask) {
                let (decision, _) = from_wire::decision(ApprovalDecision::Reject, &other.options)?;
                self.answer(other.ask_id.clone(), decision).await?;
            }
        }
        Ok(reply)
    }

    async fn answer(&self, ask: AskId, decision: Decision) -> Result<(), ThreadsError> {
        self.seat.drive(DriverAction::Answer, None)?;
        let (Some(term), _) = self.seat.answering_term() else {
            let why = "control of this thread is changing; try again";
            return Err(ThreadsError::Internal(why.to_owned()));
        };
        self.seat.answer(ask, decision, term).await;
        Ok(())
    }
}
