//! Keeps a client that asks and never reads within bounds: the SDK's queue of answers has none of its own.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::Notify;

/// How much may be asked while an answer cannot be queued. A thousand small requests.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// What a request counts at least, for its answer.
const REQUEST_BYTES: usize = 4 * 1024;

/// What was asked since an answer was last queued.
#[derive(Default)]
pub(super) struct Backlog {
    asked: AtomicUsize,
    /// An answer waits for room, which means that the client is not reading.
    stuck: AtomicBool,
    moved: Notify,
}

impl Backlog {
    /// Counts a line from the client, after waiting while its answers pile up.
    pub(super) async fn take(&self, bytes: usize) {
        loop {
            // Made before the look, so that a move in between is not missed.
            let moved = self.moved.notified();
            let full = self.asked.load(Ordering::Acquire) >= MAX_BYTES;
            if !(full && self.stuck.load(Ordering::Acquire)) {
                break;
            }
            moved.await;
        }
        self.asked
            .fetch_add(bytes + REQUEST_BYTES, Ordering::AcqRel);
    }

    /// Runs the queueing of an answer.
    pub(super) async fn answer<T>(&self, queueing: impl Future<Output = T>) -> T {
        self.stuck.store(true, Ordering::Release);
        let queued = queueing.await;
        self.asked.store(0, Ordering::Release);
        self.stuck.store(false, Ordering::Release);
        self.moved.notify_waiters();
        queued
    }
}
