//! The file of the session index, `<state>/sessions.index`: its rows, and how several processes change it without a lock.
//!
//! It is a cache. A missing or damaged file is built again from the sessions, and a failed write is ignored.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    path::PathBuf,
};

use harn_model::{SessionId, Timestamp};

use super::{disk, file_stamp::SessionFileStamp};
use crate::SessionMeta;

/// The beginning of the first line; another version of the file is built again. The generation follows.
const HEAD: &str = "harn-serve sessions 1 ";
/// The length of the longest first line.
const HEAD_BYTES: u64 = HEAD.len() as u64 + 21;

/// A line of the file. The rows of a session apply in their order.
pub(super) enum IndexRow<'a> {
    /// The folder of all sessions had this stamp when the names of its sessions were read.
    Names(SessionFileStamp),
    /// The index was last compared with all sessions at this time.
    Checked(Timestamp),
    /// A process has the session open and changes it: the index must look at its files.
    Opened(&'a str),
    /// There is a folder with this name, and the index must look at its files once.
    Unknown(&'a str),
    /// The folder is gone.
    Removed(&'a str),
    Session(IndexedSession<'a>),
}

/// What the index stores about a session.
pub(super) struct IndexedSession<'a> {
    pub(super) id: &'a str,
    pub(super) folder: u64,
    pub(super) log: SessionFileStamp,
    pub(super) meta: SessionFileStamp,
    pub(super) is_worker: bool,
    pub(super) has_prompt: Option<bool>,
    /// The facts of `meta.json` in one line. Decoded when a listing shows them, because decoding takes most of the time.
    pub(super) facts: &'a str,
}

impl<'a> IndexRow<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (kind, rest) = line.split_once(' ')?;
        match kind {
            "names" => rest.parse().ok().map(Self::Names),
            "checked" => rest.parse().ok().map(Self::Checked),
            "+" => Some(Self::Opened(rest)),
            "?" => Some(Self::Unknown(rest)),
            "-" => Some(Self::Removed(rest)),
            "=" => IndexedSession::parse(rest).map(Self::Session),
            _ => None,
        }
    }
}

impl<'a> IndexedSession<'a> {
    fn parse(rest: &'a str) -> Option<Self> {
        let mut fields = rest.splitn(7, ' ');
        let mut next = || fields.next();
        Some(Self {
            id: next()?,
            folder: next()?.parse().ok()?,
            log: next()?.parse().ok()?,
            meta: next()?.parse().ok()?,
            is_worker: next()? == "worker",
            has_prompt: match next()? {
                "prompt" => Some(true),
                "none" => Some(false),
                _ => None,
            },
            facts: next()?,
        })
    }
}

/// Adds the line of a session.
pub(super) fn write_session(out: &mut String, row: &IndexedSession<'_>) {
    use std::fmt::Write;
    let kind = if row.is_worker { "worker" } else { "session" };
    let prompt = match row.has_prompt {
        Some(true) => "prompt",
        Some(false) => "none",
        None => "unknown",
    };
    let IndexedSession {
        id,
        folder,
        log,
        meta,
        facts,
        ..
    } = row;
    // Writing to a string does not fail.
    let _ = writeln!(out, "= {id} {folder} {log} {meta} {kind} {prompt} {facts}");
}

/// Adds the line of an open session.
pub(super) fn write_opened(out: &mut String, id: &SessionId) {
    *out += &format!("+ {id}\n");
}

/// Adds the line of a session whose files have to be looked at.
pub(super) fn write_unknown(out: &mut String, id: &SessionId) {
    *out += &format!("? {id}\n");
}

/// Adds the line of a folder that is gone.
pub(super) fn write_removed(out: &mut String, id: &SessionId) {
    *out += &format!("- {id}\n");
}

/// Adds the line with the stamp of the folder of all sessions.
pub(super) fn write_names(out: &mut String, names: SessionFileStamp) {
    *out += &format!("names {names}\n");
}

/// Adds the line with the time of the last comparison.
pub(super) fn write_checked(out: &mut String, checked: Timestamp) {
    *out += &format!("checked {checked}\n");
}

/// Returns the facts of a session in one line; none if they are no Unicode.
pub(super) fn encode_facts(meta: &SessionMeta) -> Option<String> {
    serde_json::to_string(meta).ok()
}

/// A position in the file, up to which its rows are in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct IndexPosition {
    /// The generation of the file; another one has replaced it when this differs. The system gives the number of a
    /// removed file to a new one, so that is no identity.
    pub(super) generation: u64,
    /// How many bytes of the file are in memory.
    pub(super) read: u64,
}

/// The content of the file after a position.
pub(super) struct IndexText {
    text: String,
    /// Whether it is another file, so that earlier rows are no longer valid.
    pub(super) starts_over: bool,
}

