//! The file of grants: changed by one process at a time, replaced as a whole, read again when it changed.

use std::{
    fs::{File, TryLockError},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use harn_model::{Grant, Timestamp};
use harn_policy::{GrantFile, PolicyError};

use super::{
    disk::{self, Links, Stamp},
    in_a_line, now, place, unusable,
};

/// Its name in the state directory.
const FILE: &str = "grants.toml";
/// Whoever changes the file holds a lock on this one, which stays: the file itself is replaced.
const LOCK: &str = "grants.lock";
/// How long somebody else may take to change the file. A session waits for it, so not long.
const PATIENCE: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(10);

/// See the module.
#[derive(Debug)]
pub(crate) struct Grants {
    path: PathBuf,
    known: Mutex<Option<Known>>,
}

#[derive(Debug)]
struct Known {
    stamp: Stamp,
    settled: bool,
    file: GrantFile,
}

impl Grants {
    /// Those in a state directory. Touches nothing.
    pub(crate) fn new(state_dir: &Path) -> Self {
        Self {
            path: state_dir.join(FILE),
            known: Mutex::new(None),
        }
    }

    /// Where they are kept.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// All of them, with when they were given, the oldest first.
    pub(crate) fn all(&self) -> Result<Vec<(Grant, Timestamp)>, PolicyError> {
        self.look(|file| file.grants.clone())
    }

    /// Those of a workspace.
    pub(super) fn of(&self, workspace: &Path) -> Result<Vec<Grant>, PolicyError> {
        let workspace = workspace.to_string_lossy();
        self.look(|file| {
            let here = file.grants.iter().filter(|(g, _)| g.workspace == workspace);
            here.map(|(grant, _)| grant.clone()).collect()
        })
    }

    /// Keeps one; one that is there already stays as it is.
    pub(super) fn remember(&self, grant: &Grant, at: Timestamp) -> Result<(), PolicyError> {
        self.change(|file| {
            // An id is short: two grants may have the same.
            if !file.grants.iter().any(|(other, _)| other == grant) {
                file.grants.push((grant.clone(), at));
            }
        })
    }

    /// Forgets those that are not to stay, and returns them.
    pub(crate) fn forget(&self, gone: impl Fn(&Grant) -> bool) -> Result<Vec<Grant>, PolicyError> {
        // What is not there need not be locked, nor its folder made.
        if !self.look(|file| file.grants.iter().any(|(grant, _)| gone(grant)))? {
            return Ok(Vec::new());
        }
        self.change(|file| {
            let (going, staying) = std::mem::take(&mut file.grants)
                .into_iter()
                .partition(|(grant, _)| gone(grant));
            file.grants = staying;
            let going: Vec<(Grant, Timestamp)> = going;
            going.into_iter().map(|(grant, _)| grant).collect()
        })
    }

    fn look<T>(&self, see: impl FnOnce(&GrantFile) -> T) -> Result<T, PolicyError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = disk::stamp(&self.path, Links::Refuse);
        let Some(stamp) = stamp.map_err(|error| unusable(&self.path, error))? else {
            return Ok(see(&GrantFile::default()));
        };
        match &*known {
            Some(known) if known.settled && known.stamp == stamp => Ok(see(&known.file)),
            _ => {
                let at = now();
                let Some((file, stamp)) = self.read()? else {
                    return Ok(see(&GrantFile::default()));
                };
                let seen = see(&file);
                let settled = stamp.is_settled(at);
                *known = Some(Known {
                    stamp,
                    settled,
                    file,
                });
                Ok(seen)
            }
        }
    }

    fn read(&self) -> Result<Option<(GrantFile, Stamp)>, PolicyError> {
        let read = disk::read(&self.path, Links::Refuse);
        match read.map_err(|error| unusable(&self.path, error))? {
            Some((text, stamp)) => {
                let file = GrantFile::parse(&place(&self.path), &text).map_err(in_a_line)?;
                Ok(Some((file, stamp)))
            }
            None => Ok(None),
        }
    }

    /// Changes the file as it is now, not as it was last seen.
    fn change<T>(&self, change: impl FnOnce(&mut GrantFile) -> T) -> Result<T, PolicyError> {
        let _lock = self.lock()?;
        let before = self.read()?.map(|(file, _)| file).unwrap_or_default();
        let mut file = before.clone();
        let done = change(&mut file);
        if file != before {
            let text = file.text();
            if text.len() as u64 > disk::LARGEST {
                let full = "it is full; forget some with `harn-serve grants revoke`";
                return Err(unusable(&self.path, full));
            }
            disk::replace(&self.path, &text).map_err(|error| unusable(&self.path, error))?;
        }
        Ok(done)
    }

    /// The lock goes with the file that is returned, and with the process.
    fn lock(&self) -> Result<File, PolicyError> {
        let path = self.path.with_file_name(LOCK);
        if let Some(folder) = path.parent() {
            disk::private_folder(folder).map_err(|error| unusable(folder, error))?;
        }
        let lock = disk::private_file(&path, false).map_err(|error| unusable(&path, error))?;
        let mut waited = Duration::ZERO;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(lock),
                Err(TryLockError::WouldBlock) if waited < PATIENCE => {
                    thread::sleep(PAUSE);
                    waited += PAUSE;
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(unusable(&path, "another process holds it"));
                }
                Err(TryLockError::Error(error)) => return Err(unusable(&path, error)),
            }
        }
    }
}
