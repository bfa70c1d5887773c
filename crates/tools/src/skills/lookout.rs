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

use super::{library::lock, walk::Interest};

/// How many folders are watched for one workspace; the system has not many to give.
const MAX_FOLDERS: usize = 4096;

/// Watches folders, once somebody is interested in one.
#[derive(Default)]
pub(super) struct Lookout {
    interests: Arc<Mutex<Interests>>,
    eyes: Mutex<Eyes>,
}

#[derive(Default)]
enum Eyes {
    #[default]
    Closed,
    Open(RecommendedWatcher),
    /// The system has no watcher for us; said once.
    Blind,
}

#[derive(Default)]
struct Interests(HashMap<PathBuf, Vec<Interested>>);

struct Interested {
    who: u64,
    /// Only this name in the folder matters.
    name: Option<OsString>,
    wake: Arc<Notify>,
}

impl Lookout {
    /// What somebody is interested in from now on, in the place of what was before. Says whether folders are
    /// watched that were not. Blocks.
    pub(super) fn set(&self, who: u64, wanted: &[Interest], wake: &Arc<Notify>) -> bool {
        let mut eyes = lock(&self.eyes);
        let (before, after) = lock(&self.interests).replace(who, wanted, wake);
        self.open(&mut eyes);
        let Eyes::Open(watcher) = &mut *eyes else {
            return false;
        };
        // The interests are not held here: the watcher's thread, which has to answer, may be waiting for them.
        for gone in before.difference(&after) {
            // An error means that it is not watched, which is what is wanted.
            let _ = watcher.unwatch(gone);
        }
        for folder in &after {
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
        after.difference(&before).next().is_some()
    }

    /// Somebody is interested in nothing any more. Blocks.
    pub(super) fn forget(&self, who: u64) {
        let mut eyes = lock(&self.eyes);
        let (before, after) = lock(&self.interests).remove(who);
        if let Eyes::Open(watcher) = &mut *eyes {
            for gone in before.difference(&after) {
                let _ = watcher.unwatch(gone);
            }
            if after.is_empty() {
                *eyes = Eyes::Closed;
            }
        }
    }

    fn open(&self, eyes: &mut Eyes) {
        if !matches!(eyes, Eyes::Closed) {
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
            Ok(watcher) => Eyes::Open(watcher),
            Err(error) => {
                tracing::warn!("changed skills are seen at the next turn only: {error}");
                Eyes::Blind
            }
        };
    }
}

type Folders = BTreeSet<PathBuf>;

impl Interests {
    /// Folders that were watched and those that are to be, after somebody's interests changed.
    fn replace(&mut self, who: u64, wanted: &[Interest], wake: &Arc<Notify>) -> (Folders, Folders) {
        let (before, _) = self.remove(who);
        for (folder, name) in wanted {
            if self.0.len() >= MAX_FOLDERS && !self.0.contains_key(folder) {
                continue;
            }
            let interested = Interested {
                who,
                name: name.clone(),
                wake: wake.clone(),
            };
            self.0.entry(folder.clone()).or_default().push(interested);
        }
        (before, self.folders())
    }

    fn remove(&mut self, who: u64) -> (Folders, Folders) {
        let before = self.folders();
        for interested in self.0.values_mut() {
            interested.retain(|one| one.who != who);
        }
        self.0.retain(|_, interested| !interested.is_empty());
        (before, self.folders())
    }

    fn folders(&self) -> Folders {
        self.0.keys().cloned().collect()
    }

    /// Something happened at a path: in its folder, or to the folder that it is.
    fn wake(&self, path: &Path) {
        let itself = self.0.get(path).into_iter().flatten();
        let above = path.parent().and_then(|folder| self.0.get(folder));
        let named = above.into_iter().flatten().filter(|interested| {
            let name = interested.name.as_deref();
            name.is_none_or(|name| path.file_name() == Some(name))
        });
        itself
            .filter(|interested| interested.name.is_none())
            .chain(named)
            .for_each(|interested| interested.wake.notify_one());
    }

    fn wake_all(&self) {
        let all = self.0.values().flatten();
        all.for_each(|interested| interested.wake.notify_one());
    }
}
