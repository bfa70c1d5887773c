//! The threads that are followed for a client, and the questions that wait for its decision.

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

/// The maximum number of queued requests of a thread.
const INBOX: usize = 64;

/// The threads of a client, shared by the reading loop and the tasks of the threads.
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
    pub(crate) fn has_thread(&self, thread: &SessionId) -> bool {
        let open = self.lock();
        open.threads.get(thread).is_some_and(|it| !it.is_closed())
    }

    /// Adds a thread that was just created.
    pub(crate) fn add_thread(&self, thread: SessionId) -> mpsc::Receiver<ThreadRequest> {
        let (inbox, requests) = mpsc::channel(INBOX);
        self.lock().threads.insert(thread, inbox);
        requests
    }

    /// Removes a thread whose task accepts no more requests, but not a newer task of it.
    pub(crate) fn remove_if_closed(&self, thread: &SessionId) {
        let mut open = self.lock();
        if open
            .threads
            .get(thread)
            .is_some_and(mpsc::Sender::is_closed)
        {
            open.threads.remove(thread);
        }
    }

    /// Adds a question that waits for a decision.
    pub(crate) fn add_ask(&self, ask: AskId, thread: SessionId) {
        self.lock().asks.insert(ask, thread);
    }

    /// Removes a question that is settled.
    pub(crate) fn remove_ask(&self, ask: &AskId) {
        self.lock().asks.remove(ask);
    }

    /// Removes all questions of a thread.
    pub(crate) fn remove_asks_of(&self, thread: &SessionId) {
        self.lock().asks.retain(|_, asking| asking != thread);
    }

    /// Returns the thread of an open question.
    pub(crate) fn thread_of_ask(&self, ask: &AskId) -> Option<SessionId> {
        self.lock().asks.get(ask).cloned()
    }
}

/// Sends a request to its thread, and opens the thread if necessary.
pub(crate) fn send_or_open(
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
            Err(TrySendError::Full(_)) => return Err(ThreadsError::too_many_requests()),
            // The task has just ended; this request opens the thread again.
            Err(TrySendError::Closed(request)) => request,
        },
    };
    let (inbox, requests) = mpsc::channel(INBOX);
    // A new inbox has room.
    let _ = inbox.try_send(request);
    open.threads.insert(thread.clone(), inbox);
    drop(open);
    let opening = thread::open(peer.clone(), thread.clone(), requests, place);
    peer.tasks.spawn(opening);
    Ok(())
}
