//! Sessions in a folder: creates, opens, lists and deletes them. Checks ids before they become part of a path.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use harn_model::{Envelope, SessionId, SessionView, Timestamp};

use super::{
    disk,
    file_stamp::SessionFileStamp,
    index_entry::{SessionLook, SessionStamps},
    lock::{self, LockedFile},
    log::JsonlLog,
    log_file::LogFile,
    meta::{self, META_VERSION},
    prompt_search::has_prompt,
    repair,
    scan::{LogScan, scan},
    session_index::SessionIndex,
};
use crate::{
    JournalError, LogCheck, LogRepair, OpenedLog, SessionLog, SessionMeta, SessionPaths,
    SessionSummary, Store, StoreListing,
};

pub(super) const META: &str = "meta.json";
const EVENTS: &str = "events.jsonl";
const THREADS: &str = "threads";
const FILES: &str = "files";

/// Stores each session in `<state>/threads/<id>`, as `meta.json` and a log with one event per line.
///
/// It creates nothing before the first session. Only the owner can read the files.
///
/// ```
/// use harn_journal::{JsonlStore, META_VERSION, SessionLog, SessionMeta, Store};
/// use harn_model::{AgentEvent, Envelope, Seq};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let state = tempfile::tempdir()?;
/// let store = JsonlStore::new(state.path());
/// let mut log = store.create(SessionMeta {
///     v: META_VERSION,
///     thread_id: "s1".into(),
///     title: String::new(),
///     directory: "/home/ada/engine".into(),
///     additional_directories: Vec::new(),
///     created: 1_700_000_000_000,
///     parent: None,
///     worker: None,
///     principal: None,
///     failed: false,
///     archived: false,
/// })?;
/// let said = Envelope { seq: Seq(1), at: 1_700_000_000_001, turn: None, event: AgentEvent::message("Hello") };
/// log.append(std::slice::from_ref(&said))?;
/// drop(log);
///
/// let (_, events) = store.read(&"s1".into())?;
/// assert_eq!(events, [said]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct JsonlStore {
    threads: PathBuf,
    /// Makes pages of listings fast.
    index: Option<Arc<SessionIndex>>,
}

/// How many sessions a listing takes from the index at a time.
const INDEX_BATCH: usize = 64;

impl JsonlStore {
    /// Stores sessions under `state_dir`, which need not exist yet.
    pub fn new(state_dir: impl Into<PathBuf>) -> Self {
        let state_dir = state_dir.into();
        let threads = state_dir.join(THREADS);
        let index = SessionIndex::new(&state_dir, threads.clone());
        Self {
            threads,
            index: Some(Arc::new(index)),
        }
    }

    /// Stores sessions under a directory in which others may write, so it writes no index there.
    pub fn without_index(state_dir: impl Into<PathBuf>) -> Self {
        Self {
            threads: state_dir.into().join(THREADS),
            index: None,
        }
    }

    fn folder(&self, id: &SessionId) -> Result<PathBuf, JournalError> {
        if is_valid(id.as_str()) {
            Ok(self.threads.join(id.as_str()))
        } else {
            Err(JournalError::InvalidId)
        }
    }

    /// Returns the row of a session; none if the name is not a session's.
    fn summary(&self, name: &OsStr) -> Result<Option<SessionSummary>, JournalError> {
        let Some(name) = name.to_str().filter(|name| is_valid(name)) else {
            return Ok(None);
        };
        match self.look(&SessionId::from(name), None)? {
            SessionLook::Found(meta, stamps) => Ok(Some(SessionSummary {
                meta: Arc::unwrap_or_clone(meta),
                updated: stamps.log.updated(),
            })),
            SessionLook::Missing | SessionLook::Unchanged => Ok(None),
        }
    }

