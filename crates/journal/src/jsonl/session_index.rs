//! An index of the sessions of a store, so that a page of a listing does not read every session.
//!
//! The index is a cache. It looks at the files of sessions that may have changed: those that a process has open, and
//! those in a folder that is new. It compares itself with all files once an hour, and when a row turns out to be wrong.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{SystemTime, UNIX_EPOCH},
};

use harn_model::{SessionId, Timestamp};

use super::{
    disk,
    file_stamp::SessionFileStamp,
    index_entry::{
        COMPARISON_MILLIS, EntryTrust, IndexEntry, IndexedFacts, LookAtSession, SessionStamps,
        millis,
    },
    index_file::{self, IndexFile, IndexPosition, IndexRow},
    open_mark::OpenMark,
};
use crate::{JournalError, SessionMeta, SessionSummary};

const FILE: &str = "sessions.index";
/// About the length of a row.
const ROW_BYTES: u64 = 512;
/// The file is written anew when it has this many bytes of rows that later rows replace.
const REPLACED_BYTES: u64 = 256 * 1024;

#[derive(Debug)]
pub(super) struct SessionIndex {
    threads: PathBuf,
    file: Arc<IndexFile>,
    table: Mutex<IndexTable>,
}

#[derive(Debug, Default)]
struct IndexTable {
    position: IndexPosition,
    names: Option<SessionFileStamp>,
    checked: Timestamp,
    entries: HashMap<SessionId, IndexEntry>,
    /// The listed sessions in the order of a listing: the last changed first, then by id.
    order: Vec<(Timestamp, SessionId)>,
    is_sorted: bool,
    /// The open sessions of this process.
    own: HashMap<SessionId, Weak<OpenMark>>,
    /// Set when a row was wrong.
    doubtful: bool,
}

impl SessionIndex {
    pub(super) fn new(state_dir: &Path, threads: PathBuf) -> Self {
        Self {
            threads,
            file: Arc::new(IndexFile::new(state_dir.join(FILE))),
            table: Mutex::default(),
        }
    }

    /// Registers a session that this process has opened.
    pub(super) fn register(&self, id: &SessionId) -> Arc<OpenMark> {
        let mark = Arc::new(OpenMark::new(self.file.clone(), id.clone()));
        self.table().own.insert(id.clone(), Arc::downgrade(&mark));
        mark
    }

