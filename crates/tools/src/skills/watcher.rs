//! One file system watcher for all workspaces: notifies subscribers when something changes in a folder. It reports no
//! details; a subscriber looks at the folder itself.

use std::{
    collections::{BTreeSet, HashMap},
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use notify::{Config, Event, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;

use super::walk::WatchInterest;
use crate::lock::lock;

/// How many folders are watched in all; the system limits their number.
const MAX_FOLDERS: usize = 8192;

/// Watches folders while there are subscribers.
#[derive(Default)]
pub(super) struct SkillWatcher {
    interests: Arc<Mutex<SubscriberTable>>,
    eyes: Mutex<WatcherState>,
}

#[derive(Default)]
enum WatcherState {
    #[default]
    Closed,
    Open(RecommendedWatcher),
    /// The system offers no watcher; logged once.
    Blind,
}

#[derive(Default)]
struct SubscriberTable {
    folders: HashMap<PathBuf, Vec<WatchSubscriber>>,
    by_whom: HashMap<u64, FolderSet>,
}

struct WatchSubscriber {
    who: u64,
    /// If set, only changes to this name in the folder matter.
    name: Option<OsString>,
    wake: Arc<Notify>,
}

impl SkillWatcher {
    /// Replaces the interests of a subscriber. Changes before this call may be unreported. Blocks.
    pub(super) fn set_interests(&self, who: u64, wanted: &[WatchInterest], wake: &Arc<Notify>) {
        let mut eyes = lock(&self.eyes);
        let (gone, wanted) = lock(&self.interests).replace(who, wanted, wake);
        self.open(&mut eyes);
        let WatcherState::Open(watcher) = &mut *eyes else {
            return;
        };
        // The lock on the interests is released here: the watcher's thread, which must answer, may be waiting for it.
        for gone in &gone {
            // An error means that it is not watched, as intended.
            let _ = watcher.unwatch(gone);
        }
        for folder in &wanted {
            // Also if it is watched already: it may be another folder of the same name.
            if let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive)
                && matches!(error.kind, notify::ErrorKind::MaxFilesWatch)
            {
                tracing::warn!(
                    "the system cannot watch more folders: changed skills are read at the next turn"
                );
                break;
            }
        }
    }

    /// Removes a subscriber. Blocks.
    pub(super) fn forget(&self, who: u64) {
        let mut eyes = lock(&self.eyes);
        let (gone, nobody_left) = {
            let mut interests = lock(&self.interests);
            (interests.remove(who), interests.folders.is_empty())
        };
        if let WatcherState::Open(watcher) = &mut *eyes {
            for gone in &gone {
                let _ = watcher.unwatch(gone);
            }
            if nobody_left {
                *eyes = WatcherState::Closed;
            }
        }
    }

    fn open(&self, eyes: &mut WatcherState) {
        if !matches!(eyes, WatcherState::Closed) {
            return;
        }
        let interests = self.interests.clone();
        let listener = move |event: notify::Result<Event>| match event {
            // Reading a file is no change, and our own passes would raise events.
            Ok(event) if event.kind.is_access() => {}
            Ok(event) if event.need_rescan() => lock(&interests).wake_all(),
            Ok(event) => event
                .paths
                .iter()
                .for_each(|path| lock(&interests).wake(path)),
            Err(_) => lock(&interests).wake_all(),
        };
        *eyes = match RecommendedWatcher::new(listener, Config::default()) {
            Ok(watcher) => WatcherState::Open(watcher),
            Err(error) => {
                tracing::warn!("changed skills are read only at the next turn: {error}");
                WatcherState::Blind
            }
        };
    }
}

type FolderSet = BTreeSet<PathBuf>;

impl SubscriberTable {
    /// Replaces the interests of a subscriber. Returns the folders without subscribers, and those of this subscriber.
    fn replace(
        &mut self,
        who: u64,
        wanted: &[WatchInterest],
        wake: &Arc<Notify>,
    ) -> (FolderSet, FolderSet) {
        let mut gone = self.remove(who);
        let mut own = FolderSet::new();
        for (folder, name) in wanted {
            if self.folders.len() >= MAX_FOLDERS && !self.folders.contains_key(folder) {
                continue;
            }
            let interested = WatchSubscriber {
                who,
                name: name.clone(),
                wake: wake.clone(),
            };
            let all = self.folders.entry(folder.clone()).or_default();
            all.push(interested);
            own.insert(folder.clone());
            gone.remove(folder);
        }
        self.by_whom.insert(who, own.clone());
        (gone, own)
    }

    /// Removes a subscriber; returns the folders without subscribers.
    fn remove(&mut self, who: u64) -> FolderSet {
        let mut gone = self.by_whom.remove(&who).unwrap_or_default();
        gone.retain(|folder| {
            let Some(all) = self.folders.get_mut(folder) else {
                return false;
            };
            all.retain(|one| one.who != who);
            let nobody = all.is_empty();
            if nobody {
                self.folders.remove(folder);
            }
            nobody
        });
        gone
    }

    /// Notifies the subscribers of a changed path: those of its name in the parent folder, and those of the folder
    /// itself, which may have been replaced.
    fn wake(&self, path: &Path) {
        let itself = self.folders.get(path).into_iter().flatten();
        let above = path.parent().and_then(|folder| self.folders.get(folder));
        let named = above.into_iter().flatten().filter(|interested| {
            let name = interested.name.as_deref();
            name.is_none_or(|name| path.file_name() == Some(name))
        });
        for interested in itself.chain(named) {
            interested.wake.notify_one();
        }
    }

    fn wake_all(&self) {
        let all = self.folders.values().flatten();
        all.for_each(|interested| interested.wake.notify_one());
    }
}
