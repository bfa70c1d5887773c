//! Lines in and bytes out, whatever carries them: pipes, sockets, WebSockets. Both directions are bounded.
//! Knows no protocol, only the envelope of JSON-RPC that several have in common.
//!
//! The blocking loops belong on threads of their own: a read of stdin cannot be cancelled, and an async
//! runtime would wait for it at exit.

mod outgoing;
pub mod pace;
pub mod rpc;
mod socket;
pub mod ws;

use std::io::{self, BufRead, BufReader, Read, Write};

use tokio::sync::mpsc;

pub use outgoing::{
    Disconnected, Limits, Outgoing, OutgoingReceiver, Parcel, outgoing, outgoing_of,
};
pub use socket::{read_lines_from, write_pieces};

/// The longest line a client may send over stdio; screenshots are large.
pub const STDIO_LINE_LIMIT: usize = 64 * 1024 * 1024;

/// A line from the client, or what came in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line, without its end.
    Text(String),
    /// A line longer than allowed; it was skipped.
    TooLong {
        /// What is allowed.
        limit: usize,
    },
    /// A line that is not UTF-8; it was skipped.
    NotUtf8,
}

/// Reads lines until the input ends or nobody listens any more. Blank lines are skipped.
pub fn read_lines<T: From<Line>>(
    reader: impl Read,
    limit: usize,
    lines: mpsc::Sender<T>,
) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(64 * 1024, reader);
    let mut line = Vec::new();
    loop {
        line.clear();
        let item = match read_line(&mut reader, &mut line, limit)? {
            End::OfInput if line.is_empty() => return Ok(()),
            End::OfInput | End::OfLine => decode(&mut line),
            End::OverLimit => Some(Line::TooLong { limit }),
        };
        if let Some(item) = item
            && lines.blocking_send(item.into()).is_err()
        {
            return Ok(());
        }
    }
}

enum End {
    OfLine,
    OfInput,
    OverLimit,
}

/// Reads up to the next newline. What is over the limit is thrown away as it comes.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>, limit: usize) -> io::Result<End> {
    let mut over = false;
    loop {
        let available = match reader.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if available.is_empty() {
            return Ok(if over { End::OverLimit } else { End::OfInput });
        }
        let newline = available.iter().position(|&b| b == b'\n');
        let part = &available[..newline.unwrap_or(available.len())];
        over |= line.len() + part.len() > limit;
        if over {
            *line = Vec::new();
        } else {
            line.extend_from_slice(part);
        }
        let used = newline.map_or(available.len(), |at| at + 1);
        reader.consume(used);
        if newline.is_some() {
            return Ok(if over { End::OverLimit } else { End::OfLine });
        }
    }
}

fn decode(line: &mut Vec<u8>) -> Option<Line> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return None;
    }
    Some(match String::from_utf8(std::mem::take(line)) {
        Ok(line) => Line::Text(line),
        Err(_) => Line::NotUtf8,
    })
}

/// Writes until every sender is gone or the client is.
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