    /// Brings the index up to date; returns the errors of sessions that cannot be listed.
    pub(super) fn refresh(
        &self,
        look: LookAtSession<'_>,
    ) -> Result<Vec<JournalError>, JournalError> {
        let mut table = self.table();
        self.read_rows(&mut table);
        let now = now();
        let names = match fs::metadata(&self.threads) {
            Ok(folder) => SessionFileStamp::of(&folder),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                *table = IndexTable::default();
                return Ok(Vec::new());
            }
            Err(error) => return Err(disk::error_at(&self.threads)(error)),
        };
        let age = millis(now).checked_sub(table.checked);
        let compares = table.doubtful || age.is_none_or(|age| age > COMPARISON_MILLIS);
        let mut rows = String::new();
        let reads_names = compares || table.names != Some(names);
        if reads_names {
            self.read_names(&mut table, &mut rows)?;
            // A folder that is made in the same tick would have the same stamp.
            table.names = (!names.is_fresh(now)).then_some(names);
        }
        let (settled, problems) = table.look(compares, now, look, &mut rows);
        if compares {
            table.checked = millis(now);
            table.doubtful = false;
        }
        let replaced = table.position.read;
        let replaced = replaced.saturating_sub(table.entries.len() as u64 * ROW_BYTES);
        if compares || replaced > REPLACED_BYTES {
            // A cache that cannot be written is only slow.
            let generation = nanos(now);
            if let Ok(position) = self
                .file
                .replace(&table.encode(), table.position, generation)
            {
                table.position = position;
            }
        } else if reads_names || !settled.is_empty() {
            if let Some(names) = table.names.filter(|_| reads_names) {
                // With this row, other processes read no names: all that are not settled need one.
                table.write_unknown(&mut rows);
                index_file::write_names(&mut rows, names);
            }
            self.append(&mut table, &rows, &settled);
        }
        table.sort();
        Ok(problems)
    }

    /// Appends rows. If another process was faster, its rows may be newer than these, so they are withdrawn.
    fn append(&self, table: &mut IndexTable, rows: &str, settled: &[SessionId]) {
        let Some(position) = self.file.append(rows).filter(|_| !rows.is_empty()) else {
            return;
        };
        let begin = position.read - rows.len() as u64;
        if table.position
            == (IndexPosition {
                read: begin,
                ..position
            })
        {
            table.position = position;
            return;
        }
        let mut unknown = String::new();
        for id in settled {
            index_file::write_unknown(&mut unknown, id);
        }
        self.file.append(&unknown);
    }

    /// Returns up to `most` listed sessions after a position of the listing. Call [`Self::refresh`] before.
    pub(super) fn rows_after(
        &self,
        after: Option<&(Timestamp, SessionId)>,
        most: usize,
    ) -> Vec<SessionSummary> {
        let mut table = self.table();
        table.sort();
        let from = after.map_or(0, |after| {
            let is_before = |row: &(Timestamp, SessionId)| !is_after(row, after);
            table.order.partition_point(is_before)
        });
        let rows = table.order.iter().skip(from).take(most).cloned();
        let rows: Vec<_> = rows.collect();
        let rows = rows.into_iter().filter_map(|(updated, id)| {
            let meta = table.decoded(&id)?;
            Some(SessionSummary { meta, updated })
        });
        rows.collect()
    }

    /// Records that a session changed that no process has open.
    pub(super) fn note_change(&self, id: &SessionId) {
        let mut row = String::new();
        index_file::write_unknown(&mut row, id);
        self.file.append(&row);
    }

    /// Records that the files of a session differ from its row. Returns whether the row was wrong, and did not just
    /// change: then the next [`Self::refresh`] compares everything.
    pub(super) fn report_difference(&self, id: &SessionId) -> bool {
        let mut table = self.table();
        let own = table.own.get(id).and_then(Weak::upgrade);
        let entry = table.entries.get(id);
        let is_wrong = own.is_none() && entry.is_some_and(|it| it.trust == EntryTrust::Settled);
        table.doubtful |= is_wrong;
        is_wrong
    }

    /// Returns whether a session has a prompt, if the index knows.
    pub(super) fn has_prompt(&self, id: &SessionId) -> Option<bool> {
        let table = self.table();
        let entry = table.entries.get(id)?;
        // A prompt stays in the log; without one, the log may have grown since.
        entry
            .has_prompt
            .filter(|has_prompt| *has_prompt || entry.trust == EntryTrust::Settled)
    }

    pub(super) fn set_prompt(&self, id: &SessionId, has_prompt: bool) {
        let mut table = self.table();
        if let Some(entry) = table.entries.get_mut(id)
            && (has_prompt || entry.trust == EntryTrust::Settled)
        {
            entry.has_prompt = Some(has_prompt);
        }
    }

    fn table(&self) -> MutexGuard<'_, IndexTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies what other processes have written. After damage, all entries are looked at again.
    fn read_rows(&self, table: &mut IndexTable) {
        let text = match self.file.read_on(&mut table.position) {
            Ok(text) => text,
            Err(_) => {
                table.doubtful = true;
                return;
            }
        };
        if text.starts_over {
            table.entries.clear();
            table.names = None;
            table.checked = 0;
            table.is_sorted = false;
        }
        let is_whole = text.for_each_row(|row| table.apply(row));
        table.doubtful |= !is_whole;
    }

    /// Compares the names of the sessions with the entries: adds new folders, and removes missing ones.
    fn read_names(&self, table: &mut IndexTable, rows: &mut String) -> Result<(), JournalError> {
        let failed = |error| disk::error_at(&self.threads)(error);
        let mut found = BTreeSet::new();
        for folder in fs::read_dir(&self.threads).map_err(failed)? {
            let folder = folder.map_err(failed)?;
            let name = folder.file_name();
            let Some(name) = name.to_str().filter(|name| super::store::is_valid(name)) else {
                continue;
            };
            let (id, number) = (SessionId::from(name), folder_number(&folder));
            let entry = table.entries.entry(id.clone()).or_default();
            if entry.folder != number {
                entry.folder = number;
                entry.trust = EntryTrust::Unknown;
            }
            found.insert(id);
        }
        if found.len() < table.entries.len() {
            for (id, _) in table.entries.extract_if(|id, _| !found.contains(id)) {
                index_file::write_removed(rows, &id);
            }
            table.is_sorted = false;
        }
        Ok(())
    }
}

impl IndexTable {
    fn apply(&mut self, row: IndexRow<'_>) {
        match row {
            IndexRow::Names(names) => self.names = Some(names),
            IndexRow::Checked(checked) => self.checked = checked,
            IndexRow::Opened(id) => self.entry(id).trust = EntryTrust::Open,
            IndexRow::Unknown(id) => self.entry(id).trust = EntryTrust::Unknown,
            IndexRow::Removed(id) => {
                self.entries.remove(id);
                self.is_sorted = false;
            }
            IndexRow::Session(row) => {
                self.is_sorted = false;
                let entry = self.entry(row.id);
                let trust = match entry.trust {
                    EntryTrust::Open => EntryTrust::Open,
                    EntryTrust::Unknown | EntryTrust::Settled => EntryTrust::Settled,
                };
                *entry = IndexEntry {
                    folder: row.folder,
                    stamps: SessionStamps {
                        log: row.log,
                        meta: row.meta,
                    },
                    is_worker: row.is_worker,
                    has_prompt: row.has_prompt,
                    facts: IndexedFacts::Encoded(row.facts.into()),
                    trust,
                };
            }
        }
    }

