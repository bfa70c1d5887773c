//! The state of a watch: its watched folders and the matching files. For each event it reads the disk and records
//! the result, so late, duplicate and missing events do no harm.
//!
//! Runs on its own thread, because it blocks. Reads names only, never the content of a file.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use notify::{
    Event, EventKind, RecursiveMode, Watcher,
    event::{ModifyKind, RemoveKind, RenameMode},
};

use super::{WatchError, burst::WatchState, error, pattern::GlobPattern};
use crate::workspace::{GIT, IgnoreRules, Workspace};

/// The most matching files that a watch tracks.
pub(super) const MAX_FILES: usize = 100_000;

/// How often a folder is walked again because folders appeared in it meanwhile.
const MAX_WALKS: usize = 8;

/// The watched folders and the matching files, by paths relative to the root.
pub(super) struct WatchScanner {
    /// The real path, which the system uses in events.
    root: PathBuf,
    pattern: GlobPattern,
    rules: Option<IgnoreRules>,
    watcher: Box<dyn Watcher + Send>,
    folders: BTreeSet<PathBuf>,
    /// Files in folders that new rules included. If such a folder is new, its creation event has not arrived.
    unheard: BTreeSet<PathBuf>,
    /// Contains the matching files.
    shared: Arc<WatchState>,
    stop: Arc<AtomicBool>,
}

#[derive(Default)]
struct ScannedPaths {
    folders: BTreeSet<PathBuf>,
    files: BTreeSet<PathBuf>,
}

/// The meaning of a difference between the disk and the known state.
#[derive(Clone, Copy, PartialEq)]
enum ScanReason {
    Start,
    Change(EventKind),
    /// The rules changed: they select other files.
    Rules,
}

