//! Lines in and bytes out, whatever carries them. Both directions are bounded.
//!
//! The blocking loops belong on threads of their own: a read of stdin cannot be cancelled, and an async
//! runtime would wait for it at exit.

use std::{
    collections::VecDeque,
    io::{self, BufRead, BufReader, Read, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// The longest line a client may send over stdio; screenshots are large.
pub const STDIO_LINE_LIMIT: usize = 64 * 1024 * 1024;

/// A line from the client, or what came in its place.
#[derive(Debug, PartialEq, Eq)]
pub enum Incoming {
    /// A line, without its end.
    Line(String),
    /// A line longer than allowed; it was skipped.
    TooLong {
        /// What is allowed.
        limit: usize,
    },
    /// A line that is not UTF-8; it was skipped.
    NotUtf8,
}

/// Reads lines until the input ends or nobody listens any more. Blank lines are skipped.
pub fn read_lines(
    reader: impl Read,
    limit: usize,
    lines: mpsc::Sender<Incoming>,
) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(64 * 1024, reader);
    let mut line = Vec::new();
    loop {
        line.clear();
        let item = match read_line(&mut reader, &mut line, limit)? {
            End::OfInput if line.is_empty() => return Ok(()),
            End::OfInput | End::OfLine => decode(&mut line),
            End::OverLimit => Some(Incoming::TooLong { limit }),
        };
        if let Some(item) = item
            && lines.blocking_send(item).is_err()
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

fn decode(line: &mut Vec<u8>) -> Option<Incoming> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return None;
    }
    Some(match String::from_utf8(std::mem::take(line)) {
        Ok(line) => Incoming::Line(line),
        Err(_) => Incoming::NotUtf8,
    })
}

/// How many bytes may wait to be written. A client that stops reading costs this much and a cursor.
const QUEUE_BYTES: usize = 1024 * 1024;
const QUEUE_CHUNKS: usize = 256;
/// How many bytes may wait to overtake those.
const AHEAD_BYTES: usize = 64 * 1024;
/// How much is written at a time, as far as lines allow: what overtakes waits this long.
const PIECE_BYTES: usize = 32 * 1024;

/// The way to a client: whole lines, in the order they are sent. Cheap to clone.
#[derive(Clone)]
pub struct Outgoing {
    chunks: mpsc::Sender<Chunk>,
    room: Arc<Semaphore>,
    ahead: Arc<Ahead>,
}

struct Chunk {
    bytes: Bytes,
    /// None only makes the writer look for what goes ahead.
    room: Option<OwnedSemaphorePermit>,
}

/// What goes ahead of everything that waits.
struct Ahead {
    lines: Mutex<VecDeque<Chunk>>,
    room: Arc<Semaphore>,
}

impl Ahead {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Chunk>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The writing end of [`Outgoing`].
pub struct OutgoingReceiver {
    chunks: mpsc::Receiver<Chunk>,
    ahead: Arc<Ahead>,
    /// What is left of a long chunk.
    rest: Option<Chunk>,
    /// Held until more is asked for, that is, until this is written.
    writing: Option<OwnedSemaphorePermit>,
}

/// Nobody writes any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client is gone")]
pub struct Disconnected;

/// A queue of bytes to write, bounded in bytes.
#[must_use]
pub fn outgoing() -> (Outgoing, OutgoingReceiver) {
    let (sender, receiver) = mpsc::channel(QUEUE_CHUNKS);
    let ahead = Arc::new(Ahead {
        lines: Mutex::default(),
        room: Arc::new(Semaphore::new(AHEAD_BYTES)),
    });
    let outgoing = Outgoing {
        chunks: sender,
        room: Arc::new(Semaphore::new(QUEUE_BYTES)),
        ahead: ahead.clone(),
    };
    let receiver = OutgoingReceiver {
        chunks: receiver,
        ahead,
        rest: None,
        writing: None,
    };
    (outgoing, receiver)
}

impl Outgoing {
    /// Queues one or more whole lines, waiting while the client is behind.
    pub async fn send(&self, bytes: Bytes) -> Result<(), Disconnected> {
        let room = room(&self.room, bytes.len(), QUEUE_BYTES).await?;
        let room = Some(room);
        let sent = self.chunks.send(Chunk { bytes, room }).await;
        sent.map_err(|_| Disconnected)
    }

    /// Queues whole lines before everything that waits; among each other they keep their order.
    pub async fn send_ahead(&self, bytes: Bytes) -> Result<(), Disconnected> {
        let room = room(&self.ahead.room, bytes.len(), AHEAD_BYTES).await?;
        let room = Some(room);
        self.ahead.lock().push_back(Chunk { bytes, room });
        let look = Chunk {
            bytes: Bytes::new(),
            room: None,
        };
        match self.chunks.try_send(look) {
            // A full queue keeps the writer looking.
            Ok(()) | Err(mpsc::error::TrySendError::Full(_)) => Ok(()),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(Disconnected),
        }
    }

    /// Resolves when nobody writes any more.
    pub async fn closed(&self) {
        self.chunks.closed().await;
    }
}

async fn room(
    of: &Arc<Semaphore>,
    bytes: usize,
    most: usize,
) -> Result<OwnedSemaphorePermit, Disconnected> {
    // What is larger than the queue takes all of it.
    let weight = u32::try_from(bytes.clamp(1, most)).unwrap_or(u32::MAX);
    let room = of.clone().acquire_many_owned(weight).await;
    room.map_err(|_| Disconnected)
}

impl OutgoingReceiver {
    /// The next bytes to write; none when every sender is gone.
    pub async fn recv(&mut self) -> Option<Bytes> {
        self.writing = None;
        loop {
            if let Some(bytes) = self.at_hand() {
                return Some(bytes);
            }
            self.rest = Some(self.chunks.recv().await?);
        }
    }

    /// The same, for a thread.
    pub fn blocking_recv(&mut self) -> Option<Bytes> {
        self.writing = None;
        loop {
            if let Some(bytes) = self.at_hand() {
                return Some(bytes);
            }
            self.rest = Some(self.chunks.blocking_recv()?);
        }
    }

    /// What goes ahead, else a piece of the chunk that is being written.
    fn at_hand(&mut self) -> Option<Bytes> {
        if let Some(chunk) = self.ahead.lock().pop_front() {
            self.writing = chunk.room;
            return Some(chunk.bytes);
        }
        let rest = self.rest.as_mut()?;
        let piece = match piece(&rest.bytes) {
            Some(end) => rest.bytes.split_to(end),
            None => std::mem::take(&mut rest.bytes),
        };
        if rest.bytes.is_empty() {
            self.writing = self.rest.take().and_then(|chunk| chunk.room);
        }
        (!piece.is_empty()).then_some(piece)
    }
}

/// Where to cut a long chunk: behind a line.
fn piece(bytes: &[u8]) -> Option<usize> {
    let beyond = bytes.get(PIECE_BYTES..)?;
    let newline = beyond.iter().position(|&byte| byte == b'\n')?;
    Some(PIECE_BYTES + newline + 1)
}

impl Drop for OutgoingReceiver {
    /// Those who wait for room must hear that there will be none.
    fn drop(&mut self) {
        self.chunks.close();
        while self.chunks.try_recv().is_ok() {}
        self.ahead.room.close();
        self.ahead.lock().clear();
    }
}

/// Writes until every sender is gone or the client is.
pub fn write_chunks(mut queue: OutgoingReceiver, mut writer: impl Write) -> io::Result<()> {
    while let Some(bytes) = queue.blocking_recv() {
        writer.write_all(&bytes)?;
        writer.flush()?;
    }
    Ok(())
}
