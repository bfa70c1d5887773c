//! `turn.cancel`: cancels the named turn, or the running one. A turn that has ended needs no cancel.

use std::sync::Arc;

use harn_model::{SessionId, TurnId};
use harn_runtime::DriverAction;
use serde_json::Value;

use super::send_to_thread;
use crate::{
    ThreadsError,
    connection::{ReplyTarget, ThreadsPeer},
    from_wire,
    thread::{ThreadAction, ThreadTask},
    wire::OkResult,
};

pub(crate) async fn handle(
    peer: &Arc<ThreadsPeer>,
    params: Option<Value>,
    reply: ReplyTarget,
) -> Result<(), ThreadsError> {
    let params = from_wire::turn_cancel(params)?;
    let thread: SessionId = params.thread_id.into();
    let turn: Option<TurnId> = params.turn_id.map(Into::into);
    // Only the log of a thread contains its past turns.
    if turn.is_some()
        || peer.registry.has_thread(&thread)
        || peer.hub.live_session(&thread).is_some()
    {
        return send_to_thread(peer, &thread, ThreadAction::Cancel(turn), reply).await;
    }
    // Nothing runs in a thread that is not open, so it is not opened for this.
    let hub = peer.hub.clone();
    let done = async move {
        let known = hub.has(&thread).await.then_some(OkResult::YES);
        known.ok_or(ThreadsError::ThreadNotFound)
    };
    peer.answer_in_task(reply, done).await;
    Ok(())
}

impl ThreadTask {
    /// Cancels the named turn, or the running one. Bound to one turn: a late cancel must not reach the next one.
    pub(crate) async fn cancel(&mut self, turn: Option<TurnId>) -> Result<OkResult, ThreadsError> {
        let running = self.seat.cancel_target();
        let target = match turn {
            None => running,
            Some(turn) if self.has_turn(&turn) => running.and(Some(turn)),
            Some(_) => return Err(ThreadsError::TurnNotFound),
        };
        if let Some(turn) = target {
            let driver = self.seat.drive(DriverAction::Steer, None)?;
            driver.cancel(turn).await;
        }
        Ok(OkResult::YES)
    }
}