impl WatchScanner {
    /// Begins to watch. `root` is a real path.
    pub(super) fn start(
        root: PathBuf,
        pattern: GlobPattern,
        watcher: Box<dyn Watcher + Send>,
        shared: Arc<WatchState>,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, WatchError> {
        let mut scout = Self {
            root,
            pattern,
            rules: None,
            watcher,
            folders: BTreeSet::new(),
            unheard: BTreeSet::new(),
            shared,
            stop,
        };
        scout.reconcile(Path::new(""), ScanReason::Start)?;
        Ok(scout)
    }

    /// Handles an event or an error of the system.
    pub(super) fn handle(&mut self, heard: notify::Result<Event>) {
        match heard {
            Ok(event) if event.need_rescan() => self.rescan(),
            Ok(event) => self.handle_event(&event),
            Err(error) => {
                let path = error
                    .paths
                    .first()
                    .and_then(|path| self.relative_path(path));
                let words = error::describe(&error);
                let text = format!("the system's file watcher reported an error: {words}");
                self.shared
                    .add(|pending| pending.record_failure(path.as_deref(), "Error", text));
            }
        }
    }

    /// Scans everything again after events were lost.
    pub(super) fn rescan(&mut self) {
        self.shared.add(|pending| pending.record_missed());
        self.scan_folder(Path::new(""), ScanReason::Change(EventKind::Other));
    }

    fn handle_event(&mut self, event: &Event) {
        let paths: Vec<_> = event
            .paths
            .iter()
            .filter_map(|path| self.relative_path(path))
            .collect();
        if let (EventKind::Modify(ModifyKind::Name(RenameMode::Both)), [from, to]) =
            (event.kind, paths.as_slice())
        {
            // The system also sent an event for each name.
            self.shared.add(|pending| pending.record_rename(from, to));
            return;
        }
        for path in &paths {
            self.handle_path(path, event.kind);
        }
    }

    /// Handles a change at `path` by reading its current state.
    fn handle_path(&mut self, path: &Path, kind: EventKind) {
        let inside = is_content_change(kind);
        let rules = is_rules_file(path);
        if inside && !rules && !self.is_known(path) && !self.pattern.matches(path) {
            return;
        }
        if rules && !matches!(kind, EventKind::Modify(ModifyKind::Metadata(_))) {
            self.scan_folder(path.parent().unwrap_or(path), ScanReason::Rules);
        }
        if kind.is_remove() {
            self.shared.add(|pending| pending.record_removal(path));
        }
        let found = fs::symlink_metadata(self.absolute_path(path)).ok();
        let folder = found.as_ref().is_some_and(fs::Metadata::is_dir);
        let file = found.is_some_and(|found| found.is_file());
        if self.folders.contains(path) && (!folder || is_departure(kind)) {
            self.forget(path, kind);
        }
        if folder && !inside {
            self.scan_folder(path, ScanReason::Change(kind));
        }
        if path.as_os_str().is_empty() {
            if !folder {
                let text = "the watched folder no longer exists; watch it again later".to_owned();
                self.shared
                    .add(|pending| pending.record_failure(None, &format!("{kind:?}"), text));
            }
            return;
        }
        let is = file && self.pattern.matches(path) && !self.is_ignored(path, false);
        self.record_file(path, is, kind);
    }

    /// Records whether a matching file exists.
    fn record_file(&mut self, path: &Path, is: bool, kind: EventKind) {
        self.unheard.remove(path);
        let was = if is {
            if self.is_full() && !self.is_known(path) {
                return self.shared.add(|pending| pending.record_missed());
            }
            !self.shared.files().insert(path.to_owned())
        } else {
            self.shared.files().remove(path)
        };
        if was || is {
            // The set is updated first, so that a caller that receives the change finds the file in it.
            self.shared
                .add(|pending| pending.touch(path, was, is, kind));
        }
    }

    /// Removes a folder that has gone, and its content.
    fn forget(&mut self, folder: &Path, kind: EventKind) {
        for path in paths_below(&self.folders, folder) {
            self.unwatch(&path);
        }
        let files = paths_below(&self.shared.files(), folder);
        for path in files {
            self.record_file(&path, false, kind);
        }
    }

    /// Watches a folder that is new, or that may have changed without events; reports errors to the waiting task.
    fn scan_folder(&mut self, folder: &Path, difference: ScanReason) {
        // Rules are read once per folder, and this one may contain new ones.
        self.rules = None;
        let root = folder.as_os_str().is_empty();
        if !root && (!self.pattern.may_hold(folder) || self.is_ignored(folder, true)) {
            return;
        }
        if let Err(error) = self.reconcile(folder, difference) {
            let text = format!("{error}; until then, changes in this folder may be missed");
            self.shared
                .add(|pending| pending.record_failure(Some(folder), "Error", text));
        }
    }

    /// Updates the known state of a folder from the disk.
    fn reconcile(&mut self, folder: &Path, difference: ScanReason) -> Result<(), WatchError> {
        let known = match difference {
            ScanReason::Rules => self.folders.clone(),
            ScanReason::Start | ScanReason::Change(_) => BTreeSet::new(),
        };
        let mut found = self.walk(folder);
        // Do this first: a folder that moved without an event has one watch under two names, and removing the old
        // name after adding the new one would end it.
        for stale in paths_below(&self.folders, folder) {
            if !found.folders.contains(&stale) {
                self.unwatch(&stale);
            }
        }
        let mut seen = BTreeSet::new();
        let mut outcome = Ok(());
        for walks in 1.. {
            let new: Vec<_> = found.folders.difference(&seen).cloned().collect();
            if new.is_empty() || self.stop.load(Ordering::Relaxed) {
                break;
            }
            outcome = self.watch_all(&new);
            if outcome.is_err() {
                break;
            }
            if walks == MAX_WALKS {
                self.shared.add(|pending| pending.record_missed());
                break;
            }
            seen.extend(new);
            // Now that all folders are watched, nothing more can appear without an event.
            found = self.walk(folder);
        }
        let before = paths_below(&self.shared.files(), folder);
        for gone in before {
            if !found.files.contains(&gone) {
                self.handle_missing_file(&gone, difference);
            }
        }
        for file in found.files {
            self.handle_found_file(file, difference, &known)?;
        }
        outcome
    }

    /// Handles a known file that was not found.
    fn handle_missing_file(&mut self, file: &Path, difference: ScanReason) {
        match difference {
            ScanReason::Change(kind) => self.record_file(file, false, kind),
            // The file exists, but the rules exclude it now.
            ScanReason::Rules if self.absolute_path(file).is_file() => {
                self.shared.files().remove(file);
                self.unheard.remove(file);
            }
            ScanReason::Start | ScanReason::Rules => {
                self.record_file(file, false, EventKind::Remove(RemoveKind::Any));
            }
        }
    }

    /// Handles a file that was found; `known` are the folders that were watched before the rules changed.
    fn handle_found_file(
        &mut self,
        file: PathBuf,
        difference: ScanReason,
        known: &BTreeSet<PathBuf>,
    ) -> Result<(), WatchError> {
        if let ScanReason::Change(kind) = difference {
            if self.unheard.remove(&file) {
                self.shared.files().remove(&file);
            }
            if !self.is_known(&file) {
                self.record_file(&file, true, kind);
            }
            return Ok(());
        }
        if self.is_full() && !self.is_known(&file) {
            return Err(WatchError::TooManyFiles { limit: MAX_FILES });
        }
        let new_folder = file.parent().is_some_and(|folder| !known.contains(folder));
        let new = self.shared.files().insert(file.clone());
        if new && new_folder && difference == ScanReason::Rules {
            self.unheard.insert(file);
        }
        Ok(())
    }

    fn watch_all(&mut self, folders: &[PathBuf]) -> Result<(), WatchError> {
        for (done, folder) in folders.iter().enumerate() {
            let full = self.absolute_path(folder);
            // Even if the path is watched: it may be another folder of the same name.
            if let Err(error) = self.watcher.watch(&full, RecursiveMode::NonRecursive) {
                match error.kind {
                    notify::ErrorKind::MaxFilesWatch => {
                        let left = &folders[done..];
                        let left = left.iter().filter(|folder| !self.folders.contains(*folder));
                        return Err(WatchError::TooManyFolders {
                            folders: self.folders.len() + left.count(),
                            watched: self.folders.len(),
                        });
                    }
                    // Gone again, or not readable: a walk skips such folders too.
                    notify::ErrorKind::PathNotFound => continue,
                    notify::ErrorKind::Io(error) if is_inaccessible(&error) => continue,
                    _ => return Err(WatchError::System(error::describe(&error))),
                }
            }
            self.folders.insert(folder.clone());
            // The system follows links, and one may have replaced the folder after the walk.
            if fs::canonicalize(&full).is_ok_and(|real| real != full) {
                self.unwatch(folder);
            }
        }
        Ok(())
    }

    fn unwatch(&mut self, folder: &Path) {
        if self.folders.remove(folder) {
            // An error means that it is not watched, which is the goal.
            let _ = self.watcher.unwatch(&self.absolute_path(folder));
        }
    }

    fn walk(&self, folder: &Path) -> ScannedPaths {
        let mut walked = ScannedPaths::default();
        let builder = Workspace::new(&self.root)
            .build_matching_walk(&self.absolute_path(folder), &self.pattern);
        for entry in builder.build().filter_map(Result::ok) {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let Some(path) = self.relative_path(entry.path()) else {
                continue;
            };
            match entry.file_type() {
                Some(kind) if kind.is_dir() => walked.folders.insert(path),
                Some(kind) if kind.is_file() && self.pattern.matches(&path) => {
                    walked.files.insert(path)
                }
                _ => false,
            };
        }
        walked
    }

    fn is_ignored(&mut self, path: &Path, folder: bool) -> bool {
        if path.iter().any(|part| part == GIT) {
            return true;
        }
        let hidden = self.pattern.hidden_files();
        let rules = self
            .rules
            .get_or_insert_with(|| IgnoreRules::new(&self.root, hidden));
        rules.leaves_out_with_folders(path, folder)
    }

    fn absolute_path(&self, path: &Path) -> PathBuf {
        // Joining an empty path would append a `/`.
        if path.as_os_str().is_empty() {
            self.root.clone()
        } else {
            self.root.join(path)
        }
    }

    fn relative_path(&self, path: &Path) -> Option<PathBuf> {
        path.strip_prefix(&self.root).ok().map(Path::to_owned)
    }

    fn is_known(&self, file: &Path) -> bool {
        self.shared.files().contains(file)
    }

    fn is_full(&self) -> bool {
        self.shared.files().len() >= MAX_FILES
    }
}

/// Returns the paths in a folder, including itself; paths sort by their parts, so they are contiguous.
fn paths_below(paths: &BTreeSet<PathBuf>, folder: &Path) -> Vec<PathBuf> {
    let from = paths.range(folder.to_owned()..);
    from.take_while(|path| path.starts_with(folder))
        .cloned()
        .collect()
}

/// Returns whether only the content or metadata changed.
fn is_content_change(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_))
    )
}

/// Returns whether an entry left its path, regardless of what is there now.
fn is_departure(kind: EventKind) -> bool {
    let from = EventKind::Modify(ModifyKind::Name(RenameMode::From));
    kind.is_remove() || kind == from
}

fn is_rules_file(path: &Path) -> bool {
    let name = path.file_name();
    name.is_some_and(|name| name == ".gitignore" || name == ".ignore")
}

fn is_inaccessible(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    matches!(error.kind(), NotFound | NotADirectory | PermissionDenied)
}

#[cfg(test)]
mod tests;
