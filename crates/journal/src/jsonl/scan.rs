//! Reads a log from its start, line by line, and checks everything. It has one line in memory at a time and
//! changes nothing on disk.

use std::{
    fs::File,
    io::{BufRead, BufReader},
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

pub(super) struct LogScan {
    pub(super) last: Seq,
    /// The end of the last complete line.
    pub(super) len: u64,
    /// Bytes after that: a line whose write was interrupted.
    pub(super) torn: u64,
    pub(super) index: EventOffsets,
}

/// Calls `each` with every event, in order.
pub(super) fn scan(
    file: &File,
    path: &Path,
    mut each: impl FnMut(Envelope),
) -> Result<LogScan, JournalError> {
    let size = file.metadata().map_err(disk::error_at(path))?.len();
    // An interrupted write never reached its newline, and a tail of zeros after a power failure has none either:
    // everything after the last newline is partial, everything before it was acknowledged.
    let len = end_of_lines(file, path, size)?;
    let mut input = BufReader::with_capacity(disk::clamp(len, BLOCK), FileSpan::new(file, len));
    let mut buf = Vec::new();
    let mut index = EventOffsets::default();
    let mut offset = 0;
    let mut last = Seq::ZERO;
    let mut before = PreviousLineIds::default();
    while offset < len {
        buf.clear();
        let read = input
            .read_until(b'\n', &mut buf)
            .map_err(disk::error_at(path))?;
        let seq = last.next();
        let envelope = line::decode(&buf, seq, &mut before);
        let envelope = envelope.map_err(|reason| JournalError::Corrupt {
            path: path.to_owned(),
            line: seq.0,
            reason,
        })?;
        index.record(seq, offset);
        offset += read as u64;
        last = seq;
        each(envelope);
    }
    Ok(LogScan {
        last,
        len,
        torn: size - len,
        index,
    })
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
