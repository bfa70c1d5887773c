//! The port: what the runtime asks of a log, whatever keeps it.

use std::{io, path::PathBuf, sync::Arc};

use harn_model::{Envelope, Seq, SessionId, SessionView, Timestamp, WorkerId};
use serde::{Deserialize, Serialize};

use crate::{JournalError, jsonl::is_prompt};

/// What is known about a session without reading its events. Its serde form is `meta.json`, which has the
/// session's times beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionMeta {
    /// Format version of the whole folder.
    pub v: u32,
    /// The session.
    pub thread_id: SessionId,
    /// A title for people; empty until there is one.
    pub title: String,
    /// The working directory, absolute.
    pub directory: PathBuf,
    /// Further roots, absolute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additional_directories: Vec<PathBuf>,
    /// When it was created.
    pub created: Timestamp,
    /// The session it was forked from, or whose worker it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// The worker of `parent` that works in it, where it is one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerId>,
    /// Whose it is; the owner of the process where nobody is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// Whether its last turn failed, or a crash cut it short and the session was opened since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// Whether a client took it out of the listings.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
}

/// A row of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSummary {
    /// The session.
    pub meta: SessionMeta,
    /// When its log last grew.
    pub updated: Timestamp,
}

/// What [`Store::list`] found.
#[derive(Debug, Default)]
pub struct StoreListing {
    /// The sessions, the most recently changed first.
    pub sessions: Vec<SessionSummary>,
    /// What kept a session from being listed, one for each, so that none vanishes unsaid.
    pub problems: Vec<JournalError>,
}

/// A log that was opened: locked, checked line by line and folded.
pub struct OpenedLog {
    /// The log, ready to append.
    pub log: Box<dyn SessionLog>,
    /// What is known about it.
    pub meta: SessionMeta,
    /// The fold of everything in it.
    pub view: SessionView,
    /// Bytes of a torn last line that were cut off.
    pub torn_bytes: u64,
}

/// Where a session is kept, as paths below the store's own folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPaths {
    /// All of it.
    pub session: String,
    /// Its events.
    pub events: String,
}

/// Where sessions are kept.
pub trait Store: Send + Sync + 'static {
    /// Creates an empty, locked log.
    fn create(&self, meta: SessionMeta) -> Result<Box<dyn SessionLog>, JournalError>;

    /// Opens and locks an existing log, cutting off a torn last line.
    fn open(&self, id: &SessionId) -> Result<OpenedLog, JournalError>;

    /// Reads the events of a session without locking it; a torn last line is left alone and left out.
    fn read(&self, id: &SessionId) -> Result<(SessionMeta, Vec<Envelope>), JournalError>;

    /// What is known about a session without its events.
    fn meta(&self, id: &SessionId) -> Result<SessionMeta, JournalError> {
        self.read(id).map(|(meta, _)| meta)
    }

    /// All sessions but those of workers, which are their session's business, and those that are damaged
    /// as problems. What never became a session, and what is none of ours, is in neither.
    fn list(&self) -> Result<StoreListing, JournalError>;

    /// Whether a session was ever sent a prompt. Listings ask it of every session they show.
    fn has_prompt(&self, id: &SessionId) -> Result<bool, JournalError> {
        let (_, events) = self.read(id)?;
        Ok(events.iter().any(|it| is_prompt(&it.event)))
    }

    /// Removes a session for good, with the sessions of its workers. Fails with `Locked` while another
    /// process has it open.
    fn delete(&self, id: &SessionId) -> Result<(), JournalError>;

    /// Where a session is kept, for those who are told of it; nothing where it is no place in a file
    /// system.
    fn place(&self, _: &SessionId) -> Option<SessionPaths> {
        None
    }

    /// The store's own folder, which the paths of a [`SessionPaths`] are below; nothing where there is none.
    fn root(&self) -> Option<PathBuf> {
        None
    }

    /// A folder for files that belong to a session and are removed with it; need not exist yet. Nothing
    /// where the store has no place for files.
    fn files(&self, _: &SessionId) -> Option<PathBuf> {
        None
    }
}

/// The log of one session. There is one writer, and it is the session's own task.
pub trait SessionLog: Send {
    /// Writes a batch with one write, before anyone hears of it. Either all of it is in the log
    /// afterwards or none of it: a failed write is cut off again.
    fn append(&mut self, events: &[Envelope]) -> Result<(), JournalError>;

    /// A job that makes everything appended so far survive a power loss; run off the session's task.
    fn syncer(&self) -> LogSyncer;

    /// A reader for those who fell behind.
    fn reader(&self) -> Arc<dyn LogReader>;

    /// Records what listings show of the session without reading its events.
    fn amend(&mut self, change: MetaChange) -> Result<(), JournalError>;

    /// Records when the session last changed, for those who look at its files. The next [`SessionLog::syncer`] job
    /// writes it: that one waits for the disk anyway, and a failure must not end the session.
    fn set_updated(&mut self, _: Timestamp) {}
}

/// A change of what listings show of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetaChange {
    /// Its title.
    Title(String),
    /// The directories beside its own.
    AdditionalDirectories(Vec<PathBuf>),
    /// Whether its last turn failed.
    Failed(bool),
    /// Whether listings leave it out.
    Archived(bool),
}

impl SessionMeta {
    /// Makes a change.
    pub fn apply(&mut self, change: MetaChange) {
        match change {
            MetaChange::Title(title) => self.title = title,
            MetaChange::AdditionalDirectories(additional) => {
                self.additional_directories = additional;
            }
            MetaChange::Failed(failed) => self.failed = failed,
            MetaChange::Archived(archived) => self.archived = archived,
        }
    }
}

/// See [`SessionLog::syncer`].
pub type LogSyncer = Box<dyn FnOnce() -> io::Result<()> + Send>;

/// Reads a log that may be growing.
pub trait LogReader: Send + Sync {
    /// The next events after the cursor, at most about `max_bytes` of them on disk but at least one if
    /// there is one; moves the cursor past them. Only whole, appended batches are visible.
    fn read(
        &self,
        cursor: &mut ReadCursor,
        max_bytes: usize,
    ) -> Result<Vec<Envelope>, JournalError>;
}

/// A place in a log. A reader may remember in `offset` where that place is on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCursor {
    /// The last event that was read.
    pub after: Seq,
    /// Where the next one begins, if the backend knows.
    pub offset: Option<u64>,
}

impl ReadCursor {
    /// After an event, wherever that is on disk.
    #[must_use]
    pub fn after(after: Seq) -> Self {
        Self {
            after,
            offset: None,
        }
    }
}
