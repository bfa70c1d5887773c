//! All methods on one screen: one row each, with where it runs.

use std::sync::Arc;

use harn_lines::ClientDisconnected;

use crate::{
    ThreadsError,
    connection::{ReplyTarget, ThreadsPeer},
    methods::{
        approval_respond, initialize, thread_create, thread_get, thread_list, turn_cancel,
        turn_start,
    },
    rpc::RpcCall,
};

pub(crate) const METHODS: [&str; 7] = [
    "initialize",
    "thread.create",
    "thread.list",
    "thread.get",
    "turn.start",
    "turn.cancel",
    "approval.respond",
];

/// Dispatches a request. Waits for the client to take its output, and for the disk if many tasks use it; never for
/// a thread.
#[rustfmt::skip]
pub(crate) async fn handle(peer: &Arc<ThreadsPeer>, call: RpcCall) -> Result<(), ClientDisconnected> {
    let RpcCall { id, method, params } = call;
    let reply = ReplyTarget(id);
    let handled = match method.as_str() {
        // In the loop, at once.
        "initialize"       => return peer.answer(&reply, initialize::handle(peer, params)).await,
        // In tasks of their own: they use the disk.
        "thread.create"    => thread_create::handle(peer, params, reply.clone()).await,
        "thread.list"      => thread_list::handle(peer, params, reply.clone()).await,
        // In the task of the thread, in the order of arrival.
        "thread.get"       => thread_get::handle(peer, params, reply.clone()).await,
        "turn.start"       => turn_start::handle(peer, params, reply.clone()).await,
        "turn.cancel"      => turn_cancel::handle(peer, params, reply.clone()).await,
        "approval.respond" => approval_respond::handle(peer, params, reply.clone()).await,
        _                  => Err(ThreadsError::MethodNotFound),
    };
    match handled {
        Ok(()) => Ok(()),
        Err(error) => peer.answer(&reply, Err::<(), _>(error)).await,
    }
}