    /// Reads the facts of a session and the stamps of its files, or only the stamps if they are still `known`.
    fn look(
        &self,
        id: &SessionId,
        known: Option<SessionStamps>,
    ) -> Result<SessionLook, JournalError> {
        let folder = self.threads.join(id.as_str());
        let (meta_path, log) = (folder.join(META), folder.join(EVENTS));
        // Before the content, so that a later change is noticed. `load` reports a missing file.
        let meta_stamp = fs::metadata(&meta_path).map(|meta| SessionFileStamp::of(&meta));
        let stamp_of_log = || fs::metadata(&log).map(|log| SessionFileStamp::of(&log));
        if let (Some(known), Ok(meta)) = (known, &meta_stamp)
            && known.meta == *meta
            && stamp_of_log().is_ok_and(|log| log == known.log)
        {
            return Ok(SessionLook::Unchanged);
        }
        let meta = match meta::load(&meta_path, id) {
            // Its creation was interrupted, or it was deleted meanwhile.
            Err(JournalError::NotFound(_)) => return Ok(SessionLook::Missing),
            Err(JournalError::Io { source, .. })
                if source.kind() == io::ErrorKind::NotADirectory =>
            {
                return Ok(SessionLook::Missing);
            }
            meta => meta?,
        };
        let log = match stamp_of_log() {
            // A deletion removes the whole folder at once; if only the log is missing, it was lost.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !meta_path.exists() => {
                return Ok(SessionLook::Missing);
            }
            stamp => stamp.map_err(disk::error_at(&log))?,
        };
        let stamps = SessionStamps {
            log,
            meta: meta_stamp.unwrap_or_default(),
        };
        Ok(SessionLook::Found(Arc::new(meta), stamps))
    }

    /// Creates the shared part of an open log, which marks the session in the index when it changes.
    fn log_file(&self, id: &SessionId, file: LockedFile, path: PathBuf, found: LogScan) -> LogFile {
        let mark = self.index.as_ref().map(|index| index.register(id));
        LogFile::new(file, path, found).with_mark(mark)
    }
}

impl Store for JsonlStore {
    /// Writes `meta` in [`META_VERSION`] and ignores its `v`.
    fn create(&self, mut meta: SessionMeta) -> Result<Box<dyn SessionLog>, JournalError> {
        let id = meta.thread_id.clone();
        let folder = self.folder(&id)?;
        meta.v = META_VERSION;
        disk::private_folder()
            .recursive(true)
            .create(&self.threads)
            .map_err(disk::error_at(&self.threads))?;
        disk::private_folder().create(&folder).map_err(|error| {
            if error.kind() == io::ErrorKind::AlreadyExists {
                JournalError::Exists(id.clone())
            } else {
                disk::error_at(&folder)(error)
            }
        })?;
        let path = folder.join(EVENTS);
        // `meta.json` is written last: a folder without it is not a session yet.
        let created = lock::create_locked(&path, &id).and_then(|file| {
            meta::save(&folder.join(META), &meta, meta.created, false)?;
            Ok(file)
        });
        let file = created.inspect_err(|_| {
            // Report the first error, not one of the cleanup.
            let _ = fs::remove_dir_all(&folder);
        })?;
        let shared = Arc::new(self.log_file(&id, file, path, LogScan::default()));
        shared.record_change();
        let created = meta.created;
        Ok(Box::new(JsonlLog::new(shared, meta, created)))
    }

    fn open(&self, id: &SessionId) -> Result<OpenedLog, JournalError> {
        let folder = self.folder(id)?;
        let path = folder.join(EVENTS);
        let file = lock::open_locked(&path, id)?;
        let meta = meta::load(&folder.join(META), id)?;
        let mut view = SessionView::default();
        let found = scan(&file, &path, |envelope| view.apply(&envelope))?;
        let torn_bytes = found.rest;
        if torn_bytes > 0 {
            file.set_len(found.len).map_err(disk::error_at(&path))?;
        }
        let shared = Arc::new(self.log_file(id, file, path, found));
        if torn_bytes > 0 {
            shared.record_change();
        }
        Ok(OpenedLog {
            log: Box::new(JsonlLog::new(shared, meta.clone(), view.updated_at)),
            meta,
            view,
            torn_bytes,
        })
    }

