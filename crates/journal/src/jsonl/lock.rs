//! The lock of a session: an advisory lock on `events.jsonl`, owned by the descriptor that appends. It ends with
//! the process, so a crash leaves no stale lock.

use std::{
    fs::{File, TryLockError},
    io,
    ops::Deref,
    os::unix::fs::MetadataExt,
    path::Path,
};

use harn_model::SessionId;

use super::disk;
use crate::JournalError;

/// A log that this process locked. Dropping it unlocks it at once: a command that starts at that moment has a copy of
/// the descriptor until it runs, and a lock lasts as long as any copy.
pub(super) struct LockedFile(pub(super) File);

impl Deref for LockedFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // If it fails, closing the file unlocks it.
        let _ = self.0.unlock();
    }
}

/// Opens an existing log for appending and locks it.
pub(super) fn open_locked(path: &Path, id: &SessionId) -> Result<LockedFile, JournalError> {
    let file = disk::private_file()
        .read(true)
        .append(true)
        .open(path)
        .map_err(|error| map_not_found(error, path, id))?;
    let file = lock(file, path, id)?;
    // The session may have been deleted between the open and the lock: that lock protects nothing.
    if !is_still_at(&file, path).map_err(|error| map_not_found(error, path, id))? {
        return Err(JournalError::NotFound(id.clone()));
    }
    Ok(file)
}

/// Creates a log, which must not exist, and locks it.
pub(super) fn create_locked(path: &Path, id: &SessionId) -> Result<LockedFile, JournalError> {
    let file = disk::private_file()
        .read(true)
        .append(true)
        .create_new(true)
        .open(path)
        .map_err(disk::error_at(path))?;
    lock(file, path, id)
}

/// Maps a missing file to a missing session.
pub(super) fn map_not_found(error: io::Error, path: &Path, id: &SessionId) -> JournalError {
    if error.kind() == io::ErrorKind::NotFound {
        JournalError::NotFound(id.clone())
    } else {
        disk::error_at(path)(error)
    }
}

fn lock(file: File, path: &Path, id: &SessionId) -> Result<LockedFile, JournalError> {
    match file.try_lock() {
        Ok(()) => Ok(LockedFile(file)),
        Err(TryLockError::WouldBlock) => Err(JournalError::Locked(id.clone())),
        Err(TryLockError::Error(error)) => Err(disk::error_at(path)(error)),
    }
}

/// Whether the path still leads to this file. Fails with `NotFound` if it leads nowhere.
pub(super) fn is_still_at(file: &File, path: &Path) -> io::Result<bool> {
    let (ours, there) = (file.metadata()?, std::fs::metadata(path)?);
    Ok((ours.dev(), ours.ino()) == (there.dev(), there.ino()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn dropped_log_is_unlocked_although_a_copy_of_its_descriptor_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let file = create_locked(&path, &"s1".into()).unwrap();
        let copy = file.try_clone().unwrap();
        assert!(open_locked(&path, &"s1".into()).is_err());
        drop(file);
        assert!(open_locked(&path, &"s1".into()).is_ok());
        drop(copy);
    }

    #[test]
    fn a_file_that_was_removed_or_replaced_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let file = create_locked(&path, &"s1".into()).unwrap();
        assert!(is_still_at(&file, &path).unwrap());
        fs::rename(&path, folder.path().join("elsewhere")).unwrap();
        let gone = is_still_at(&file, &path).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
        fs::write(&path, "").unwrap();
        assert!(!is_still_at(&file, &path).unwrap());
    }
}
