//! Between the thread that sees changes and the task that waits for them: a bounded set, and how long a burst lasts.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    pin::Pin,
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use harn_model::FsWatchEvent;
use tokio::{
    sync::Notify,
    time::{Sleep, sleep},
};

use super::pending::UnreportedChanges;
use crate::lock::lock;

/// How long it must be quiet before a burst counts as over.
const SETTLE: Duration = Duration::from_millis(50);

/// How long a burst may last before it is told in pieces.
const LIMIT: Duration = Duration::from_millis(500);

/// What both sides see.
pub(super) struct WatchState {
    /// As the caller names it, which is how changes are told.
    root: PathBuf,
    pending: Mutex<UnreportedChanges>,
    came: Notify,
    /// Those that match, by their paths from the root.
    files: Mutex<BTreeSet<PathBuf>>,
}

impl WatchState {
    pub(super) fn new(root: PathBuf) -> Self {
        Self {
            root,
            pending: Mutex::default(),
            came: Notify::new(),
            files: Mutex::default(),
        }
    }

    /// Adds changes, and wakes who waits if there are any.
    pub(super) fn add(&self, change: impl FnOnce(&mut UnreportedChanges)) {
        let mut pending = lock(&self.pending);
        change(&mut pending);
        if pending.fresh() {
            self.came.notify_one();
        }
    }

    /// The files that match.
    pub(super) fn files(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        lock(&self.files)
    }

    /// The files that match, as changes of them are told.
    pub(super) fn named(&self) -> Vec<PathBuf> {
        let files = self.files();
        files.iter().map(|path| self.root.join(path)).collect()
    }
}

/// A burst being gathered. Kept between calls, so that a caller who is called away again and again still gets it.
#[derive(Default)]
pub(super) struct ChangeBurst(Option<BurstTimers>);

struct BurstTimers {
    settle: Pin<Box<Sleep>>,
    limit: Pin<Box<Sleep>>,
}

impl ChangeBurst {
    /// The next changes, once they settled. Cancel safe: nothing is taken before the last await is over.
    pub(super) async fn next(&mut self, shared: &WatchState) -> Vec<FsWatchEvent> {
        loop {
            while lock(&shared.pending).is_empty() {
                shared.came.notified().await;
            }
            let timers = self.0.get_or_insert_with(|| BurstTimers {
                settle: Box::pin(sleep(SETTLE)),
                limit: Box::pin(sleep(LIMIT)),
            });
            loop {
                tokio::select! {
                    biased;
                    () = &mut timers.limit => break,
                    () = shared.came.notified() => timers.settle = Box::pin(sleep(SETTLE)),
                    () = &mut timers.settle => break,
                }
            }
            self.0 = None;
            let events = lock(&shared.pending).take(&shared.root);
            // A file that came and went leaves nothing to tell.
            if !events.is_empty() {
                return events;
            }
        }
    }
}

#[cfg(test)]
mod tests;