    fn entry(&mut self, id: &str) -> &mut IndexEntry {
        self.entries.entry(SessionId::from(id)).or_default()
    }

    /// Looks at the files of sessions that may have changed, or of all. Adds rows for other processes, and returns the
    /// sessions that these rows settle, and the errors of those that cannot be listed.
    fn look(
        &mut self,
        all: bool,
        now: SystemTime,
        look: LookAtSession<'_>,
        rows: &mut String,
    ) -> (Vec<SessionId>, Vec<JournalError>) {
        self.own.retain(|_, mark| mark.strong_count() > 0);
        let (mut settled, mut problems) = (Vec::new(), Vec::new());
        for (id, entry) in &mut self.entries {
            let own = self.own.get(id).and_then(Weak::upgrade);
            let changed = own.map(|mark| mark.take_change());
            let is_quiet = match entry.trust {
                EntryTrust::Unknown => false,
                EntryTrust::Open => changed == Some(false),
                EntryTrust::Settled => changed != Some(true),
            };
            if is_quiet && !all {
                continue;
            }
            if all && changed.is_none() && entry.is_abandoned(now) {
                // A process that still has it open marks it again, because the file is replaced.
                entry.trust = EntryTrust::Unknown;
            }
            let before = (entry.trust, entry.stamps);
            if let Err(problem) = entry.look(id, now, look) {
                problems.push(problem);
            }
            self.is_sorted &= entry.stamps == before.1;
            if entry.trust == EntryTrust::Settled && before != (entry.trust, entry.stamps) {
                entry.write(id, rows);
                settled.push(id.clone());
            }
        }
        // The table has no order; a message begins with its path.
        problems.sort_by_cached_key(ToString::to_string);
        (settled, problems)
    }

    fn write_unknown(&self, rows: &mut String) {
        for (id, entry) in &self.entries {
            if entry.trust == EntryTrust::Unknown {
                index_file::write_unknown(rows, id);
            }
        }
    }

    /// Returns the rows of everything that is known.
    fn encode(&self) -> String {
        let mut rows = String::with_capacity(self.entries.len() * 320);
        for (id, entry) in &self.entries {
            entry.write(id, &mut rows);
            match entry.trust {
                EntryTrust::Unknown => index_file::write_unknown(&mut rows, id),
                EntryTrust::Open => index_file::write_opened(&mut rows, id),
                EntryTrust::Settled => {}
            }
        }
        // Last, so that a file which was cut off is not trusted.
        index_file::write_checked(&mut rows, self.checked);
        if let Some(names) = self.names {
            index_file::write_names(&mut rows, names);
        }
        rows
    }

    fn sort(&mut self) {
        if std::mem::replace(&mut self.is_sorted, true) {
            return;
        }
        let listed = self
            .entries
            .iter()
            .filter(|(_, entry)| !entry.is_worker && !matches!(entry.facts, IndexedFacts::Missing));
        self.order = listed
            .map(|(id, entry)| (entry.stamps.log.updated(), id.clone()))
            .collect();
        self.order
            .sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    }

    fn decoded(&mut self, id: &SessionId) -> Option<SessionMeta> {
        let entry = self.entries.get_mut(id)?;
        if let IndexedFacts::Encoded(text) = &entry.facts {
            let Ok(meta) = serde_json::from_str::<SessionMeta>(text) else {
                self.doubtful = true;
                return None;
            };
            entry.facts = IndexedFacts::Decoded(Arc::new(meta));
        }
        match &entry.facts {
            IndexedFacts::Decoded(meta) => Some(SessionMeta::clone(meta)),
            IndexedFacts::Encoded(_) | IndexedFacts::Missing => None,
        }
    }
}

/// Whether a row of a listing comes after another one.
fn is_after(row: &(Timestamp, SessionId), other: &(Timestamp, SessionId)) -> bool {
    row.0 < other.0 || (row.0 == other.0 && row.1 > other.1)
}

fn folder_number(folder: &fs::DirEntry) -> u64 {
    #[cfg(unix)]
    let number = std::os::unix::fs::DirEntryExt::ino(folder);
    // Other systems have no number; a folder with a known name is then not new.
    #[cfg(not(unix))]
    let number = u64::from(folder.file_name().is_empty());
    number
}

/// Returns a number that no earlier index has.
fn nanos(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX - 1)
}

#[allow(
    clippy::disallowed_methods,
    reason = "compared with the times of files, which the system sets"
)]
fn now() -> SystemTime {
    SystemTime::now()
}
