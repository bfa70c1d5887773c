//! The queue of bytes to a client: bounded, in order, and each piece tagged with the session it is about.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use harn_model::SessionId;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};

use super::Followed;

/// What may wait to be written. A client that stops reading costs this much and a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many bytes may wait.
    pub bytes: usize,
    /// In how many chunks.
    pub chunks: usize,
    /// How many bytes may wait to overtake those.
    pub ahead_bytes: usize,
    /// How much is handed out at a time, as far as lines allow: what overtakes waits this long.
    pub piece_bytes: usize,
}

impl Default for Limits {
    /// Those of a client on stdio, of which there is one.
    fn default() -> Self {
        Self {
            bytes: 1024 * 1024,
            chunks: 256,
            ahead_bytes: 64 * 1024,
            piece_bytes: 32 * 1024,
        }
    }
}

/// Bytes to write: one or more whole lines, all of one session or of none. One without bytes is a mark: the
/// following it names has come to what was there when it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The lines, each with its line break.
    pub bytes: Bytes,
    /// The session they are about: the one a message names, or for an answer the one its request named.
    pub session: Option<SessionId>,
    /// Which following of the session wrote them; none for what is no part of its stream, such as answers.
    pub stream: Option<Followed>,
}

impl From<Bytes> for Piece {
    fn from(bytes: Bytes) -> Self {
        Self {
            bytes,
            session: None,
            stream: None,
        }
    }
}

impl From<Vec<u8>> for Piece {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

impl From<&'static str> for Piece {
    fn from(text: &'static str) -> Self {
        Bytes::from(text).into()
    }
}

/// The way to a client: whole lines, in the order they are sent. Cheap to clone.
#[derive(Clone)]
pub struct Outgoing {
    chunks: mpsc::Sender<Chunk>,
    room: Arc<Semaphore>,
    ahead: Arc<Ahead>,
    hurry: Arc<Notify>,
    limits: Limits,
}

struct Chunk {
    piece: Piece,
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
    hurry: Arc<Notify>,
    /// What is left of a long chunk.
    rest: Option<Chunk>,
    /// Held until more is asked for, that is, until this is written.
    writing: Option<OwnedSemaphorePermit>,
    piece_bytes: usize,
}

/// Nobody writes any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client is gone")]
pub struct Disconnected;

/// A queue of bytes to write, bounded as for stdio.
#[must_use]
pub fn outgoing() -> (Outgoing, OutgoingReceiver) {
    outgoing_of(Limits::default())
}

/// A queue of bytes to write, bounded.
#[must_use]
pub fn outgoing_of(limits: Limits) -> (Outgoing, OutgoingReceiver) {
    // A bound of nothing would let nothing pass.
    let limits = Limits {
        bytes: limits.bytes.max(1),
        chunks: limits.chunks.max(1),
        ahead_bytes: limits.ahead_bytes.max(1),
        piece_bytes: limits.piece_bytes,
    };
    let (sender, receiver) = mpsc::channel(limits.chunks);
    let ahead = Arc::new(Ahead {
        lines: Mutex::default(),
        room: Arc::new(Semaphore::new(limits.ahead_bytes)),
    });
    let hurry = Arc::new(Notify::new());
    let outgoing = Outgoing {
        hurry: hurry.clone(),
        chunks: sender,
        room: Arc::new(Semaphore::new(limits.bytes)),
        ahead: ahead.clone(),
        limits,
    };
    let receiver = OutgoingReceiver {
        chunks: receiver,
        ahead,
        hurry,
        rest: None,
        writing: None,
        piece_bytes: limits.piece_bytes,
    };
    (outgoing, receiver)
}

impl Outgoing {
    /// Queues one or more whole lines, waiting while the client is behind.
    pub async fn send(&self, piece: impl Into<Piece>) -> Result<(), Disconnected> {
        let piece = piece.into();
        if self.room.available_permits() < piece.bytes.len() {
            self.hurry();
        }
        let room = Some(room(&self.room, piece.bytes.len(), self.limits.bytes).await?);
        let sent = self.chunks.send(Chunk { piece, room }).await;
        sent.map_err(|_| Disconnected)
    }

    /// Queues whole lines before everything that waits; among each other they keep their order.
    pub async fn send_ahead(&self, piece: impl Into<Piece>) -> Result<(), Disconnected> {
        let (piece, most) = (piece.into(), self.limits.ahead_bytes);
        let room = Some(room(&self.ahead.room, piece.bytes.len(), most).await?);
        self.ahead.lock().push_back(Chunk { piece, room });
        self.hurry();
        let look = Chunk {
            piece: Bytes::new().into(),
            room: None,
        };
        match self.chunks.try_send(look) {
            // A full queue keeps the writer looking.
            Ok(()) | Err(mpsc::error::TrySendError::Full(_)) => Ok(()),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(Disconnected),
        }
    }

    /// Has a writer that rests between two writes go on at once.
    pub fn hurry(&self) {
        self.hurry.notify_one();
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
    pub async fn recv(&mut self) -> Option<Piece> {
        self.writing = None;
        loop {
            if let Some(piece) = self.at_hand() {
                return Some(piece);
            }
            self.rest = Some(self.chunks.recv().await?);
        }
    }

    /// The next bytes to write, if they are there already.
    pub fn try_recv(&mut self) -> Option<Piece> {
        self.writing = None;
        loop {
            if let Some(piece) = self.at_hand() {
                return Some(piece);
            }
            self.rest = Some(self.chunks.try_recv().ok()?);
        }
    }

    /// Resolves when there is a reason not to wait for more: the queue is full, or somebody waits for an
    /// answer.
    pub async fn hurried(&self) {
        self.hurry.notified().await;
    }

    /// The same, for a thread.
    pub fn blocking_recv(&mut self) -> Option<Piece> {
        self.writing = None;
        loop {
            if let Some(piece) = self.at_hand() {
                return Some(piece);
            }
            self.rest = Some(self.chunks.blocking_recv()?);
        }
    }

    /// What goes ahead, else a piece of the chunk that is being written.
    fn at_hand(&mut self) -> Option<Piece> {
        if let Some(chunk) = self.ahead.lock().pop_front() {
            self.writing = chunk.room;
            return Some(chunk.piece);
        }
        let rest = self.rest.as_mut()?;
        let piece = match cut(&rest.piece.bytes, self.piece_bytes) {
            Some(end) => Piece {
                bytes: rest.piece.bytes.split_to(end),
                ..rest.piece.clone()
            },
            None => {
                let Chunk { piece, room } = self.rest.take()?;
                self.writing = room;
                piece
            }
        };
        let is_mark = piece.stream.is_some();
        (is_mark || !piece.bytes.is_empty()).then_some(piece)
    }
}

/// Where to cut a long chunk: behind a line, before its end.
fn cut(bytes: &[u8], at: usize) -> Option<usize> {
    let beyond = bytes.get(at..)?;
    let newline = beyond.iter().position(|&byte| byte == b'\n')?;
    let end = at + newline + 1;
    (end < bytes.len()).then_some(end)
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
