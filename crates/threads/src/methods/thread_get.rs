//! `thread.get`: a thread with its history up to the position of its stream, which continues from there.

use std::sync::Arc;

use harn_model::Seq;
use harn_runtime::SessionEnd;
use serde_json::Value;

use super::send_to_thread;
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
    send_to_thread(peer, &thread, ThreadAction::Get, reply).await
}

impl ThreadTask {
    /// Reads the journal again, exactly up to the position of the stream.
    pub(crate) async fn get(&mut self) -> Result<ThreadGetResult, ThreadsError> {
        let until = self.from.position();
        let mut history = ThreadHistory::new(self.id().clone(), self.seat.meta().created);
        let mut past = self.seat.subscribe(Seq::ZERO);
        while past.position() < until {
            let delivery = past.next().await.map_err(session_end_error)?;
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

/// Returns the error for a session that ended.
pub(crate) fn session_end_error(end: SessionEnd) -> ThreadsError {
    match end {
        SessionEnd::Closed => ThreadsError::thread_closed(),
        SessionEnd::Failed(why) => ThreadsError::Internal(why.to_string()),
    }
}
