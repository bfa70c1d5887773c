//! One watcher of the system's for all workspaces: wakes who is interested when something changes in a folder. Sees
//! names only; who is woken looks for itself.

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

/// How many folders are watched in all; the system has not many to give.
const MAX_FOLDERS: usize = 8192;

/// Watches folders, once somebody is interested in one.
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
    /// The system has no watcher for us; said once.
    Blind,
}

#[derive(Default)]
struct SubscriberTable {
    folders: HashMap<PathBuf, Vec<WatchSubscriber>>,
    by_whom: HashMap<u64, FolderSet>,
}

struct WatchSubscriber {
    who: u64,
    /// Only this name in the folder matters.
    name: Option<OsString>,
    wake: Arc<Notify>,
}

impl SkillWatcher {
    /// What somebody is interested in from now on, in the place of what was before. What changed until now, nobody
    /// may have told. Blocks.
    pub(super) fn set(&self, who: u64, wanted: &[WatchInterest], wake: &Arc<Notify>) {
        let mut eyes = lock(&self.eyes);
        let (gone, wanted) = lock(&self.interests).replace(who, wanted, wake);
        self.open(&mut eyes);
        let WatcherState::Open(watcher) = &mut *eyes else {
            return;
        };
        // The interests are not held here: the watcher's thread, which has to answer, may be waiting for them.
        for gone in &gone {
            // An error means that it is not watched, which is what is wanted.
            let _ = watcher.unwatch(gone);
        }
        for folder in &wanted {
            // Always, even if it is watched: it may be another folder of the same name.
            if let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive)
                && matches!(error.kind, notify::ErrorKind::MaxFilesWatch)
            {
                tracing::warn!(
                    "the system watches no more folders: changed skills are seen at the next turn"
                );
                break;
            }
        }
    }

    /// Somebody is interested in nothing any more. Blocks.
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
            // That a file was read is no change, and our own passes would be heard.
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
                tracing::warn!("changed skills are seen at the next turn only: {error}");
                WatcherState::Blind
            }
        };
    }
}

type FolderSet = BTreeSet<PathBuf>;

impl SubscriberTable {
    /// Returns the folders that matter to nobody any more, and those that matter to this one.
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

    /// Forgets somebody; returns the folders that matter to nobody any more.
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

    /// Something happened at a path: to one name in a folder, or to the folder that it is, which may be another now.
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
