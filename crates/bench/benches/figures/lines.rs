//! Reads an agent's output in large blocks and splits it into lines, as cheaply as a client can.

use std::{io::Read, time::Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The beginning of a notification, in the order in which all programs here write its members. Any other line
/// is parsed, so a mismatch costs time, not correctness.
const NOTIFICATION: &[u8] = br#"{"jsonrpc":"2.0","method":"#;

/// Room for the longest line: the list of ten thousand pending messages.
const BUFFER: usize = 8 * 1024 * 1024;

pub(crate) struct Lines<R> {
    from: R,
    buffer: Vec<u8>,
    begin: usize,
    end: usize,
}

/// What was read up to a response.
pub(crate) struct Drained {
    /// The result in the response.
    pub(crate) result: Box<RawValue>,
    /// Lines before the response.
    pub(crate) lines: u64,
    /// Bytes of these lines, with their newlines.
    pub(crate) bytes: u64,
    /// When the response arrived.
    pub(crate) at: Instant,
}

#[derive(Deserialize)]
struct Incoming<'a> {
    id: Option<u64>,
    method: Option<&'a str>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(from: R) -> Self {
        Self {
            from,
            buffer: vec![0; BUFFER],
            begin: 0,
            end: 0,
        }
    }

    /// Returns the next line without its newline; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>> {
        let mut seen = self.begin;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[seen..self.end]) {
                let begin = self.begin;
                self.begin = seen + at + 1;
                return Ok(Some(&self.buffer[begin..seen + at]));
            }
            self.buffer.copy_within(self.begin..self.end, 0);
            self.end -= self.begin;
            self.begin = 0;
            seen = self.end;
            if self.end == self.buffer.len() {
                bail!("a line of more than {} bytes", self.buffer.len());
            }
            let read = self
                .from
                .read(&mut self.buffer[self.end..])
                .context("reading the agent's output")?;
            if read == 0 {
                return Ok(None);
            }
            self.end += read;
        }
    }

    /// Reads up to the response to request `id`; calls `each` for every line before it.
    pub(crate) fn read_until_response(
        &mut self,
        id: u64,
        mut each: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<Drained> {
        let (mut lines, mut bytes) = (0, 0);
        loop {
            let line = self.next()?.context("the agent ended before it answered")?;
            if !line.starts_with(NOTIFICATION) {
                let incoming: Incoming<'_> =
                    serde_json::from_slice(line).context("the line is not JSON-RPC")?;
                if incoming.id == Some(id) && incoming.method.is_none() {
                    if let Some(error) = incoming.error {
                        bail!("the agent answered with an error: {error}");
                    }
                    let result = incoming.result.context("an answer without a result")?;
                    return Ok(Drained {
                        result: result.to_owned(),
                        lines,
                        bytes,
                        at: Instant::now(),
                    });
                }
            }
            each(line)?;
            lines += 1;
            bytes += line.len() as u64 + 1;
        }
    }
}
