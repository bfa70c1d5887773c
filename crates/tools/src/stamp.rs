//! The stamp of a file or folder, which shows whether it changed since it was last read.

use std::{
    fs::Metadata,
    os::unix::fs::MetadataExt as _,
    time::{Duration, SystemTime},
};

/// The longest time in which the coarsest file systems give two changes the same timestamp.
const TICK: Duration = Duration::from_secs(2);

/// Metadata that differs between two states of a file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStamp {
    place: (u64, u64),
    len: u64,
    modified: Option<SystemTime>,
    changed: (i64, i64),
}

impl FileStamp {
    /// Creates the stamp from a file's metadata.
    pub fn from_metadata(found: &Metadata) -> Self {
        Self {
            place: (found.dev(), found.ino()),
            len: found.len(),
            modified: found.modified().ok(),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }

    /// Returns whether a change after `now` would alter the stamp. False for a recent change: a second one may get
    /// the same timestamp.
    pub fn is_settled(&self, now: SystemTime) -> bool {
        let (seconds, nanos) = self.changed;
        let seconds = u64::try_from(seconds).unwrap_or_default();
        let nanos = u32::try_from(nanos).unwrap_or_default();
        let changed = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos);
        let old = |at: SystemTime| now.duration_since(at).is_ok_and(|age| age > TICK);
        self.modified.is_some_and(old) && old(changed)
    }
}
