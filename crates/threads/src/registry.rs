//! Which threads are followed for a client, and what waits for its decision.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use harn_model::{AskId, SessionId};
use tokio::sync::mpsc::{self, error::TrySendError};

use crate::{
    ThreadsError,
    connection::{DiskPermit, ThreadsPeer},
    thread::{self, ThreadRequest},
};

/// How many requests may wait for a thread.
const INBOX: usize = 64;

/// Shared by the reading loop and the tasks of the threads.
#[derive(Default)]
pub(crate) struct ThreadRegistry(Mutex<OpenThreads>);

#[derive(Default)]
struct OpenThreads {
    threads: HashMap<SessionId, mpsc::Sender<ThreadRequest>>,
    asks: HashMap<AskId, SessionId>,
}

impl ThreadRegistry {
    fn lock(&self) -> MutexGuard<'_, OpenThreads> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the thread is followed, or about to be.
    pub(crate) fn has(&self, thread: &SessionId) -> bool {
        let open = self.lock();
        open.threads.get(thread).is_some_and(|it| !it.is_closed())
    }

    /// A thread that was just created is followed.
    pub(crate) fn enter(&self, thread: SessionId) -> mpsc::Receiver<ThreadRequest> {
        let (inbox, requests) = mpsc::channel(INBOX);
        self.lock().threads.insert(thread, inbox);
        requests
    }

    /// Forgets a thread that takes no requests any more; not one that was opened after it.
    pub(crate) fn leave(&self, thread: &SessionId) {
        let mut open = self.lock();
        if open
            .threads
            .get(thread)
            .is_some_and(mpsc::Sender::is_closed)
        {
            open.threads.remove(thread);
        }
    }

    /// Something waits for a decision.
    pub(crate) fn asked(&self, ask: AskId, thread: SessionId) {
        self.lock().asks.insert(ask, thread);
    }

    /// It does not any more.
    pub(crate) fn settled(&self, ask: &AskId) {
        self.lock().asks.remove(ask);
    }

    /// Nothing waits in this thread any more.
    pub(crate) fn settled_in(&self, thread: &SessionId) {
        self.lock().asks.retain(|_, asking| asking != thread);
    }

    /// The thread where this waits for a decision.
    pub(crate) fn asking(&self, ask: &AskId) -> Option<SessionId> {
        self.lock().asks.get(ask).cloned()
    }
}

/// Hands a request to its thread, which is opened for it where it is not.
pub(crate) fn hand(
    peer: &Arc<ThreadsPeer>,
    thread: &SessionId,
    request: ThreadRequest,
    place: Option<DiskPermit>,
) -> Result<(), ThreadsError> {
    let mut open = peer.registry.lock();
    let request = match open.threads.get(thread) {
        None => request,
        Some(inbox) => match inbox.try_send(request) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Full(_)) => return Err(ThreadsError::crowded()),
            // It has just ended; what comes of this one is new.
            Err(TrySendError::Closed(request)) => request,
        },
    };
    let (inbox, requests) = mpsc::channel(INBOX);
    // There is room in an inbox that nobody knows yet.
    let _ = inbox.try_send(request);
    open.threads.insert(thread.clone(), inbox);
    drop(open);
    let opening = thread::open(peer.clone(), thread.clone(), requests, place);
    peer.tasks.spawn(opening);
    Ok(())
}
