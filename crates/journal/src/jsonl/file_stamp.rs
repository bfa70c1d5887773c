//! What a listing compares to find out whether a file changed: its time, length and number, without reading it.

use std::{
    fmt,
    fs::Metadata,
    str::FromStr,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use harn_model::Timestamp;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SessionFileStamp {
    /// Nanoseconds since 1970; zero for a time before.
    modified: u64,
    len: u64,
    number: u64,
}

/// A file that changed within this time before the listing may change again without a new time: some file systems
/// store whole seconds.
const TICK: Duration = Duration::from_secs(2);

impl SessionFileStamp {
    pub(super) fn of(file: &Metadata) -> Self {
        // A clock that was set before 1970 is no reason to hide a session.
        let modified = file.modified().ok();
        let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified = modified.unwrap_or_default().as_nanos();
        Self {
            modified: u64::try_from(modified).unwrap_or(u64::MAX),
            len: file.len(),
            number: file_number(file),
        }
    }

    /// Returns when the file last changed.
    pub(super) fn updated(&self) -> Timestamp {
        self.modified / 1_000_000
    }

    /// Whether the file changed so shortly before `now` that a later change could have the same stamp.
    pub(super) fn is_fresh(&self, now: SystemTime) -> bool {
        let modified = UNIX_EPOCH + Duration::from_nanos(self.modified);
        now.duration_since(modified).is_ok_and(|age| age < TICK) || modified > now
    }
}

impl fmt::Display for SessionFileStamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.modified, self.len, self.number)
    }
}

impl FromStr for SessionFileStamp {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut numbers = text.split(':').map(str::parse);
        let mut next = || numbers.next().and_then(Result::ok).ok_or(());
        Ok(Self {
            modified: next()?,
            len: next()?,
            number: next()?,
        })
    }
}

/// Returns the number of a file, which a file that replaces it does not have.
#[cfg(unix)]
fn file_number(file: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(file)
}

/// Returns zero: this system has no such number.
#[cfg(not(unix))]
fn file_number(_: &Metadata) -> u64 {
    0
}
