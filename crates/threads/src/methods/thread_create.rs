//! `thread.create`: a new thread, followed from its first event.

use std::sync::Arc;

use harn_runtime::{Controller, NewSession};
use serde_json::Value;

use crate::{
    ThreadsError,
    connection::{DiskPermit, ReplyTarget, ThreadsPeer},
    from_wire, rpc,
    thread::ThreadTask,
    wire::{ThreadCreateParams, ThreadNotification, ThreadResult},
};

pub(crate) async fn handle(
    peer: &Arc<ThreadsPeer>,
    params: Option<Value>,
    reply: ReplyTarget,
) -> Result<(), ThreadsError> {
    let params = from_wire::thread_create(params)?;
    let place = peer.acquire_disk().await;
    let creating = run(peer.clone(), params, reply, place);
    peer.tasks.spawn(creating);
    Ok(())
}

async fn run(
    peer: Arc<ThreadsPeer>,
    params: ThreadCreateParams,
    reply: ReplyTarget,
    place: Option<DiskPermit>,
) {
    let task = match create(&peer, params).await {
        Ok(session) => ThreadTask::follow(&peer, session).await,
        Err(error) => Err(error),
    };
    let task = match task {
        Ok(task) => task,
        Err(error) => {
            // The client may be gone.
            let _ = peer.answer(&reply, Err::<(), _>(error)).await;
            return;
        }
    };
    // Before the client knows the thread, so that its next request finds it.
    let requests = peer.registry.add_thread(task.id().clone());
    let thread = task.thread();
    let created = ThreadNotification::ThreadCreated {
        thread_id: thread.thread_id.clone(),
        title: thread.title.clone(),
    };
    let mut out = Vec::new();
    rpc::write_notification(&created, &mut out);
    reply.write(Ok(ThreadResult { thread }), &mut out);
    let sent = peer.send(out).await;
    drop(place);
    if sent.is_ok() {
        task.run(requests).await;
    }
}

async fn create(
    peer: &ThreadsPeer,
    params: ThreadCreateParams,
) -> Result<Controller, ThreadsError> {
    let base = &peer.config.directory;
    let cwd = params.directory.map_or(base.clone(), |it| base.join(it));
    let session = peer.hub.create(NewSession {
        cwd,
        additional_directories: Vec::new(),
    });
    let session = session.await?;
    if let Some(title) = params.title {
        session.set_title(&title).await?;
    }
    Ok(session)
}
