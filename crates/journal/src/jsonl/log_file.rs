//! One open `events.jsonl`, shared by its one writer and its readers: the descriptor, the valid length of the
//! file, and the offsets of events.

use std::{
    fs::File,
    io,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use harn_model::Seq;

use super::{disk, lock, lock::LockedFile, open_mark::OpenMark, scan::LogScan};

pub(super) struct LogFile {
    pub(super) file: LockedFile,
    pub(super) path: PathBuf,
    /// The last line without a checksum; those after it have one.
    pub(super) last_unchecked: Seq,
    /// Stored after `len`, loaded before it, so that `len` always covers it.
    last: AtomicU64,
    len: AtomicU64,
    index: Mutex<EventOffsets>,
    named: AtomicBool,
    /// Set once the path leads elsewhere; what is appended then would be lost.
    lost: AtomicBool,
    mark: Option<Arc<OpenMark>>,
}

impl LogFile {
    pub(super) fn new(file: LockedFile, path: PathBuf, found: LogScan) -> Self {
        Self {
            file,
            path,
            last_unchecked: found.last_unchecked,
            last: AtomicU64::new(found.last.0),
            len: AtomicU64::new(found.len),
            index: Mutex::new(found.index),
            named: AtomicBool::new(false),
            lost: AtomicBool::new(false),
            mark: None,
        }
    }

    /// Marks the session in an index when it changes.
    pub(super) fn with_mark(self, mark: Option<Arc<OpenMark>>) -> Self {
        Self { mark, ..self }
    }

    /// Records that the log or the facts of the session changed.
    pub(super) fn record_change(&self) {
        if let Some(mark) = &self.mark {
            mark.record_change();
        }
    }

    /// Unlocks the session, so that other processes can open it.
    pub(super) fn close(&self) -> io::Result<()> {
        // Before another process can open it.
        if let Some(mark) = &self.mark {
            mark.close();
        }
        self.file.unlock()
    }

    /// Returns the last event and the length of the file up to at least that event.
    pub(super) fn published_end(&self) -> (Seq, u64) {
        let last = self.last.load(Ordering::Acquire);
        (Seq(last), self.len.load(Ordering::Acquire))
    }

    /// Makes appended events visible to readers.
    pub(super) fn publish(&self, last: Seq, len: u64) {
        self.len.store(len, Ordering::Release);
        self.last.store(last.0, Ordering::Release);
        self.record_change();
    }

    pub(super) fn index(&self) -> MutexGuard<'_, EventOffsets> {
        // The index is consistent after each push; a panic elsewhere does not damage it.
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails once the file was found removed or replaced, also if it returns.
    pub(super) fn fail_if_lost(&self) -> io::Result<()> {
        if self.lost.load(Ordering::Acquire) {
            return Err(lost_error());
        }
        Ok(())
    }

    /// Looks whether the path still leads to this file: someone may have removed or replaced the state directory,
    /// or any folder in between.
    pub(super) fn check_place(&self) -> io::Result<()> {
        use io::ErrorKind::{NotADirectory, NotFound};
        match lock::is_still_at(&self.file, &self.path) {
            Ok(true) => return self.fail_if_lost(),
            Err(error) if !matches!(error.kind(), NotFound | NotADirectory) => return Err(error),
            Ok(false) | Err(_) => {}
        }
        self.lost.store(true, Ordering::Release);
        Err(lost_error())
    }

    /// Makes appended events survive a power failure, and the first time also the names of the session's files.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()?;
        self.check_place()?;
        if let Some(mark) = &self.mark {
            mark.renew();
        }
        if !self.named.load(Ordering::Acquire) {
            if let Some(folder) = self.path.parent() {
                File::open(folder.join(super::store::META))?.sync_all()?;
                // The session's folder, and the two that may have been created for it.
                for folder in folder.ancestors().take(3) {
                    disk::sync_folder(folder)?;
                }
            }
            self.named.store(true, Ordering::Release);
        }
        Ok(())
    }
}

fn lost_error() -> io::Error {
    io::Error::other(
        "the file was removed or replaced while the session was open, and events can no longer be stored in it; \
         put it back and open the session again, or begin a new one",
    )
}

/// The offset of every [`STRIDE`](EventOffsets::STRIDE)th event: eight bytes for hundreds of events, and a short
/// scan to any of them.
#[derive(Default)]
pub(super) struct EventOffsets(Vec<u64>);

impl EventOffsets {
    const STRIDE: u64 = 256;

    /// Whether the offset of `seq` is stored.
    pub(super) fn is_indexed(seq: Seq) -> bool {
        seq.0 % Self::STRIDE == 1
    }

    /// Stores the offset of `seq` if it is one to store. Call it for every event, in order.
    pub(super) fn record(&mut self, seq: Seq, offset: u64) {
        if Self::is_indexed(seq) {
            self.0.push(offset);
        }
    }

    /// Adds offsets of later events; the caller selects the events to store.
    pub(super) fn extend(&mut self, offsets: &[u64]) {
        self.0.extend_from_slice(offsets);
    }

    /// Returns a stored offset at or before `seq`, and how many events after it `seq` is.
    pub(super) fn nearest_before(&self, seq: Seq) -> Option<(u64, u64)> {
        let place = seq.0.checked_sub(1)?;
        let slot = usize::try_from(place / Self::STRIDE).ok()?;
        Some((*self.0.get(slot)?, place % Self::STRIDE))
    }
}