impl IndexText {
    /// Calls `each` with every row; returns whether all lines are rows.
    pub(super) fn for_each_row(&self, mut each: impl FnMut(IndexRow<'_>)) -> bool {
        let mut lines = self.text.lines();
        lines.all(|line| IndexRow::parse(line).map(&mut each).is_some())
    }
}

#[derive(Debug)]
pub(super) struct IndexFile {
    path: PathBuf,
}

impl IndexFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Returns the generation of the file; none if there is no valid one.
    pub(super) fn generation(&self) -> Option<u64> {
        read_generation(&File::open(&self.path).ok()?).map(|(generation, _)| generation)
    }

    /// Returns the complete lines after `position`, and moves it.
    pub(super) fn read_on(&self, position: &mut IndexPosition) -> io::Result<IndexText> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidData);
        let mut file = File::open(&self.path)?;
        let (generation, rows) = read_generation(&file).ok_or_else(invalid)?;
        let len = file.metadata()?.len();
        let starts_over = position.generation != generation || position.read > len;
        if starts_over {
            *position = IndexPosition {
                generation,
                read: rows,
            };
        }
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(position.read))?;
        file.read_to_end(&mut bytes)?;
        // Another process may be writing the last line.
        let end = bytes.iter().rposition(|&b| b == b'\n');
        bytes.truncate(end.map_or(0, |at| at + 1));
        position.read += bytes.len() as u64;
        let text = String::from_utf8(bytes).map_err(|_| invalid())?;
        Ok(IndexText { text, starts_over })
    }

    /// Appends lines, and again if another process has replaced the file meanwhile. Returns the position behind them;
    /// none if there is no file.
    pub(super) fn append(&self, lines: &str) -> Option<IndexPosition> {
        const ATTEMPTS: usize = 4;
        (0..ATTEMPTS).find_map(|_| {
            let options = &mut File::options();
            let mut file = options.read(true).append(true).open(&self.path).ok()?;
            let (generation, _) = read_generation(&file)?;
            file.write_all(lines.as_bytes()).ok()?;
            let read = file.stream_position().ok()?;
            let position = IndexPosition { generation, read };
            (self.generation() == Some(generation)).then_some(position)
        })
    }

    /// Replaces the file, unless another process does or did. Sessions that have rows in the old one after `position`
    /// count as open in the new one, so no change is lost. Returns the position after `rows`.
    pub(super) fn replace(
        &self,
        rows: &str,
        position: IndexPosition,
        generation: u64,
    ) -> io::Result<IndexPosition> {
        let lock = disk::private_file()
            .write(true)
            .create(true)
            .truncate(false)
            .open(self.path.with_extension("lock"))?;
        lock.try_lock()?;
        let old = File::open(&self.path).ok();
        let replaced = old.as_ref().and_then(read_generation);
        if replaced.is_some_and(|(generation, _)| generation != position.generation) {
            return Err(io::Error::other("another process has replaced the index"));
        }
        let content = format!("{HEAD}{generation}\n{rows}");
        disk::replace(&self.path, content.as_bytes(), false)?;
        let opened = old.filter(|_| replaced.is_some());
        if let Some(opened) = opened.and_then(|old| read_opened(old, position.read)) {
            self.append(&opened);
        }
        Ok(IndexPosition {
            generation,
            read: content.len() as u64,
        })
    }
}

/// Reads the first line of a file from its start: its generation, and where its rows begin.
fn read_generation(mut file: &File) -> Option<(u64, u64)> {
    let mut head = Vec::new();
    Read::take(&mut file, HEAD_BYTES)
        .read_to_end(&mut head)
        .ok()?;
    let end = head.iter().position(|&b| b == b'\n')?;
    let line = std::str::from_utf8(head.get(..end)?).ok()?;
    let generation = line.strip_prefix(HEAD)?.parse().ok()?;
    Some((generation, end as u64 + 1))
}

/// Returns rows that mark the sessions as open that have a row after `read`.
fn read_opened(mut old: File, read: u64) -> Option<String> {
    old.seek(SeekFrom::Start(read)).ok()?;
    let mut text = String::new();
    old.read_to_string(&mut text).ok()?;
    let rows = text.lines().filter_map(IndexRow::parse);
    let opened = rows.filter_map(|row| match row {
        IndexRow::Opened(id) | IndexRow::Unknown(id) => Some(format!("+ {id}\n")),
        IndexRow::Session(row) => Some(format!("+ {}\n", row.id)),
        IndexRow::Names(_) | IndexRow::Checked(_) | IndexRow::Removed(_) => None,
    });
    Some(opened.collect())
}
