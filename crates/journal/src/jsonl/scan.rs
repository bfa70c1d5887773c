//! Reads a log from its start, line by line, and checks everything. It has one line in memory at a time and
//! changes nothing on disk.

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    os::unix::fs::FileExt,
    path::Path,
};

use harn_model::{Envelope, Seq};

use super::{
    disk::{self, FileSpan},
    line,
    log_file::EventOffsets,
    text_chunk::PreviousLineIds,
};
use crate::JournalError;

const BLOCK: usize = 65_536;

/// What a scan found: the part of a log before its first damage.
#[derive(Default)]
pub(super) struct LogScan {
    pub(super) last: Seq,
    /// The last line without a checksum; those after it have one.
    pub(super) last_unchecked: Seq,
    /// The end of the last intact line.
    pub(super) len: u64,
    /// Bytes after that: an interrupted write, or the damage and everything behind it.
    pub(super) rest: u64,
    pub(super) index: EventOffsets,
}

/// Reads a log and calls `each` with every event, in order. Only the end of an interrupted write may follow the
/// intact part.
pub(super) fn scan(
    file: &File,
    path: &Path,
    each: impl FnMut(Envelope),
) -> Result<LogScan, JournalError> {
    match scan_intact(file, path, each)? {
        (intact, None) => Ok(intact),
        (_, Some(damage)) => Err(damage),
    }
}

/// Reads a log until its end or its first damaged line, and returns the damage.
pub(super) fn scan_intact(
    file: &File,
    path: &Path,
    mut each: impl FnMut(Envelope),
) -> Result<(LogScan, Option<JournalError>), JournalError> {
    let size = file.metadata().map_err(disk::error_at(path))?.len();
    // An interrupted write never reached its newline, and a tail of zeros after a power failure has none either:
    // everything after the last newline is partial, everything before it was acknowledged.
    let end = end_of_lines(file, path, size)?;
    let mut input = BufReader::with_capacity(disk::clamp(end, BLOCK), FileSpan::new(file, end));
    let mut buf = Vec::new();
    let mut before = PreviousLineIds::default();
    let mut found = LogScan {
        rest: size,
        ..LogScan::default()
    };
    let damage_at = |seq: Seq, reason| {
        Some(JournalError::Corrupt {
            path: path.to_owned(),
            line: seq.0,
            reason,
        })
    };
    while found.len < end {
        buf.clear();
        let read = input
            .read_until(b'\n', &mut buf)
            .map_err(disk::error_at(path))?;
        let seq = found.last.next();
        let may_lack_checksum = found.last_unchecked == found.last;
        let envelope = match line::decode(&buf, seq, may_lack_checksum, &mut before) {
            Ok(envelope) => envelope,
            Err(reason) => return Ok((found, damage_at(seq, reason))),
        };
        found.index.record(seq, found.len);
        found.len += read as u64;
        found.rest -= read as u64;
        found.last = seq;
        if !line::has_checksum(&buf) {
            found.last_unchecked = seq;
        }
        each(envelope);
    }
    let next = found.last.next();
    let is_whole = is_line_with_another_end(file, found.len, size, next);
    let damage = match is_whole.map_err(disk::error_at(path))? {
        true => damage_at(
            next,
            "its newline was changed after it was written".to_owned(),
        ),
        false => None,
    };
    Ok((found, damage))
}

/// Whether the bytes after the last newline are a whole line and one byte, which was its newline: the write of a
/// line ends before that byte or with it. Zeros are the end of a write that a power failure interrupted.
fn is_line_with_another_end(file: &File, start: u64, size: u64, seq: Seq) -> io::Result<bool> {
    let mut end = [0; 2];
    let Some(last) = size.checked_sub(2).filter(|&last| last >= start) else {
        return Ok(false);
    };
    file.read_exact_at(&mut end, last)?;
    if end[0] != b'}' || end[1] == 0 {
        return Ok(false);
    }
    let mut line = vec![0; disk::clamp(size - start - 1, usize::MAX)];
    file.read_exact_at(&mut line, start)?;
    let decoded = line::decode(&line, seq, false, &mut PreviousLineIds::default());
    Ok(line::has_checksum(&line) && decoded.is_ok())
}

/// Returns the offset after the last newline before `size`, searched from the end.
fn end_of_lines(file: &File, path: &Path, size: u64) -> Result<u64, JournalError> {
    let mut buf = vec![0; disk::clamp(size, BLOCK)];
    let mut end = size;
    while end > 0 {
        let n = disk::clamp(end, BLOCK);
        let start = end - n as u64;
        file.read_exact_at(&mut buf[..n], start)
            .map_err(disk::error_at(path))?;
        if let Some(i) = buf[..n].iter().rposition(|&b| b == b'\n') {
            return Ok(start + i as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}
