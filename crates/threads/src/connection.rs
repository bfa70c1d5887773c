//! One client on its lines: what it asks for is read in order, what is told to it is queued in order.
//!
//! The loop that reads waits for no thread. What touches the disk runs beside it; what belongs to a thread
//! goes to the task that follows it.

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

/// How to serve a client.
#[derive(Clone, Debug)]
pub struct ThreadsConfig {
    /// Where threads work that do not say where; absolute.
    pub directory: PathBuf,
    /// Whether nobody else is served: turns that run when the client leaves are cancelled, and their ends
    /// told, instead of going on without it.
    pub alone: bool,
    /// The version of the program, for `serverInfo`.
    pub version: String,
}

/// How much may touch the disk at once for one client: what is over it waits, and the client with it.
const AT_ONCE: usize = 32;

/// A place among those who touch the disk.
pub(crate) type DiskPermit = OwnedSemaphorePermit;

/// A client, as those see it who work for it.
pub(crate) struct ThreadsPeer {
    pub(crate) hub: Hub,
    pub(crate) config: ThreadsConfig,
    pub(crate) outgoing: OutgoingSender,
    pub(crate) registry: ThreadRegistry,
    pub(crate) tasks: TaskTracker,
    /// The input has ended.
    pub(crate) ended: CancellationToken,
    /// What the client is called where it takes a seat.
    pub(crate) name: String,
    disk: Arc<Semaphore>,
}

/// Whom to answer; nobody where it was a notification.
#[derive(Clone, Debug)]
pub(crate) struct ReplyTarget(pub(crate) Option<RpcRequestId>);

impl ReplyTarget {
    /// Adds the line, if there is to be one.
    pub(crate) fn write<T: Serialize>(&self, result: Result<T, ThreadsError>, out: &mut Vec<u8>) {
        match (&self.0, result) {
            (Some(id), result) => rpc::write_answer(id, result, out),
            (None, Ok(_)) => {}
            (None, Err(error)) => tracing::debug!(%error, "a notification was not carried out"),
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

    /// Answers with what comes of something that touches the disk, and does not wait for it.
    pub(crate) async fn answer_beside<T: Serialize + Send>(
        self: &Arc<Self>,
        reply: ReplyTarget,
        work: impl Future<Output = Result<T, ThreadsError>> + Send + 'static,
    ) {
        let (peer, place) = (self.clone(), self.disk().await);
        self.tasks.spawn(async move {
            // A client that is gone waits for nothing.
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

    /// A place among those who touch the disk. Taken before a task is started for it, and kept until the
    /// client has its answer: one that reads none starts no more of them.
    pub(crate) async fn disk(&self) -> Option<DiskPermit> {
        // It is never closed.
        self.disk.clone().acquire_owned().await.ok()
    }
}

/// Serves one client until its input ends and what it asked for is answered. Turns go on; does not shut the
/// hub down.
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
        // Also when this is given up in the middle: nobody may go on writing then.
        let ended = peer.ended.clone().drop_guard();
        loop {
            let line = tokio::select! {
                line = incoming.recv() => line,
                () = peer.outgoing.closed() => return Err(ClientDisconnected),
            };
            let Some(line) = line else { break };
            match rpc::read(line) {
                Ok(Some(call)) => router::handle(&peer, call).await?,
                Ok(None) => tracing::debug!("ignored an answer; nothing was asked"),
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
