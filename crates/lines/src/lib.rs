//! Reads lines from a client and writes bytes to it, over pipes, sockets and WebSockets. Both directions are
//! bounded. Knows no protocol, only the JSON-RPC envelope that several have in common.
//!
//! Run the blocking loops on separate threads: a read of stdin cannot be cancelled, and an async runtime would
//! wait for it at exit.

#[cfg(feature = "http")]
pub mod body;
mod outgoing;
pub mod pace;
pub mod rpc;
pub mod rpc_line;
mod socket;
#[cfg(feature = "http")]
pub mod ws;

use std::io::{self, BufRead, BufReader, Read, Write};

use tokio::sync::mpsc;

pub use outgoing::{
    ClientDisconnected, OutgoingLimits, OutgoingReceiver, OutgoingSender, Parcel, outgoing,
    outgoing_with_limits,
};
pub use socket::{read_lines_from, write_pieces};

/// The longest line that a client may send over stdio; screenshots are large.
pub const STDIO_LINE_LIMIT: usize = 64 * 1024 * 1024;

/// A line from the client, or the reason why it was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IncomingLine {
    /// A line, without its line break.
    Text(String),
    /// A line longer than allowed; it was skipped.
    TooLong {
        /// The longest allowed line, in bytes.
        limit: usize,
    },
    /// A line that is not UTF-8; it was skipped.
    NotUtf8,
}

/// Reads lines until the input ends or the receiver is dropped. Skips blank lines.
pub fn read_lines<T: From<IncomingLine>>(
    reader: impl Read,
    limit: usize,
    lines: mpsc::Sender<T>,
) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(64 * 1024, reader);
    let mut buffer = LineBuffer::new(limit);
    loop {
        let available = match reader.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let ends = available.is_empty();
        let (used, line) = buffer.take(available);
        reader.consume(used);
        if let Some(line) = line
            && lines.blocking_send(line.into()).is_err()
        {
            return Ok(());
        }
        if ends {
            return Ok(());
        }
    }
}

struct LineBuffer {
    line: Vec<u8>,
    limit: usize,
    is_over: bool,
}

impl LineBuffer {
    fn new(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            limit,
            is_over: false,
        }
    }

    /// Takes bytes up to the next newline, or nothing at the end of the input. Returns how many it took, and
    /// the line that ends with them, if it is not blank. Drops bytes over the limit as they arrive.
    fn take(&mut self, available: &[u8]) -> (usize, Option<IncomingLine>) {
        let newline = available.iter().position(|&byte| byte == b'\n');
        let part = &available[..newline.unwrap_or(available.len())];
        self.is_over |= self.line.len() + part.len() > self.limit;
        match self.is_over {
            true => self.line = Vec::new(),
            false => self.line.extend_from_slice(part),
        }
        if newline.is_none() && !available.is_empty() {
            return (available.len(), None);
        }
        let limit = self.limit;
        let line = std::mem::take(&mut self.line);
        let line = match std::mem::take(&mut self.is_over) {
            true => Some(IncomingLine::TooLong { limit }),
            false if line.iter().all(u8::is_ascii_whitespace) => None,
            false => {
                Some(String::from_utf8(line).map_or(IncomingLine::NotUtf8, IncomingLine::Text))
            }
        };
        (newline.map_or(0, |at| at + 1), line)
    }
}

/// Writes until every sender is dropped or a write fails.
pub fn write_chunks<P: Parcel>(
    mut queue: OutgoingReceiver<P>,
    mut writer: impl Write,
) -> io::Result<()> {
    while let Some(piece) = queue.blocking_recv() {
        writer.write_all(piece.bytes())?;
        writer.flush()?;
    }
    Ok(())
}
