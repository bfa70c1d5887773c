//! The queue of bytes to a client: bounded, and in order but for what may go ahead.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};

/// What may wait to be written. A client that stops reading costs this much and a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutgoingLimits {
    /// How many bytes may wait.
    pub bytes: usize,
    /// In how many chunks.
    pub chunks: usize,
    /// How many bytes may wait to overtake those.
    pub ahead_bytes: usize,
    /// How much is handed out at a time, as far as lines allow: what overtakes waits this long.
    pub piece_bytes: usize,
}

impl Default for OutgoingLimits {
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

/// What is queued: whole lines, with whatever else the queue's owner has to say of them.
pub trait Parcel: Clone + Send + 'static {
    /// The lines, each with its line break.
    fn bytes(&self) -> &Bytes;

    /// The same, to cut pieces off.
    fn bytes_mut(&mut self) -> &mut Bytes;

    /// Whether it is handed out even without bytes.
    fn is_mark(&self) -> bool {
        false
    }
}

impl Parcel for Bytes {
    fn bytes(&self) -> &Bytes {
        self
    }

    fn bytes_mut(&mut self) -> &mut Bytes {
        self
    }
}

/// The way to a client: whole lines, in the order they are sent. Cheap to clone.
pub struct OutgoingSender<P = Bytes> {
    chunks: mpsc::Sender<OutgoingChunk<P>>,
    room: Arc<Semaphore>,
    ahead: Arc<PriorityLines<P>>,
    hurry: Arc<Notify>,
    limits: OutgoingLimits,
}

impl<P> Clone for OutgoingSender<P> {
    fn clone(&self) -> Self {
        Self {
            chunks: self.chunks.clone(),
            room: self.room.clone(),
            ahead: self.ahead.clone(),
            hurry: self.hurry.clone(),
            limits: self.limits,
        }
    }
}

enum OutgoingChunk<P> {
    Lines(P, OwnedSemaphorePermit),
    /// Only makes the writer look for what goes ahead.
    Look,
}

impl<P> OutgoingChunk<P> {
    fn lines(self) -> Option<(P, OwnedSemaphorePermit)> {
        match self {
            Self::Lines(piece, room) => Some((piece, room)),
            Self::Look => None,
        }
    }
}

/// What goes ahead of everything that waits.
struct PriorityLines<P> {
    lines: Mutex<VecDeque<(P, OwnedSemaphorePermit)>>,
    room: Arc<Semaphore>,
}

