//! The one writer of a log. A batch is one write; afterwards it is in the file completely or not at all.

use std::{cell::Cell, io, io::Write, sync::Arc};

use harn_model::{Envelope, Seq, Timestamp};

use super::{
    disk, line,
    log_file::{EventOffsets, LogFile},
    meta, store,
};
use crate::{JournalError, LogReader, LogSyncer, MetaChange, SessionLog, SessionMeta};

/// The milliseconds between two looks at the path of the log, by the times of the events. A look costs more than the
/// append of an event.
const LOOK_INTERVAL: u64 = 100;

/// A larger buffer is freed.
const MAX_KEPT: usize = 1_048_576;

thread_local! {
    /// Lines to write. The buffer belongs to the thread because an append never waits: ten thousand sessions need
    /// as many buffers as there are threads.
    static LINES: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A log that is locked and ready to append.
pub(super) struct JsonlLog {
    shared: Arc<LogFile>,
    meta: SessionMeta,
    /// When the session last changed; `meta.json` has this time, or gets it with the next sync.
    updated: Timestamp,
    /// Set while `meta.json` has an older time; the next sync rewrites it.
    stale: Cell<bool>,
    last: Seq,
    len: u64,
    /// When an append last looked whether its path still leads to the log.
    looked: Option<Timestamp>,
    /// Set when a failed batch could not be removed: the end of the file is then unknown.
    poisoned: bool,
}

impl JsonlLog {
    pub(super) fn new(shared: Arc<LogFile>, meta: SessionMeta, updated: Timestamp) -> Self {
        let (last, len) = shared.published_end();
        Self {
            shared,
            meta,
            updated,
            stale: Cell::new(false),
            last,
            len,
            looked: None,
            poisoned: false,
        }
    }

    fn write(&mut self, events: &[Envelope], buf: &mut Vec<u8>) -> io::Result<()> {
        if self.poisoned {
            return Err(io::Error::other(
                "an earlier write failed and could not be undone; reopen the session",
            ));
        }
        self.check_place(events)?;
        let mut last = self.last;
        let mut places = Vec::new();
        for envelope in events {
            if envelope.seq != last.next() {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    format!(
                        "event {} cannot follow event {last}: events have no gaps",
                        envelope.seq
                    ),
                ));
            }
            last = envelope.seq;
            if EventOffsets::is_indexed(last) {
                places.push(self.len + buf.len() as u64);
            }
            line::encode(buf, envelope)?;
        }
        if let Err(error) = (&*self.shared.file).write_all(buf) {
            self.poisoned = self.shared.file.set_len(self.len).is_err();
            return Err(error);
        }
        self.last = last;
        self.len += buf.len() as u64;
        if !places.is_empty() {
            self.shared.index().extend(&places);
        }
        self.shared.publish(self.last, self.len);
        Ok(())
    }
}

impl JsonlLog {
    /// Fails if the log was removed or replaced. Looks at the first append and then at most once per interval.
    fn check_place(&mut self, events: &[Envelope]) -> io::Result<()> {
        let now = events.last().map_or(0, |event| event.at);
        if self
            .looked
            .is_some_and(|looked| now.abs_diff(looked) < LOOK_INTERVAL)
        {
            return self.shared.fail_if_lost();
        }
        self.shared.check_place()?;
        self.looked = Some(now);
        Ok(())
    }
}

impl SessionLog for JsonlLog {
    fn append(&mut self, events: &[Envelope]) -> Result<(), JournalError> {
        if events.is_empty() {
            return Ok(());
        }
        let mut buf = LINES.take();
        buf.clear();
        let result = self.write(events, &mut buf);
        if buf.capacity() <= MAX_KEPT {
            LINES.set(buf);
        }
        result.map_err(disk::error_at(&self.shared.path))
    }

    fn syncer(&self) -> LogSyncer {
        let shared = Arc::clone(&self.shared);
        let stale = self.stale.take();
        let meta = stale.then(|| (self.meta.clone(), self.updated));
        Box::new(move || {
            shared.sync()?;
            if let Some((meta, updated)) = meta {
                let path = shared.path.with_file_name(store::META);
                meta::save(&path, &meta, updated, true).map_err(io::Error::other)?;
            }
            Ok(())
        })
    }

    fn reader(&self) -> Arc<dyn LogReader> {
        Arc::clone(&self.shared) as Arc<dyn LogReader>
    }

    fn amend(&mut self, change: MetaChange) -> Result<(), JournalError> {
        let mut meta = self.meta.clone();
        meta.apply(change);
        if self.meta == meta {
            return Ok(());
        }
        self.shared
            .check_place()
            .map_err(disk::error_at(&self.shared.path))?;
        // Flushed, because a power failure during a change of the title must not lose the whole file.
        let path = self.shared.path.with_file_name(store::META);
        meta::save(&path, &meta, self.updated, true)?;
        self.meta = meta;
        self.stale.set(false);
        self.shared.record_change();
        Ok(())
    }

    fn set_updated(&mut self, updated: Timestamp) {
        if self.updated != updated {
            self.updated = updated;
            self.stale.set(true);
        }
    }
}

impl Drop for JsonlLog {
    fn drop(&mut self) {
        // Readers may keep the descriptor; the session is unlocked nevertheless. If this fails, the lock ends with
        // the last reader.
        let _ = self.shared.close();
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use harn_model::AgentEvent;

    use super::*;
    use crate::{
        META_VERSION,
        jsonl::{
            lock::LockedFile,
            scan::{LogScan, scan},
        },
    };

    #[test]
    fn append_fails_after_a_batch_that_cannot_be_undone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        fs::write(&path, "").unwrap();
        // Open for reading only: both the write and the truncation fail.
        let file = File::open(&path).unwrap();
        let empty: LogScan = scan(&file, &path, |_| ()).unwrap();
        let meta = SessionMeta {
            v: META_VERSION,
            thread_id: "s1".into(),
            title: String::new(),
            directory: "/".into(),
            additional_directories: Vec::new(),
            created: 0,
            parent: None,
            worker: None,
            principal: None,
            failed: false,
            archived: false,
        };
        let mut log = JsonlLog::new(
            Arc::new(LogFile::new(LockedFile(file), path, empty)),
            meta,
            0,
        );
        let event = Envelope {
            seq: Seq(1),
            at: 0,
            turn: None,
            event: AgentEvent::message("hello"),
        };
        let batch = std::slice::from_ref(&event);

        let first = log.append(batch).unwrap_err().to_string();
        assert!(!first.contains("could not be undone"), "{first}");
        for _ in 0..2 {
            let later = log.append(batch).unwrap_err().to_string();
            assert!(later.contains("could not be undone"), "{later}");
        }
        let reader = log.reader();
        assert_eq!(reader.read(&mut Default::default(), 100).unwrap(), []);
    }
}
