//! The port: the traits that the runtime uses for any log backend.

use std::{io, path::PathBuf, sync::Arc};

use harn_model::{Envelope, Seq, SessionId, SessionView, Timestamp, WorkerId};
use serde::{Deserialize, Serialize};

use crate::{JournalError, jsonl::is_prompt};

/// The facts about a session that need no reading of its events. Its serde form is `meta.json`, which also has the
/// session's times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionMeta {
    /// Format version of `meta.json`.
    pub v: u32,
    /// The id of the session.
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
    /// The session it was forked from, or that its worker works for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// The worker of `parent` that works in it, if it is a worker's session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerId>,
    /// The principal that owns it; the owner of the process if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// Whether its last turn failed, or a crash interrupted it and the session was opened since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// Whether a client removed it from the listings.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
}

/// A row of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSummary {
    /// The facts about the session.
    pub meta: SessionMeta,
    /// When its log last grew.
    pub updated: Timestamp,
}

/// The result of [`Store::list`].
#[derive(Debug, Default)]
pub struct StoreListing {
    /// The sessions, the most recently changed first.
    pub sessions: Vec<SessionSummary>,
    /// The errors that kept sessions out of the list, one for each, so that none disappears silently.
    pub problems: Vec<JournalError>,
}

impl StoreListing {
    /// Calls `each` with every session after a position, until it returns false. Returns the problems.
    pub fn for_each_after(
        self,
        after: Option<(Timestamp, SessionId)>,
        each: &mut dyn FnMut(SessionSummary) -> bool,
    ) -> Result<Vec<JournalError>, JournalError> {
        let is_after = |row: &SessionSummary| {
            after.as_ref().is_none_or(|(updated, id)| {
                row.updated < *updated || (row.updated == *updated && row.meta.thread_id > *id)
            })
        };
        self.sessions.into_iter().filter(is_after).all(each);
        Ok(self.problems)
    }
}

/// A log that was opened: locked, checked line by line and folded.
pub struct OpenedLog {
    /// The log, ready to append.
    pub log: Box<dyn SessionLog>,
    /// The facts about the session.
    pub meta: SessionMeta,
    /// The fold of all its events.
    pub view: SessionView,
    /// Bytes of a partial last line that were removed.
    pub torn_bytes: u64,
}

/// The result of [`Store::check_log`]: a log without damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogCheck {
    /// The number of events.
    pub events: u64,
    /// How many of them, at the beginning, have no checksum: an earlier version wrote them.
    pub without_checksum: u64,
    /// Bytes of a partial last line, which the next opening removes.
    pub torn_bytes: u64,
}

/// The result of [`Store::repair_log`]: a log that was cut to the part before its first damage.
#[derive(Debug)]
pub struct LogRepair {
    /// The damage.
    pub damage: JournalError,
    /// The number of events that the log still has.
    pub events: u64,
    /// The lines that the log no longer has, from the damaged one on.
    pub lost_lines: u64,
    /// The bytes of these lines.
    pub lost_bytes: u64,
    /// The damaged log, as it was.
    pub damaged_file: PathBuf,
}

/// The paths of a session, relative to the folder of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPaths {
    /// The folder of the session.
    pub session: String,
    /// The log of its events.
    pub events: String,
}

