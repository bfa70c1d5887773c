//! A small file in the state directory: one process at a time changes it, each write replaces it as a whole,
//! and it is read again after a change.

use std::{
    fs::{File, TryLockError},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use harn_policy::PolicyError;
use harn_tools::LinkPolicy;

use super::{
    disk::{self, KnownFile},
    display_path, to_one_line, unusable_error,
};
use crate::private;

/// How long another process may take to change the file. Short, because a session waits for it.
const PATIENCE: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(10);

/// The content of a state file.
pub(crate) trait StateFileFormat: Clone + Default + PartialEq {
    /// The error message when the file is full.
    const FULL: &'static str;

    /// Parses the text; an error names the file.
    fn parse(origin: &str, text: &str) -> Result<Self, PolicyError>;

    fn text(&self) -> String;
}

#[derive(Debug)]
pub(crate) struct StateFile<T> {
    path: PathBuf,
    known: Mutex<Option<KnownFile<T>>>,
}

impl<T: StateFileFormat> StateFile<T> {
    /// Uses the file at a path. Touches nothing.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            known: Mutex::new(None),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Calls `see` with the current content.
    pub(crate) fn read_with<R>(&self, see: impl FnOnce(&T) -> R) -> Result<R, PolicyError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let file = disk::read_if_changed(&mut known, &self.path, LinkPolicy::Refuse, |text| {
            self.parse(text)
        })?;
        Ok(match file {
            Some(file) => see(file),
            None => see(&T::default()),
        })
    }

    fn parse(&self, text: &str) -> Result<T, PolicyError> {
        T::parse(&display_path(&self.path), text).map_err(to_one_line)
    }

    /// Applies `change` to the current content on disk, not to the last one read.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> Result<R, PolicyError> {
        let _lock = self.lock()?;
        let read = disk::read(&self.path, LinkPolicy::Refuse);
        let read = read.map_err(|error| unusable_error(&self.path, error))?;
        let before = read.map(|(text, _)| self.parse(&text)).transpose()?;
        let before = before.unwrap_or_default();
        let mut file = before.clone();
        let done = change(&mut file);
        if file != before {
            let text = file.text();
            if text.len() as u64 > disk::LARGEST {
                return Err(unusable_error(&self.path, T::FULL));
            }
            disk::replace(&self.path, &text).map_err(|error| unusable_error(&self.path, error))?;
        }
        Ok(done)
    }

    /// Locks until the returned file is dropped or the process ends.
    fn lock(&self) -> Result<File, PolicyError> {
        // The lock is on a separate file, because the other one is replaced.
        let path = self.path.with_extension("lock");
        if let Some(folder) = path.parent() {
            private::make_folder(folder).map_err(|error| unusable_error(folder, error))?;
        }
        let lock =
            disk::private_file(&path, false).map_err(|error| unusable_error(&path, error))?;
        let mut waited = Duration::ZERO;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(lock),
                Err(TryLockError::WouldBlock) if waited < PATIENCE => {
                    thread::sleep(PAUSE);
                    waited += PAUSE;
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(unusable_error(&path, "another process has locked it"));
                }
                Err(TryLockError::Error(error)) => return Err(unusable_error(&path, error)),
            }
        }
    }
}
