//! Unreported changes, merged: the state before the first against the state after the last.
//!
//! Bounded; an overflow is reported as missed changes. Pure: uses no disk, no clock and no thread.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

use harn_model::FsWatchEvent;
use notify::EventKind;

use crate::workspace::join_with_slashes;

/// The most changed paths until they are taken. One message reports them all.
pub(super) const MAX_PATHS: usize = 1024;

/// The most failures; they are long, and a few suffice.
const MAX_TROUBLES: usize = 8;

const MISSED: &str =
    "too many files changed at once, and some changes were missed; read the files again";

/// Changes since they were last taken. Paths are relative to the root.
#[derive(Debug, Default)]
pub(super) struct UnreportedChanges {
    touched: BTreeMap<PathBuf, FileTouch>,
    /// Maps a new path to the path before the first of these changes.
    moved: HashMap<PathBuf, PathBuf>,
    troubles: Vec<WatchFailure>,
    missed: bool,
    /// Whether changes were added since `fresh` was last called.
    fresh: bool,
}

#[derive(Debug)]
struct FileTouch {
    before: bool,
    after: bool,
    first: EventKind,
    last: EventKind,
}

#[derive(Debug, PartialEq)]
struct WatchFailure {
    path: Option<PathBuf>,
    raw: String,
    error: String,
}

impl UnreportedChanges {
    /// Records a change of a file that existed before (`was`) or exists now (`is`); at least one is true.
    pub(super) fn touch(&mut self, path: &Path, was: bool, is: bool, kind: EventKind) {
        self.fresh = true;
        if let Some(touch) = self.touched.get_mut(path) {
            touch.after = is;
            touch.last = kind;
        } else if self.touched.len() < MAX_PATHS {
            let touch = FileTouch {
                // A created file did not exist before, even if a scan found it before its creation event.
                before: was && !kind.is_create(),
                after: is,
                first: kind,
                last: kind,
            };
            self.touched.insert(path.to_owned(), touch);
        } else {
            self.missed = true;
        }
    }

    /// Records a rename of a file or a folder. It reports nothing by itself: both names are touched too.
    pub(super) fn record_rename(&mut self, from: &Path, to: &Path) {
        let origin = self.origin(from).unwrap_or_else(|| from.to_owned());
        self.moved.remove(from);
        // Above the limit a rename is reported as a removal and a creation, which is also true.
        if self.moved.len() < MAX_PATHS {
            self.moved.insert(to.to_owned(), origin);
        }
    }

    /// Records that a path was removed; the next file with this name was not moved there.
    pub(super) fn record_removal(&mut self, path: &Path) {
        self.moved.remove(path);
    }

    /// Records that changes were lost.
    pub(super) fn record_missed(&mut self) {
        self.fresh = true;
        self.missed = true;
    }

    /// Records a failure to report to the person.
    pub(super) fn record_failure(&mut self, path: Option<&Path>, raw: &str, error: String) {
        self.fresh = true;
        let trouble = WatchFailure {
            path: path.map(Path::to_owned),
            raw: raw.to_owned(),
            error,
        };
        if self.troubles.contains(&trouble) {
            return;
        }
        if self.troubles.len() < MAX_TROUBLES {
            self.troubles.push(trouble);
        } else {
            self.missed = true;
        }
    }

    /// Returns whether there is nothing to report, before merging.
    pub(super) fn is_empty(&self) -> bool {
        self.touched.is_empty() && self.troubles.is_empty() && !self.missed
    }

    /// Returns whether changes were added since the last call.
    pub(super) fn take_fresh(&mut self) -> bool {
        std::mem::take(&mut self.fresh)
    }

    /// Returns the events in the order of their paths, and resets the state.
    pub(super) fn take(&mut self, root: &Path) -> Vec<FsWatchEvent> {
        let taken = std::mem::take(self);
        let renames: BTreeMap<_, _> = taken.renames().collect();
        let sources: std::collections::HashSet<_> = renames.values().collect();
        let mut events = Vec::new();
        for (path, touch) in &taken.touched {
            let (kind, paths, raw) = match (touch.before, touch.after) {
                (false, false) => continue,
                (false, true) => match renames.get(path.as_path()) {
                    Some(from) => ("rename", vec![from.as_path(), path], RENAMED),
                    None => ("create", vec![path.as_path()], touch.first),
                },
                (true, true) => ("modify", vec![path.as_path()], touch.last),
                (true, false) if sources.contains(path) => continue,
                (true, false) => ("remove", vec![path.as_path()], touch.last),
            };
            events.push(build_event(root, kind, &paths, format!("{raw:?}"), None));
        }
        for trouble in taken.troubles {
            let paths: Vec<_> = trouble.path.as_deref().into_iter().collect();
            events.push(build_event(
                root,
                "other",
                &paths,
                trouble.raw,
                Some(trouble.error),
            ));
        }
        if taken.missed {
            let error = Some(MISSED.to_owned());
            events.push(build_event(root, "other", &[], "Rescan".to_owned(), error));
        }
        events
    }

    /// Returns files that are new at one path and gone at another, by their new paths.
    fn renames(&self) -> impl Iterator<Item = (&Path, PathBuf)> {
        self.touched
            .iter()
            .filter(|(_, touch)| !touch.before && touch.after)
            .filter_map(|(path, _)| Some((path.as_path(), self.origin(path)?)))
            .filter(|(_, from)| {
                let from = self.touched.get(from);
                from.is_some_and(|touch| touch.before && !touch.after)
            })
    }

    /// Returns the former path, if this path or a folder above it was moved.
    fn origin(&self, path: &Path) -> Option<PathBuf> {
        path.ancestors().find_map(|above| {
            let from = self.moved.get(above)?;
            let below = path.strip_prefix(above).ok()?;
            // Joining an empty path would append a `/`.
            Some(if below.as_os_str().is_empty() {
                from.clone()
            } else {
                from.join(below)
            })
        })
    }
}

const RENAMED: EventKind = EventKind::Modify(notify::event::ModifyKind::Name(
    notify::event::RenameMode::Both,
));

fn build_event(
    root: &Path,
    kind: &str,
    paths: &[&Path],
    raw_kind: String,
    error: Option<String>,
) -> FsWatchEvent {
    let absolute = |path: &&Path| root.join(path).to_string_lossy().into_owned();
    FsWatchEvent {
        kind: kind.to_owned(),
        paths: paths.iter().map(absolute).collect(),
        relative_paths: paths.iter().map(|path| join_with_slashes(path)).collect(),
        raw_kind,
        error,
    }
}

#[cfg(test)]
mod tests;