/// The storage of sessions.
pub trait Store: Send + Sync + 'static {
    /// Creates an empty, locked log.
    fn create(&self, meta: SessionMeta) -> Result<Box<dyn SessionLog>, JournalError>;

    /// Opens and locks an existing log, and removes a partial last line.
    fn open(&self, id: &SessionId) -> Result<OpenedLog, JournalError>;

    /// Reads the events of a session without locking it; a partial last line is neither changed nor returned.
    fn read(&self, id: &SessionId) -> Result<(SessionMeta, Vec<Envelope>), JournalError>;

    /// Returns the facts about a session, without its events.
    fn meta(&self, id: &SessionId) -> Result<SessionMeta, JournalError> {
        self.read(id).map(|(meta, _)| meta)
    }

    /// Lists all sessions except those of workers, which belong to their parent session; damaged sessions are
    /// problems. Incomplete creations and foreign folders are in neither list.
    fn list(&self) -> Result<StoreListing, JournalError>;

    /// Returns the ids of all sessions, also of workers and of damaged ones, in order.
    fn ids(&self) -> Result<Vec<SessionId>, JournalError> {
        let sessions = self.list()?.sessions;
        Ok(sessions.into_iter().map(|it| it.meta.thread_id).collect())
    }

    /// Reads a session without locking it, and fails with its first damage.
    fn check_log(&self, id: &SessionId) -> Result<LogCheck, JournalError> {
        let (_, events) = self.read(id)?;
        Ok(LogCheck {
            events: events.len() as u64,
            without_checksum: 0,
            torn_bytes: 0,
        })
    }

    /// Cuts a damaged log to the part before its first damage, and keeps the damaged file beside it. Returns none
    /// if the log has no damage, or the store cannot repair it.
    fn repair_log(&self, _: &SessionId) -> Result<Option<LogRepair>, JournalError> {
        Ok(None)
    }

    /// Calls `each` with the sessions of [`Self::list`] in their order, from behind a position, until it returns false.
    /// Returns the problems. A store may answer from an index, whose rows [`Self::is_still_listed`] checks.
    fn for_each_listed(
        &self,
        after: Option<(Timestamp, SessionId)>,
        each: &mut dyn FnMut(SessionSummary) -> bool,
    ) -> Result<Vec<JournalError>, JournalError> {
        self.list()?.for_each_after(after, each)
    }

    /// Whether a row of [`Self::for_each_listed`] is as its files have it, or has just changed. If not, list again: the
    /// index is then rebuilt.
    fn is_still_listed(&self, _: &SessionSummary) -> bool {
        true
    }

    /// Whether a session ever received a prompt. Listings call this for every session they show.
    fn has_prompt(&self, id: &SessionId) -> Result<bool, JournalError> {
        let (_, events) = self.read(id)?;
        Ok(events.iter().any(|it| is_prompt(&it.event)))
    }

    /// Removes a session permanently, with the sessions of its workers. Fails with `Locked` while another process
    /// has it open.
    fn delete(&self, id: &SessionId) -> Result<(), JournalError>;

    /// Returns the paths of a session, for clients that show them; none if the store has no file system.
    fn session_paths(&self, _: &SessionId) -> Option<SessionPaths> {
        None
    }

    /// Returns the folder of the store, which the paths of a [`SessionPaths`] are relative to; none if there is
    /// none.
    fn root(&self) -> Option<PathBuf> {
        None
    }

    /// Returns a folder for files that belong to a session and are removed with it; it may not exist yet. None if
    /// the store has no files.
    fn files_folder(&self, _: &SessionId) -> Option<PathBuf> {
        None
    }
}

/// The log of one session. It has one writer, the session task.
pub trait SessionLog: Send {
    /// Writes a batch with one write, before any client receives it. Afterwards either all of it is in the log or
    /// none: a failed write is removed again.
    fn append(&mut self, events: &[Envelope]) -> Result<(), JournalError>;

    /// Returns a job that makes everything appended so far survive a power failure; run it outside the session
    /// task.
    fn syncer(&self) -> LogSyncer;

    /// Returns a reader for clients that fell behind.
    fn reader(&self) -> Arc<dyn LogReader>;

    /// Records a fact that listings show without reading events.
    fn amend(&mut self, change: MetaChange) -> Result<(), JournalError>;

    /// Records when the session last changed, for programs that read its files. The next [`SessionLog::syncer`]
    /// job writes it: that job waits for the disk anyway, and a failure must not end the session.
    fn set_updated(&mut self, _: Timestamp) {}
}

/// A change of the facts that listings show of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetaChange {
    /// The new title.
    Title(String),
    /// The directories in addition to its own.
    AdditionalDirectories(Vec<PathBuf>),
    /// Whether its last turn failed.
    Failed(bool),
    /// Whether listings omit it.
    Archived(bool),
}

impl SessionMeta {
    /// Applies a change.
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
    /// Returns the next events after the cursor, at most about `max_bytes` of them on disk but at least one if
    /// there is one; moves the cursor past them. Only complete, appended batches are visible.
    fn read(
        &self,
        cursor: &mut ReadCursor,
        max_bytes: usize,
    ) -> Result<Vec<Envelope>, JournalError>;
}

/// A position in a log. A reader may cache its file offset in `offset`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCursor {
    /// The last event that was read.
    pub after: Seq,
    /// The file offset of the next event, if the backend knows it.
    pub offset: Option<u64>,
}

impl ReadCursor {
    /// Builds a cursor after an event, with unknown offset.
    pub fn starting_after(after: Seq) -> Self {
        Self {
            after,
            offset: None,
        }
    }
}
