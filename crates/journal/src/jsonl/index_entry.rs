//! What the index knows of one session, and whether that may be out of date.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use harn_model::{SessionId, Timestamp};

use super::{
    file_stamp::SessionFileStamp,
    index_file::{self, IndexedSession},
};
use crate::{JournalError, SessionMeta};

/// How long the index may go without a comparison with all files.
pub(super) const COMPARISON_MILLIS: u64 = 60 * 60 * 1000;

/// Looks at a session for the index, which may know its stamps already.
pub(super) type LookAtSession<'a> =
    &'a dyn Fn(&SessionId, Option<SessionStamps>) -> Result<SessionLook, JournalError>;

/// What the files of a session show.
pub(super) enum SessionLook {
    /// The folder is not a session's.
    Missing,
    /// The stamps are still the same.
    Unchanged,
    Found(Arc<SessionMeta>, SessionStamps),
}

/// The stamps of the two files of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SessionStamps {
    pub(super) log: SessionFileStamp,
    pub(super) meta: SessionFileStamp,
}

#[derive(Debug, Default)]
pub(super) struct IndexEntry {
    pub(super) folder: u64,
    pub(super) stamps: SessionStamps,
    pub(super) is_worker: bool,
    pub(super) has_prompt: Option<bool>,
    pub(super) facts: IndexedFacts,
    pub(super) trust: EntryTrust,
}

#[derive(Debug, Default)]
pub(super) enum IndexedFacts {
    /// The folder has no session, or a damaged one.
    #[default]
    Missing,
    Encoded(Box<str>),
    Decoded(Arc<SessionMeta>),
}

/// Whether an entry may be out of date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum EntryTrust {
    /// Look at the files once.
    #[default]
    Unknown,
    /// Look at the files every time: a process changes them.
    Open,
    /// The files have not changed since the index looked at them.
    Settled,
}

impl IndexEntry {
    /// Reads the session if its files have changed.
    pub(super) fn look(
        &mut self,
        id: &SessionId,
        now: SystemTime,
        look: LookAtSession<'_>,
    ) -> Result<(), JournalError> {
        let known = !matches!(self.facts, IndexedFacts::Missing);
        match look(id, known.then_some(self.stamps)).inspect_err(|_| self.forget())? {
            SessionLook::Missing => {
                self.forget();
                return Ok(());
            }
            SessionLook::Unchanged => {}
            SessionLook::Found(meta, stamps) => {
                if self.stamps.log != stamps.log {
                    // A log that was replaced may have lost its prompt.
                    self.has_prompt = None;
                }
                self.stamps = stamps;
                self.is_worker = meta.worker.is_some();
                self.facts = IndexedFacts::Decoded(meta);
            }
        }
        let SessionStamps { log, meta } = self.stamps;
        let is_fresh = log.is_fresh(now) || meta.is_fresh(now);
        self.trust = match self.trust {
            EntryTrust::Open => EntryTrust::Open,
            EntryTrust::Unknown | EntryTrust::Settled if is_fresh => EntryTrust::Unknown,
            EntryTrust::Unknown | EntryTrust::Settled => EntryTrust::Settled,
        };
        Ok(())
    }

    /// Whether the session is marked as open, and did not change for so long that its process may be gone.
    pub(super) fn is_abandoned(&self, now: SystemTime) -> bool {
        let quiet = millis(now).saturating_sub(self.stamps.log.updated());
        self.trust == EntryTrust::Open && quiet > COMPARISON_MILLIS
    }

    /// A folder without a session, or with a damaged one, is looked at every time.
    fn forget(&mut self) {
        self.facts = IndexedFacts::Missing;
        self.stamps = SessionStamps::default();
        self.trust = EntryTrust::Unknown;
    }

    pub(super) fn write(&self, id: &SessionId, rows: &mut String) {
        let encoded;
        let facts = match &self.facts {
            IndexedFacts::Missing => return,
            IndexedFacts::Encoded(text) => text,
            IndexedFacts::Decoded(meta) => match index_file::encode_facts(meta) {
                Some(text) => {
                    encoded = text;
                    encoded.as_str()
                }
                None => return,
            },
        };
        let row = IndexedSession {
            id: id.as_str(),
            folder: self.folder,
            log: self.stamps.log,
            meta: self.stamps.meta,
            is_worker: self.is_worker,
            has_prompt: self.has_prompt,
            facts,
        };
        index_file::write_session(rows, &row);
    }
}

/// Returns the milliseconds since 1970; zero for a time before.
pub(super) fn millis(time: SystemTime) -> Timestamp {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::try_from(since.as_millis()).unwrap_or(Timestamp::MAX)
}
