//! `thread.list`: all threads, whichever client created them.

use std::{cmp::Reverse, sync::Arc};

use harn_runtime::{ArchiveFilter, SessionFilter, SessionSummary};
use serde_json::Value;

use crate::{
    ThreadsError,
    connection::{ReplyTarget, ThreadsPeer},
    from_wire,
    history::UNTITLED,
    thread::describe_thread,
    wire::{Thread, ThreadListResult, ThreadTime},
};

pub(crate) async fn handle(
    peer: &Arc<ThreadsPeer>,
    params: Option<Value>,
    reply: ReplyTarget,
) -> Result<(), ThreadsError> {
    from_wire::thread_list(params)?;
    let asked = peer.clone();
    peer.answer_in_task(reply, async move { list(&asked).await })
        .await;
    Ok(())
}

async fn list(peer: &ThreadsPeer) -> Result<ThreadListResult, ThreadsError> {
    // This protocol has no request for archived threads only.
    let filter = SessionFilter {
        archived: ArchiveFilter::Include,
        ..SessionFilter::default()
    };
    let listed = peer.hub.list_all(filter).await?;
    let rows = listed.into_iter().map(|row| thread(peer, row.summary));
    let mut threads: Vec<_> = rows.collect();
    threads.sort_by_cached_key(|thread| {
        let time = thread.time;
        Reverse((time.updated, time.created, thread.thread_id.clone()))
    });
    Ok(ThreadListResult { threads })
}

fn thread(peer: &ThreadsPeer, summary: SessionSummary) -> Thread {
    let meta = summary.meta;
    // An open session may be newer than the disk.
    if let Some(session) = peer.hub.live_session(&meta.thread_id) {
        return describe_thread(&session);
    }
    Thread {
        title: match meta.title.is_empty() {
            true => UNTITLED.to_owned(),
            false => meta.title,
        },
        thread_id: meta.thread_id,
        directory: meta.directory.to_string_lossy().into_owned(),
        time: ThreadTime {
            created: meta.created,
            updated: summary.updated,
        },
    }
}
