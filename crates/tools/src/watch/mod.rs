//! Files of a folder, watched: who waits is told what changed, in bursts.
//!
//! Two threads a watch: the system's watcher, which hears, and a scout, which looks. Both sleep while nothing happens
//! and end with the watch. Folders are watched one by one, so that none is spent on ignored ones.

mod error;
mod gather;
mod pattern;
mod pending;
mod scout;

use std::{
    fmt, fs,
    path::{self, Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

use harn_model::FsWatchEvent;
use notify::{Config, Event, RecommendedWatcher, Watcher};

pub use error::WatchError;
use gather::{ChangeBurst, WatchState};
pub(crate) use pattern::GlobPattern;
use scout::WatchScanner;

/// How much may be heard and not yet looked at.
const MAX_HEARD: usize = 8192;

/// Files being watched, until it is dropped.
pub struct FileWatch {
    shared: Arc<WatchState>,
    burst: ChangeBurst,
    stop: Arc<AtomicBool>,
    wake: SyncSender<WatchSignal>,
}

enum WatchSignal {
    Event(notify::Result<Event>),
    /// Look whether to stop.
    Wake,
}

impl FileWatch {
    /// Watches the files of `root` that match `glob`, a path from `root` with `*`, `?`, `[ab]` and `{a,b}` in a name
    /// and `**` for any folders.
    ///
    /// As in a search, ignored files are passed over and links are not followed. So are hidden files, unless the glob
    /// names one, and `.git` always. That nothing matches yet is no error. Walks the folder: call it where blocking
    /// is fine.
    pub fn start(root: &Path, glob: &str) -> Result<Self, WatchError> {
        let refused = |error: std::io::Error| WatchError::Root {
            root: root.to_owned(),
            problem: error.to_string(),
        };
        let named = path::absolute(root).map_err(refused)?;
        let pattern = GlobPattern::parse(glob, &named)?;
        let real = fs::canonicalize(root).map_err(refused)?;
        fs::read_dir(&real).map_err(refused)?;

        let (wake, heard) = sync_channel(MAX_HEARD);
        let stop = Arc::new(AtomicBool::new(false));
        let missed = Arc::new(AtomicBool::new(false));
        let shared = Arc::new(WatchState::new(named));
        let listener = listener(wake.clone(), missed.clone());
        let config = Config::default().with_follow_symlinks(false);
        let watcher = RecommendedWatcher::new(listener, config)
            .map_err(|error| WatchError::System(error::words(&error)))?;
        let scout = WatchScanner::start(
            real,
            pattern,
            Box::new(watcher),
            shared.clone(),
            stop.clone(),
        )?;
        let work = WatchThread {
            heard,
            missed,
            stop: stop.clone(),
            shared: shared.clone(),
        };
        thread::Builder::new()
            .name("harn-watch".to_owned())
            .spawn(move || work.run(scout))
            .map_err(|error| WatchError::System(error.to_string()))?;
        Ok(Self {
            shared,
            burst: ChangeBurst::default(),
            stop,
            wake,
        })
    }

    /// The files that match now, below the root as it was named. Not all of them may be anybody's business.
    pub fn files(&self) -> Vec<PathBuf> {
        self.shared.named()
    }

    /// Waits for the next changes: from the first until it was quiet for 50 ms, or 500 ms have passed.
    ///
    /// What belongs together is one event: a file that was created and written is created, one that came and went is
    /// not told of, one that was replaced by another is modified. Changes that could not be followed are told in an
    /// event of kind `other` with an error. Cancel safe; what changes between two calls is kept for the next.
    pub async fn changed(&mut self) -> Vec<FsWatchEvent> {
        self.burst.next(&self.shared).await
    }
}

impl Drop for FileWatch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // If it is full, the scout has something to wake up for.
        let _ = self.wake.try_send(WatchSignal::Wake);
    }
}

impl fmt::Debug for FileWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("FileWatch");
        shown
            .field("files", &self.shared.files().len())
            .finish_non_exhaustive()
    }
}

/// What the system's watcher calls. It must not block: the scout waits for that thread when it adds a folder.
fn listener(
    wake: SyncSender<WatchSignal>,
    missed: Arc<AtomicBool>,
) -> impl FnMut(notify::Result<Event>) + Send + 'static {
    move |event| {
        // That a file was opened or closed is no change, and our own walks would be heard.
        if event.as_ref().is_ok_and(|event| event.kind.is_access()) {
            return;
        }
        if wake.try_send(WatchSignal::Event(event)).is_err() {
            missed.store(true, Ordering::Relaxed);
        }
    }
}

struct WatchThread {
    heard: Receiver<WatchSignal>,
    missed: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    shared: Arc<WatchState>,
}

impl WatchThread {
    fn run(self, mut scout: WatchScanner) {
        while let Ok(heard) = self.heard.recv() {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            if self.missed.swap(false, Ordering::Relaxed) {
                // One look at everything is as good as all that waits, and sooner done.
                while self.heard.try_recv().is_ok() {}
                scout.look_again();
                continue;
            }
            match heard {
                WatchSignal::Event(event) => scout.hear(event),
                WatchSignal::Wake => {}
            }
        }
    }
}

impl Drop for WatchThread {
    fn drop(&mut self) {
        if !self.stop.load(Ordering::Relaxed) {
            let text = "the watch ended by itself; watch again".to_owned();
            self.shared
                .add(|pending| pending.trouble(None, "Error", text));
        }
    }
}
