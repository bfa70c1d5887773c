//! `turn.cancel`: stops the turn that runs. Where none does there is nothing to do, which is fine.

use std::sync::Arc;

use harn_model::SessionId;
use harn_runtime::Act;
use serde_json::Value;

use super::{Refused, hand};
use crate::{
    ThreadsError,
    connection::{Peer, Reply},
    from_wire,
    thread::{ThreadTask, Wanted},
    wire::Done,
};

pub(crate) async fn handle(
    peer: &Arc<Peer>,
    params: Option<Value>,
    reply: Reply,
) -> Result<(), Refused> {
    let thread: SessionId = match from_wire::turn_cancel(params) {
        Ok(params) => params.thread_id.into(),
        Err(error) => return Err((reply, error)),
    };
    if peer.registry.has(&thread) || peer.hub.live(&thread).is_some() {
        return hand(peer, &thread, Wanted::Cancel, reply).await;
    }
    // Nothing runs in a thread that is not open; it is not opened to be told so.
    let place = peer.disk().await;
    let peer = peer.clone();
    peer.clone().tasks.spawn(async move {
        let known = peer.hub.has(&thread).await;
        let done = known.then_some(Done::YES);
        let done = done.ok_or(ThreadsError::ThreadNotFound);
        // A client that is gone waits for nothing.
        let _ = peer.answer(&reply, done).await;
        drop(place);
    });
    Ok(())
}

impl ThreadTask {
    /// Binds to one turn, and no other: a late cancel must not reach the next one.
    pub(crate) async fn cancel(&mut self) -> Result<Done, ThreadsError> {
        if let Some(turn) = self.seat.session().cancel_target() {
            let driver = self.seat.drive(Act::Steer, None)?;
            driver.cancel(turn).await;
        }
        Ok(Done::YES)
    }
}