impl<P> PriorityLines<P> {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(P, OwnedSemaphorePermit)>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The writing end of [`OutgoingSender`].
pub struct OutgoingReceiver<P = Bytes> {
    chunks: mpsc::Receiver<OutgoingChunk<P>>,
    ahead: Arc<PriorityLines<P>>,
    hurry: Arc<Notify>,
    /// What is left of a long chunk.
    rest: Option<(P, OwnedSemaphorePermit)>,
    /// Held until more is asked for, that is, until this is written.
    writing: Option<OwnedSemaphorePermit>,
    piece_bytes: usize,
}

/// Nobody writes any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client is gone")]
pub struct ClientDisconnected;

/// A queue of bytes to write, bounded as for stdio.
#[must_use]
pub fn outgoing<P: Parcel>() -> (OutgoingSender<P>, OutgoingReceiver<P>) {
    outgoing_of(OutgoingLimits::default())
}

/// A queue of bytes to write, bounded.
#[must_use]
pub fn outgoing_of<P: Parcel>(limits: OutgoingLimits) -> (OutgoingSender<P>, OutgoingReceiver<P>) {
    // A bound of nothing would let nothing pass.
    let limits = OutgoingLimits {
        bytes: limits.bytes.max(1),
        chunks: limits.chunks.max(1),
        ahead_bytes: limits.ahead_bytes.max(1),
        piece_bytes: limits.piece_bytes,
    };
    let (sender, receiver) = mpsc::channel(limits.chunks);
    let ahead = Arc::new(PriorityLines {
        lines: Mutex::default(),
        room: Arc::new(Semaphore::new(limits.ahead_bytes)),
    });
    let hurry = Arc::new(Notify::new());
    let outgoing = OutgoingSender {
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

impl<P: Parcel> OutgoingSender<P> {
    /// Queues one or more whole lines, waiting while the client is behind.
    pub async fn send(&self, piece: impl Into<P>) -> Result<(), ClientDisconnected> {
        let piece = piece.into();
        let bytes = piece.bytes().len();
        if self.room.available_permits() < bytes {
            self.hurry();
        }
        let room = room(&self.room, bytes, self.limits.bytes).await?;
        let sent = self.chunks.send(OutgoingChunk::Lines(piece, room)).await;
        sent.map_err(|_| ClientDisconnected)
    }

    /// Queues whole lines before everything that waits; among each other they keep their order.
    pub async fn send_ahead(&self, piece: impl Into<P>) -> Result<(), ClientDisconnected> {
        let (piece, most) = (piece.into(), self.limits.ahead_bytes);
        let room = room(&self.ahead.room, piece.bytes().len(), most).await?;
        self.ahead.lock().push_back((piece, room));
        self.hurry();
        match self.chunks.try_send(OutgoingChunk::Look) {
            // A full queue keeps the writer looking.
            Ok(()) | Err(mpsc::error::TrySendError::Full(_)) => Ok(()),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(ClientDisconnected),
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
) -> Result<OwnedSemaphorePermit, ClientDisconnected> {
    // What is larger than the queue takes all of it.
    let weight = u32::try_from(bytes.clamp(1, most)).unwrap_or(u32::MAX);
    let room = of.clone().acquire_many_owned(weight).await;
    room.map_err(|_| ClientDisconnected)
}

impl<P: Parcel> OutgoingReceiver<P> {
    /// The next bytes to write; none when every sender is gone.
    pub async fn recv(&mut self) -> Option<P> {
        self.writing = None;
        loop {
            if let Some(piece) = self.at_hand() {
                return Some(piece);
            }
            self.rest = self.chunks.recv().await?.lines();
        }
    }

    /// The next bytes to write, if they are there already.
    pub fn try_recv(&mut self) -> Option<P> {
        self.writing = None;
        loop {
            if let Some(piece) = self.at_hand() {
                return Some(piece);
            }
            self.rest = self.chunks.try_recv().ok()?.lines();
        }
    }

    /// Resolves when there is a reason not to wait for more: the queue is full, or somebody waits for an
    /// answer.
    pub async fn hurried(&self) {
        self.hurry.notified().await;
    }

    /// The same, for a thread.
    pub fn blocking_recv(&mut self) -> Option<P> {
        self.writing = None;
        loop {
            if let Some(piece) = self.at_hand() {
                return Some(piece);
            }
            self.rest = self.chunks.blocking_recv()?.lines();
        }
    }

    /// What goes ahead, else a piece of the chunk that is being written.
    fn at_hand(&mut self) -> Option<P> {
        if let Some((piece, room)) = self.ahead.lock().pop_front() {
            self.writing = Some(room);
            return Some(piece);
        }
        let (rest, _) = self.rest.as_mut()?;
        let piece = match cut(rest.bytes(), self.piece_bytes) {
            Some(end) => {
                let mut piece = rest.clone();
                *piece.bytes_mut() = rest.bytes_mut().split_to(end);
                piece
            }
            None => {
                let (piece, room) = self.rest.take()?;
                self.writing = Some(room);
                piece
            }
        };
        (piece.is_mark() || !piece.bytes().is_empty()).then_some(piece)
    }
}

/// Where to cut a long chunk: behind a line, before its end.
fn cut(bytes: &[u8], at: usize) -> Option<usize> {
    let beyond = bytes.get(at..)?;
    let newline = beyond.iter().position(|&byte| byte == b'\n')?;
    let end = at + newline + 1;
    (end < bytes.len()).then_some(end)
}

impl<P> Drop for OutgoingReceiver<P> {
    /// Those who wait for room must hear that there will be none.
    fn drop(&mut self) {
        self.chunks.close();
        while self.chunks.try_recv().is_ok() {}
        self.ahead.room.close();
        self.ahead.lock().clear();
    }
}
