//! `thread.list`: every thread there is, whoever created it.

use std::{cmp::Reverse, collections::HashSet, sync::Arc};

use harn_runtime::{SessionFilter, SessionSummary};
use serde_json::Value;

use super::Refused;
use crate::{
    ThreadsError,
    connection::{Peer, Reply},
    from_wire,
    replay::UNTITLED,
    thread::of_session,
    wire::{Thread, ThreadListResult, ThreadTime},
};

pub(crate) fn handle(peer: &Arc<Peer>, params: Option<Value>, reply: Reply) -> Result<(), Refused> {
    if let Err(error) = from_wire::thread_list(params) {
        return Err((reply, error));
    }
    let peer = peer.clone();
    peer.clone().tasks.spawn(async move {
        let place = peer.disk().await;
        let listed = list(&peer).await;
        drop(place);
        // A client that is gone waits for nothing.
        let _ = peer.answer(&reply, listed).await;
    });
    Ok(())
}

async fn list(peer: &Peer) -> Result<ThreadListResult, ThreadsError> {
    let mut threads = Vec::new();
    let mut seen = HashSet::new();
    let mut after = None;
    loop {
        let page = peer.hub.list(SessionFilter::default(), after).await?;
        let rows = page.sessions.into_iter().map(|row| row.summary);
        // A thread that changes meanwhile may be on two pages.
        let rows = rows.filter(|row| seen.insert(row.meta.thread_id.clone()));
        threads.extend(rows.map(|row| thread(peer, row)));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    threads.sort_by_cached_key(|thread| {
        let time = thread.time;
        Reverse((time.updated, time.created, thread.thread_id.clone()))
    });
    Ok(ThreadListResult { threads })
}

fn thread(peer: &Peer, summary: SessionSummary) -> Thread {
    let meta = summary.meta;
    // What is open here may know more than the disk has yet.
    if let Some(session) = peer.hub.live(&meta.thread_id) {
        return of_session(&session);
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
