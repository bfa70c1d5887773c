//! The methods, one file each: how it reads its params, where it runs, and what the task of the thread does.

pub(crate) mod approval_respond;
pub(crate) mod initialize;
pub(crate) mod thread_create;
pub(crate) mod thread_get;
pub(crate) mod thread_list;
pub(crate) mod turn_cancel;
pub(crate) mod turn_start;

use std::sync::Arc;

use harn_model::SessionId;

use crate::{
    ThreadsError,
    connection::{ReplyTarget, ThreadsPeer},
    registry,
    thread::{ThreadAction, ThreadRequest},
};

/// Sends a request to the task of its thread. If the thread must be opened, waits for the permission to use the
/// disk.
async fn hand(
    peer: &Arc<ThreadsPeer>,
    thread: &SessionId,
    wanted: ThreadAction,
    reply: ReplyTarget,
) -> Result<(), ThreadsError> {
    let place = match peer.registry.has(thread) {
        true => None,
        false => peer.disk().await,
    };
    registry::hand(peer, thread, ThreadRequest { wanted, reply }, place)
}