    fn read(&self, id: &SessionId) -> Result<(SessionMeta, Vec<Envelope>), JournalError> {
        let folder = self.folder(id)?;
        let meta = meta::load(&folder.join(META), id)?;
        let path = folder.join(EVENTS);
        let file = fs::File::open(&path).map_err(|error| lock::map_not_found(error, &path, id))?;
        let mut events = Vec::new();
        scan(&file, &path, |envelope| events.push(envelope))?;
        Ok((meta, events))
    }

    fn meta(&self, id: &SessionId) -> Result<SessionMeta, JournalError> {
        meta::load(&self.folder(id)?.join(META), id)
    }

    fn list(&self) -> Result<StoreListing, JournalError> {
        let mut listing = self.list_all()?;
        listing.sessions.retain(|s| s.meta.worker.is_none());
        Ok(listing)
    }

    fn ids(&self) -> Result<Vec<SessionId>, JournalError> {
        let mut ids = Vec::new();
        for name in self.folder_names()? {
            let name = name?;
            let id = name.to_str().filter(|name| is_valid(name));
            let id = id.filter(|id| self.threads.join(id).is_dir());
            ids.extend(id.map(SessionId::from));
        }
        ids.sort();
        Ok(ids)
    }

    fn check_log(&self, id: &SessionId) -> Result<LogCheck, JournalError> {
        let folder = self.folder(id)?;
        // Before the log, so that a folder that is no session is none.
        meta::load(&folder.join(META), id)?;
        repair::check(&folder.join(EVENTS))
    }

    fn repair_log(&self, id: &SessionId) -> Result<Option<LogRepair>, JournalError> {
        let repaired = repair::repair(&self.folder(id)?.join(EVENTS), id)?;
        if let Some(index) = &self.index {
            index.note_change(id);
        }
        Ok(repaired)
    }

    fn for_each_listed(
        &self,
        after: Option<(Timestamp, SessionId)>,
        each: &mut dyn FnMut(SessionSummary) -> bool,
    ) -> Result<Vec<JournalError>, JournalError> {
        let Some(index) = &self.index else {
            return self.list()?.for_each_after(after, each);
        };
        let problems = index.refresh(&|id, known| self.look(id, known))?;
        let mut after = after;
        loop {
            let rows = index.rows_after(after.as_ref(), INDEX_BATCH);
            let Some(last) = rows.last() else {
                return Ok(problems);
            };
            after = Some((last.updated, last.meta.thread_id.clone()));
            for row in rows {
                if !each(row) {
                    return Ok(problems);
                }
            }
        }
    }

    fn is_still_listed(&self, row: &SessionSummary) -> bool {
        let Some(index) = &self.index else {
            return true;
        };
        let id = &row.meta.thread_id;
        let is_same = match self.summary(OsStr::new(id.as_str())) {
            Ok(found) => found.as_ref() == Some(row),
            Err(_) => false,
        };
        is_same || !index.report_difference(id)
    }

    fn has_prompt(&self, id: &SessionId) -> Result<bool, JournalError> {
        let path = self.folder(id)?.join(EVENTS);
        let index = self.index.as_ref();
        if let Some(known) = index.and_then(|index| index.has_prompt(id)) {
            return Ok(known);
        }
        let found = has_prompt(&path).map_err(|error| lock::map_not_found(error, &path, id))?;
        if let Some(index) = index {
            index.set_prompt(id, found);
        }
        Ok(found)
    }

    fn delete(&self, id: &SessionId) -> Result<(), JournalError> {
        for worker in self.workers_below(id)? {
            match self.delete_one(&worker) {
                // Another process was faster.
                Err(JournalError::NotFound(_)) => {}
                deleted => deleted?,
            }
        }
        self.delete_one(id)
    }

