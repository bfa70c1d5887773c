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
async fn send_to_thread(
    peer: &Arc<ThreadsPeer>,
    thread: &SessionId,
    wanted: ThreadAction,
    reply: ReplyTarget,
) -> Result<(), ThreadsError> {
    let place = match peer.registry.has_thread(thread) {
        true => None,
        false => peer.acquire_disk().await,
    };
    registry::send_or_open(peer, thread, ThreadRequest { wanted, reply }, place)
}
