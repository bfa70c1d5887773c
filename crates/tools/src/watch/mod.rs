//! Watches the files of a folder and reports changes in bursts.
//!
//! Each watch has two threads: the system's watcher, which receives events, and a scanner, which reads the disk.
//! Both sleep while nothing happens and end with the watch. Folders are watched one by one, so that none is spent
//! on ignored ones.

mod burst;
mod changes;
mod error;
mod pattern;
mod scanner;

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

use burst::{ChangeBurst, WatchState};
pub use error::WatchError;
pub(crate) use pattern::GlobPattern;
use scanner::WatchScanner;

/// The most events that wait for the scanner.
const MAX_HEARD: usize = 8192;

/// A watch on files; it ends when dropped.
pub struct FileWatch {
    shared: Arc<WatchState>,
    burst: ChangeBurst,
    stop: Arc<AtomicBool>,
    wake: SyncSender<WatchSignal>,
}

enum WatchSignal {
    Event(notify::Result<Event>),
    /// Check the stop flag.
    Wake,
}

impl FileWatch {
    /// Watches the files of `root` that match `glob`, a path relative to `root` with `*`, `?`, `[ab]` and `{a,b}`
    /// in a name and `**` for any folders.
    ///
    /// As in a search, it skips ignored files and does not follow links. It also skips hidden files, unless the
    /// glob names one, and always `.git`. It is no error if no file matches yet. Blocks: walks the folder.
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
            .map_err(|error| WatchError::System(error::describe(&error)))?;
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

    /// Returns the files that match now, below the root as it was named. The caller must check which of them it may
    /// disclose.
    pub fn files(&self) -> Vec<PathBuf> {
        self.shared.file_paths()
    }

    /// Waits for the next changes: from the first until 50 ms without a change, or until 500 ms have passed.
    ///
    /// Related changes are one event: a file that was created and written is created, one that was created and
    /// removed is not reported, one that was replaced by another is modified. Changes that could not be tracked are
    /// reported in an event of kind `other` with an error. Cancel safe; changes between two calls are returned by
    /// the next.
    pub async fn changed(&mut self) -> Vec<FsWatchEvent> {
        self.burst.next(&self.shared).await
    }
}

impl Drop for FileWatch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // If the queue is full, the scanner wakes up anyway.
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

/// Creates the callback of the system's watcher. It must not block: the scanner waits for that thread when it adds
/// a folder.
fn listener(
    wake: SyncSender<WatchSignal>,
    missed: Arc<AtomicBool>,
) -> impl FnMut(notify::Result<Event>) + Send + 'static {
    move |event| {
        // Opening or closing a file is no change, and our own walks would cause events.
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
                // One scan of everything replaces all queued events, and is faster.
                while self.heard.try_recv().is_ok() {}
                scout.rescan();
                continue;
            }
            match heard {
                WatchSignal::Event(event) => scout.handle(event),
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
                .add(|pending| pending.record_failure(None, "Error", text));
        }
    }
}
