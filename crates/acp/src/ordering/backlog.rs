//! Limits a client that sends requests and never reads: the SDK's queue of answers is unbounded.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::Notify;

/// The most bytes of requests that are read while an answer cannot be queued. A thousand small requests.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// The least that a request counts, for its answer.
const REQUEST_BYTES: usize = 4 * 1024;

/// The bytes of requests since an answer was last queued.
#[derive(Default)]
pub(super) struct Backlog {
    asked: AtomicUsize,
    /// An answer waits for room, so the client is not reading.
    stuck: AtomicBool,
    moved: Notify,
}

impl Backlog {
    /// Counts a line from the client; first waits while its answers pile up.
    pub(super) async fn wait_and_count(&self, bytes: usize) {
        loop {
            // Created before the check, so that no notification in between is missed.
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

    /// Runs the future that queues an answer, and resets the count.
    pub(super) async fn queue_answer<T>(&self, queueing: impl Future<Output = T>) -> T {
        self.stuck.store(true, Ordering::Release);
        let queued = queueing.await;
        self.asked.store(0, Ordering::Release);
        self.stuck.store(false, Ordering::Release);
        self.moved.notify_waiters();
        queued
    }
}
