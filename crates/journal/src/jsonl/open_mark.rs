//! The mark of an open session in the index: as long as it is there, listings look at the files of the session.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use harn_model::SessionId;

use super::index_file::{self, IndexFile};

/// Marks a session of this process in the index while it is open.
#[derive(Debug)]
pub(super) struct OpenMark {
    file: Arc<IndexFile>,
    id: SessionId,
    /// Set when the session changes, cleared when the index looks at it.
    changed: AtomicBool,
    /// The generation of the index file that has the mark; zero if none has it.
    marked: AtomicU64,
}

impl OpenMark {
    pub(super) fn new(file: Arc<IndexFile>, id: SessionId) -> Self {
        Self {
            file,
            id,
            changed: AtomicBool::new(true),
            marked: AtomicU64::new(Self::UNTRIED),
        }
    }

    /// Returns whether the session changed since the last call.
    pub(super) fn take_change(&self) -> bool {
        self.changed.swap(false, Ordering::Acquire)
    }

    /// No attempt was made to mark the session.
    const UNTRIED: u64 = u64::MAX;

    /// Records that the files of the session changed.
    pub(super) fn record_change(&self) {
        self.changed.store(true, Ordering::Release);
        if self.marked.load(Ordering::Relaxed) == Self::UNTRIED {
            self.write();
        }
    }

    /// Marks the session again if another process has replaced the index.
    pub(super) fn renew(&self) {
        let generation = self.file.generation().unwrap_or(0);
        if self.marked.load(Ordering::Relaxed) != generation {
            self.write();
        }
    }

    fn write(&self) {
        let mut row = String::new();
        index_file::write_opened(&mut row, &self.id);
        // Without a file there is nothing to mark: the process that creates it looks at every session.
        let position = self.file.append(&row);
        let generation = position.map_or(0, |position| position.generation);
        self.marked.store(generation, Ordering::Relaxed);
    }

    /// Removes the mark. Call it while the session is still locked.
    pub(super) fn close(&self) {
        if ![0, Self::UNTRIED].contains(&self.marked.load(Ordering::Relaxed)) {
            let mut row = String::new();
            index_file::write_unknown(&mut row, &self.id);
            self.file.append(&row);
        }
    }
}
