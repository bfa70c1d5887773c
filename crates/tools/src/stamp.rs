//! What tells one state of a file or folder from another, so that one which has not changed is not read again.

use std::{
    fs::Metadata,
    os::unix::fs::MetadataExt as _,
    time::{Duration, SystemTime},
};

/// How long two changes may carry the same time, on the coarsest file systems.
const TICK: Duration = Duration::from_secs(2);

/// What tells one state of a file or folder from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStamp {
    place: (u64, u64),
    len: u64,
    modified: Option<SystemTime>,
    changed: (i64, i64),
}

impl FileStamp {
    /// Of what was found.
    #[must_use]
    pub fn of(found: &Metadata) -> Self {
        Self {
            place: (found.dev(), found.ino()),
            len: found.len(),
            modified: found.modified().ok(),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }

    /// Whether a change after `now` would show: not where it is so new that its time may stay.
    #[must_use]
    pub fn is_settled(&self, now: SystemTime) -> bool {
        let (seconds, nanos) = self.changed;
        let seconds = u64::try_from(seconds).unwrap_or_default();
        let nanos = u32::try_from(nanos).unwrap_or_default();
        let changed = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos);
        let old = |at: SystemTime| now.duration_since(at).is_ok_and(|age| age > TICK);
        self.modified.is_some_and(old) && old(changed)
    }
}
