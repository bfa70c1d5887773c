//! One client connection: reads requests in order, and queues output in order.
//!
//! The loop that reads waits for no thread. Disk work runs in tasks of its own; requests to a thread go to the
//! task that follows it.

use std::{path::PathBuf, sync::Arc};

use harn_lines::{ClientDisconnected, IncomingLine, OutgoingSender};
use harn_runtime::{BoxFuture, Hub};
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    ThreadsError,
    registry::ThreadRegistry,
    router,
    rpc::{self, RpcRequestId},
};

/// The configuration of a client's connection.
#[derive(Clone, Debug)]
pub struct ThreadsConfig {
    /// The absolute working directory of threads that name none; relative ones begin here.
    pub directory: PathBuf,
    /// Whether this is the only client: the turns that run when it disconnects are then cancelled, and their ends
    /// sent, instead of continuing without it.
    pub alone: bool,
    /// The version of the program, for `serverInfo`.
    pub version: String,
}

/// The maximum number of concurrent disk tasks of one client. Above it, the client waits.
const AT_ONCE: usize = 32;

/// The permission for one disk task.
pub(crate) type DiskPermit = OwnedSemaphorePermit;

/// A client, as its tasks see it.
pub(crate) struct ThreadsPeer {
    pub(crate) hub: Hub,
    pub(crate) config: ThreadsConfig,
    pub(crate) outgoing: OutgoingSender,
    pub(crate) registry: ThreadRegistry,
    pub(crate) tasks: TaskTracker,
    /// Cancelled when the input has ended.
    pub(crate) ended: CancellationToken,
    /// The name of the client on its sessions.
    pub(crate) name: String,
    disk: Arc<Semaphore>,
}

/// The id of the request to answer; `None` for a notification.
#[derive(Clone, Debug)]
pub(crate) struct ReplyTarget(pub(crate) Option<RpcRequestId>);

impl ReplyTarget {
    /// Adds the answer, unless the message was a notification.
    pub(crate) fn write<T: Serialize>(&self, result: Result<T, ThreadsError>, out: &mut Vec<u8>) {
        match (&self.0, result) {
            (Some(id), result) => rpc::write_answer(id, result, out),
            (None, Ok(_)) => {}
            (None, Err(error)) => tracing::debug!(%error, "a notification failed"),
        }
    }
}

impl ThreadsPeer {
    pub(crate) async fn answer<T: Serialize>(
        &self,
        reply: &ReplyTarget,
        result: Result<T, ThreadsError>,
    ) -> Result<(), ClientDisconnected> {
        let mut out = Vec::new();
        reply.write(result, &mut out);
        self.send(out).await
    }

    /// Runs disk work in a task of its own, which answers with the result.
    pub(crate) async fn answer_in_task<T: Serialize + Send>(
        self: &Arc<Self>,
        reply: ReplyTarget,
        work: impl Future<Output = Result<T, ThreadsError>> + Send + 'static,
    ) {
        let (peer, place) = (self.clone(), self.acquire_disk().await);
        self.tasks.spawn(async move {
            // The client may be gone.
            let _ = peer.answer(&reply, work.await).await;
            drop(place);
        });
    }

    pub(crate) async fn send(&self, lines: Vec<u8>) -> Result<(), ClientDisconnected> {
        match lines.is_empty() {
            true => Ok(()),
            false => self.outgoing.send(lines).await,
        }
    }

    /// Returns the permission for a disk task. Callers request it before they start the task, and release it after
    /// the answer: a client that reads no answers starts no more tasks.
    pub(crate) async fn acquire_disk(&self) -> Option<DiskPermit> {
        // The semaphore is never closed.
        self.disk.clone().acquire_owned().await.ok()
    }
}

/// Serves one client until its input ends and its requests are answered. Turns continue unless
/// [`ThreadsConfig::alone`] is set; the hub stays open.
pub fn serve_connection(
    hub: Hub,
    config: ThreadsConfig,
    mut incoming: mpsc::Receiver<IncomingLine>,
    outgoing: OutgoingSender,
) -> BoxFuture<'static, Result<(), ClientDisconnected>> {
    Box::pin(async move {
        let name = format!("threads-{}", hub.number_connection());
        let peer = Arc::new(ThreadsPeer {
            hub,
            config,
            outgoing,
            registry: ThreadRegistry::default(),
            tasks: TaskTracker::new(),
            ended: CancellationToken::new(),
            name,
            disk: Arc::new(Semaphore::new(AT_ONCE)),
        });
        // Also when this future is dropped: no task may write after that.
        let ended = peer.ended.clone().drop_guard();
        loop {
            let line = tokio::select! {
                line = incoming.recv() => line,
                () = peer.outgoing.closed() => return Err(ClientDisconnected),
            };
            let Some(line) = line else { break };
            match rpc::read(line) {
                Ok(Some(call)) => router::handle(&peer, call).await?,
                Ok(None) => tracing::debug!("ignored an answer; the server has sent no request"),
                Err(refused) => {
                    let mut out = Vec::new();
                    rpc::write_error(refused.id.as_ref(), &refused.error, &mut out);
                    peer.send(out).await?;
                }
            }
        }
        drop(ended);
        peer.tasks.close();
        tokio::select! {
            () = peer.tasks.wait() => Ok(()),
            () = peer.outgoing.closed() => Err(ClientDisconnected),
        }
    })
}
