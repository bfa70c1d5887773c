//! The serving surface on one screen: a row a method, each saying where it runs.

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

/// Has a request carried out. Waits for the client to take what is told to it, and for the disk where much
/// is asked of it; for no thread.
#[rustfmt::skip]
pub(crate) async fn handle(peer: &Arc<ThreadsPeer>, call: RpcCall) -> Result<(), ClientDisconnected> {
    let RpcCall { id, method, params } = call;
    let reply = ReplyTarget(id);
    let handled = match method.as_str() {
        // In the loop, at once.
        "initialize"       => return peer.answer(&reply, initialize::handle(peer, params)).await,
        // Beside the loop: they look at the disk.
        "thread.create"    => thread_create::handle(peer, params, reply.clone()).await,
        "thread.list"      => thread_list::handle(peer, params, reply.clone()).await,
        // In the thread's own task, in the order they came.
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
