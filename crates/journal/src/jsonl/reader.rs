//! Reads an open log from any event on, while it grows. It reads only published lines and never moves the position
//! of appends.

use std::os::unix::fs::FileExt;

use harn_model::{Envelope, Seq};

use super::{disk, line, log_file::LogFile, text_chunk::PreviousLineIds};
use crate::{JournalError, LogReader, ReadCursor};

/// Smaller reads are not worth the call.
const MIN_READ: usize = 4_096;
const SKIP_BLOCK: usize = 16_384;

impl LogReader for LogFile {
    fn read(
        &self,
        cursor: &mut ReadCursor,
        max_bytes: usize,
    ) -> Result<Vec<Envelope>, JournalError> {
        let (last, end) = self.published_end();
        if cursor.after >= last {
            return Ok(Vec::new());
        }
        let first = cursor.after.next();
        // The offset is a hint of the caller: it is used only if the right event is there.
        let hinted = cursor
            .offset
            .filter(|&offset| offset < end)
            .and_then(|offset| self.read_batch(first, offset, end, max_bytes).ok());
        let (events, next) = match hinted {
            Some(found) => found,
            None => self.read_batch(first, self.find_offset(first, end)?, end, max_bytes)?,
        };
        if let Some(event) = events.last() {
            *cursor = ReadCursor {
                after: event.seq,
                offset: Some(next),
            };
        }
        Ok(events)
    }
}

impl LogFile {
    /// Returns the events from `first`, which begins at `start`, and the offset of the next one.
    fn read_batch(
        &self,
        first: Seq,
        start: u64,
        end: u64,
        max_bytes: usize,
    ) -> Result<(Vec<Envelope>, u64), JournalError> {
        let buf = self.read_at_least_a_line(first, start, end, max_bytes)?;
        let mut events = Vec::new();
        let mut used = 0;
        let mut seq = first;
        let mut before = PreviousLineIds::default();
        for text in buf.split_inclusive(|&b| b == b'\n') {
            let is_cut = !text.ends_with(b"\n");
            if !events.is_empty() && (is_cut || used + text.len() > max_bytes) {
                break;
            }
            match line::decode(text, seq, seq <= self.last_unchecked, &mut before) {
                Ok(envelope) => events.push(envelope),
                Err(reason) if events.is_empty() => return Err(self.corrupt_error(seq, reason)),
                // Return the good events first; the next read begins here and reports the error.
                Err(_) => break,
            }
            used += text.len();
            seq = seq.next();
        }
        Ok((events, start + used as u64))
    }

    /// Returns about `max_bytes` from `start`, or more if the first line is longer.
    fn read_at_least_a_line(
        &self,
        first: Seq,
        start: u64,
        end: u64,
        max_bytes: usize,
    ) -> Result<Vec<u8>, JournalError> {
        let mut buf = Vec::new();
        let mut want = max_bytes.max(MIN_READ);
        loop {
            let had = buf.len();
            buf.resize(disk::clamp(end - start, want), 0);
            if buf.len() == had {
                return Err(self.corrupt_error(first, "the line has no end".to_owned()));
            }
            self.fill(&mut buf[had..], start + had as u64)?;
            if buf[had..].contains(&b'\n') {
                return Ok(buf);
            }
            want = want.saturating_mul(2);
        }
    }

    /// Returns the offset of `seq`, from the index and a count of lines after it.
    fn find_offset(&self, seq: Seq, end: u64) -> Result<u64, JournalError> {
        let place = self.index().nearest_before(seq);
        let missing = || self.corrupt_error(seq, "the line is missing".to_owned());
        let (mut offset, mut lines) = place.ok_or_else(missing)?;
        let mut buf = vec![0; if lines > 0 { SKIP_BLOCK } else { 0 }];
        while lines > 0 {
            let n = disk::clamp(end - offset, buf.len());
            if n == 0 {
                return Err(missing());
            }
            self.fill(&mut buf[..n], offset)?;
            for (i, _) in buf[..n].iter().enumerate().filter(|&(_, &b)| b == b'\n') {
                lines -= 1;
                if lines == 0 {
                    return Ok(offset + i as u64 + 1);
                }
            }
            offset += n as u64;
        }
        Ok(offset)
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<(), JournalError> {
        self.file
            .read_exact_at(buf, offset)
            .map_err(disk::error_at(&self.path))
    }

    /// Builds an error for the line of `seq`: events have no gaps, so its number is the line number.
    fn corrupt_error(&self, seq: Seq, reason: String) -> JournalError {
        JournalError::Corrupt {
            path: self.path.clone(),
            line: seq.0,
            reason,
        }
    }
}
