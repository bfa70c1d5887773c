//! `thread.get`: a thread with its history up to where its stream stands, so that the stream goes on from it.

use std::sync::Arc;

use harn_model::Seq;
use harn_runtime::SessionEnd;
use serde_json::Value;

use super::hand;
use crate::{
    ThreadHistory, ThreadsError,
    connection::{ReplyTarget, ThreadsPeer},
    from_wire,
    thread::{ThreadAction, ThreadTask},
    wire::ThreadGetResult,
};

pub(crate) async fn handle(
    peer: &Arc<ThreadsPeer>,
    params: Option<Value>,
    reply: ReplyTarget,
) -> Result<(), ThreadsError> {
    let thread = from_wire::thread_get(params)?.thread_id.into();
    hand(peer, &thread, ThreadAction::Get, reply).await
}

impl ThreadTask {
    /// Reads the journal a second time, to exactly where the stream stands.
    pub(crate) async fn get(&mut self) -> Result<ThreadGetResult, ThreadsError> {
        let until = self.from.position();
        let mut history = ThreadHistory::new(self.id().clone(), self.seat.meta().created);
        let mut past = self.seat.subscribe(Seq::ZERO);
        while past.position() < until {
            let delivery = past.next().await.map_err(ended)?;
            let events = delivery.events().iter();
            let told = events.take_while(|envelope| envelope.seq <= until);
            told.for_each(|envelope| history.add(envelope));
        }
        Ok(ThreadGetResult {
            thread: self.thread(),
            events: history.finish(),
        })
    }
}

/// Why the rest of a history cannot be had.
pub(crate) fn ended(end: SessionEnd) -> ThreadsError {
    match end {
        SessionEnd::Closed => ThreadsError::closed(),
        SessionEnd::Failed(why) => ThreadsError::Internal(why.to_string()),
    }
}