    fn session_paths(&self, id: &SessionId) -> Option<SessionPaths> {
        is_valid(id.as_str()).then(|| SessionPaths {
            session: format!("{THREADS}/{id}"),
            events: format!("{THREADS}/{id}/{EVENTS}"),
        })
    }

    fn root(&self) -> Option<PathBuf> {
        self.threads.parent().map(Path::to_owned)
    }

    fn files_folder(&self, id: &SessionId) -> Option<PathBuf> {
        self.folder(id).ok().map(|folder| folder.join(FILES))
    }
}

impl JsonlStore {
    /// Returns the names in the folder of sessions; none before the first session.
    fn folder_names(
        &self,
    ) -> Result<impl Iterator<Item = Result<OsString, JournalError>>, JournalError> {
        let folders = match fs::read_dir(&self.threads) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            folders => Some(folders.map_err(disk::error_at(&self.threads))?),
        };
        let names = folders.into_iter().flatten();
        Ok(names.map(|folder| {
            folder
                .map(|folder| folder.file_name())
                .map_err(disk::error_at(&self.threads))
        }))
    }

    /// Lists every session, including those of workers.
    fn list_all(&self) -> Result<StoreListing, JournalError> {
        let mut listing = StoreListing::default();
        for name in self.folder_names()? {
            match name.and_then(|name| self.summary(&name)) {
                Ok(session) => listing.sessions.extend(session),
                Err(problem) => listing.problems.push(problem),
            }
        }
        listing.sessions.sort_by(|a, b| {
            b.updated
                .cmp(&a.updated)
                .then_with(|| a.meta.thread_id.cmp(&b.meta.thread_id))
        });
        // `read_dir` has no order; a message begins with its path.
        listing.problems.sort_by_cached_key(ToString::to_string);
        Ok(listing)
    }

    /// Returns the sessions of a session's workers, and of their workers, each before its parent: an interrupted
    /// deletion leaves no session without its parent.
    fn workers_below(&self, id: &SessionId) -> Result<Vec<SessionId>, JournalError> {
        let mut workers: Vec<_> = self.list_all()?.sessions;
        workers.retain(|s| s.meta.worker.is_some());
        let mut below = vec![id.clone()];
        let mut at = 0;
        while let Some(parent) = below.get(at).cloned() {
            // Removed from the list, so that files which name each other as parent cannot cause an endless loop.
            let of_parent = |s: &mut SessionSummary| s.meta.parent.as_ref() == Some(&parent);
            below.extend(workers.extract_if(.., of_parent).map(|s| s.meta.thread_id));
            at += 1;
        }
        below.remove(0);
        below.reverse();
        Ok(below)
    }

    fn delete_one(&self, id: &SessionId) -> Result<(), JournalError> {
        let folder = self.folder(id)?;
        // No id begins with a dot, so this folder is never listed or opened.
        let doomed = self.threads.join(format!(".{id}.deleted"));
        let remains = remove(&doomed)?;
        let path = folder.join(EVENTS);
        let locked = match lock::open_locked(&path, id) {
            // A folder whose creation was interrupted has no log to lock.
            Err(JournalError::NotFound(_)) if folder.is_dir() && !path.exists() => None,
            // An earlier deletion already renamed the folder.
            Err(JournalError::NotFound(_)) if remains => return Ok(()),
            locked => Some(locked?),
        };
        fs::rename(&folder, &doomed).map_err(|error| lock::map_not_found(error, &folder, id))?;
        drop(locked);
        remove(&doomed)?;
        Ok(())
    }
}

/// Removes a folder with its content; returns whether it existed.
fn remove(folder: &Path) -> Result<bool, JournalError> {
    match fs::remove_dir_all(folder) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(disk::error_at(folder)(error)),
    }
}

/// Whether an id is usable as a folder name; see [`JournalError::InvalidId`].
pub(super) fn is_valid(id: &str) -> bool {
    id.len() <= 128
        && id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && id
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}
