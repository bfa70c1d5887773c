//! The state between the thread that detects changes and the task that waits for them: a bounded set, and the end
//! of a burst.

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

use super::changes::UnreportedChanges;
use crate::lock::lock;

/// The quiet time after which a burst is over.
const SETTLE: Duration = Duration::from_millis(50);

/// The longest burst; a longer one is reported in pieces.
const LIMIT: Duration = Duration::from_millis(500);

/// The state shared by both sides.
pub(super) struct WatchState {
    /// The root as the caller names it; reported paths begin with it.
    root: PathBuf,
    pending: Mutex<UnreportedChanges>,
    came: Notify,
    /// The matching files, as paths relative to the root.
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

    /// Adds changes and wakes the waiting task if there are any.
    pub(super) fn add(&self, change: impl FnOnce(&mut UnreportedChanges)) {
        let mut pending = lock(&self.pending);
        change(&mut pending);
        if pending.take_fresh() {
            self.came.notify_one();
        }
    }

    /// Returns the matching files.
    pub(super) fn files(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        lock(&self.files)
    }

    /// Returns the matching files, with paths as in reported changes.
    pub(super) fn file_paths(&self) -> Vec<PathBuf> {
        let files = self.files();
        files.iter().map(|path| self.root.join(path)).collect()
    }
}

/// A burst of changes in progress. It persists between calls, so that a caller that is cancelled repeatedly still
/// receives it.
#[derive(Default)]
pub(super) struct ChangeBurst(Option<BurstTimers>);

struct BurstTimers {
    settle: Pin<Box<Sleep>>,
    limit: Pin<Box<Sleep>>,
}

impl ChangeBurst {
    /// Returns the next changes once they settled. Cancel safe: nothing is taken before the last await is over.
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
            // A file that was created and removed leaves nothing to report.
            if !events.is_empty() {
                return events;
            }
        }
    }
}

#[cfg(test)]
mod tests;
