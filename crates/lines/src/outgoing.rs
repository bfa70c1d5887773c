//! The queue of bytes to a client: bounded and in order, except priority lines, which overtake the others.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};

/// The limits of a queue of bytes. A client that stops reading costs this much memory and a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutgoingLimits {
    /// The most bytes in the queue.
    pub bytes: usize,
    /// The most chunks in the queue.
    pub chunks: usize,
    /// The most bytes of priority lines, which overtake the queue.
    pub ahead_bytes: usize,
    /// The size at which a chunk is cut, at a line break. A priority line waits for at most one such piece.
    pub piece_bytes: usize,
}

impl Default for OutgoingLimits {
    /// Returns the limits for the one client on stdio.
    fn default() -> Self {
        Self {
            bytes: 1024 * 1024,
            chunks: 256,
            ahead_bytes: 64 * 1024,
            piece_bytes: 32 * 1024,
        }
    }
}

/// An item of the queue: whole lines, with any data that the queue's owner attaches.
pub trait Parcel: Clone + Send + 'static {
    /// Returns the lines, each with its line break.
    fn bytes(&self) -> &Bytes;

    /// Returns the lines, to cut pieces off.
    fn bytes_mut(&mut self) -> &mut Bytes;

    /// Whether the receiver returns it even if it has no bytes.
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

/// The sending end of a client's queue: whole lines, in the order they are sent. Cheap to clone.
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
    /// Only wakes the writer, so that it looks for priority lines.
    Look,
}

impl<P> OutgoingChunk<P> {
    fn into_lines(self) -> Option<(P, OwnedSemaphorePermit)> {
        match self {
            Self::Lines(piece, room) => Some((piece, room)),
            Self::Look => None,
        }
    }
}

/// Lines that overtake everything in the queue.
struct PriorityLines<P> {
    lines: Mutex<VecDeque<(P, OwnedSemaphorePermit)>>,
    room: Arc<Semaphore>,
}

impl<P> PriorityLines<P> {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(P, OwnedSemaphorePermit)>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The receiving end of the queue of an [`OutgoingSender`], for the writer.
pub struct OutgoingReceiver<P = Bytes> {
    chunks: mpsc::Receiver<OutgoingChunk<P>>,
    ahead: Arc<PriorityLines<P>>,
    hurry: Arc<Notify>,
    /// The rest of a long chunk.
    rest: Option<(P, OwnedSemaphorePermit)>,
    /// The room of the piece that is being written; released when the writer asks for the next one.
    writing: Option<OwnedSemaphorePermit>,
    piece_bytes: usize,
}

/// The error of a queue whose receiver is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client disconnected")]
pub struct ClientDisconnected;

/// Creates a queue of bytes to write, with the limits for stdio.
#[must_use]
pub fn outgoing<P: Parcel>() -> (OutgoingSender<P>, OutgoingReceiver<P>) {
    outgoing_with_limits(OutgoingLimits::default())
}

/// Creates a queue of bytes to write, with these limits.
#[must_use]
pub fn outgoing_with_limits<P: Parcel>(
    limits: OutgoingLimits,
) -> (OutgoingSender<P>, OutgoingReceiver<P>) {
    // A limit of zero would block every send.
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
    /// Queues one or more whole lines; waits while the queue is full.
    pub async fn send(&self, piece: impl Into<P>) -> Result<(), ClientDisconnected> {
        let piece = piece.into();
        let bytes = piece.bytes().len();
        if self.room.available_permits() < bytes {
            self.hurry();
        }
        let room = acquire_room(&self.room, bytes, self.limits.bytes).await?;
        let sent = self.chunks.send(OutgoingChunk::Lines(piece, room)).await;
        sent.map_err(|_| ClientDisconnected)
    }

    /// Queues whole lines before all others in the queue. They keep their order among each other.
    pub async fn send_ahead(&self, piece: impl Into<P>) -> Result<(), ClientDisconnected> {
        let (piece, most) = (piece.into(), self.limits.ahead_bytes);
        let room = acquire_room(&self.ahead.room, piece.bytes().len(), most).await?;
        self.ahead.lock().push_back((piece, room));
        self.hurry();
        match self.chunks.try_send(OutgoingChunk::Look) {
            // With a full queue the writer is awake already.
            Ok(()) | Err(mpsc::error::TrySendError::Full(_)) => Ok(()),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(ClientDisconnected),
        }
    }

    /// Wakes a writer that pauses between two writes.
    pub fn hurry(&self) {
        self.hurry.notify_one();
    }

    /// Resolves when the receiver is dropped.
    pub async fn closed(&self) {
        self.chunks.closed().await;
    }
}

async fn acquire_room(
    of: &Arc<Semaphore>,
    bytes: usize,
    most: usize,
) -> Result<OwnedSemaphorePermit, ClientDisconnected> {
    // A piece larger than the queue takes all of it.
    let weight = u32::try_from(bytes.clamp(1, most)).unwrap_or(u32::MAX);
    let room = of.clone().acquire_many_owned(weight).await;
    room.map_err(|_| ClientDisconnected)
}

impl<P: Parcel> OutgoingReceiver<P> {
    /// Returns the next bytes to write; none when every sender is dropped.
    pub async fn recv(&mut self) -> Option<P> {
        self.writing = None;
        loop {
            if let Some(piece) = self.take_ready() {
                return Some(piece);
            }
            self.rest = self.chunks.recv().await?.into_lines();
        }
    }

    /// Returns the next bytes to write if they are in the queue already.
    pub fn try_recv(&mut self) -> Option<P> {
        self.writing = None;
        loop {
            if let Some(piece) = self.take_ready() {
                return Some(piece);
            }
            self.rest = self.chunks.try_recv().ok()?.into_lines();
        }
    }

    /// Resolves when the writer should end its pause: the queue is full, or the client waits for an answer.
    pub async fn wait_for_hurry(&self) {
        self.hurry.notified().await;
    }

    /// Returns the next bytes to write, as [`Self::recv`] does, and blocks its thread.
    pub fn blocking_recv(&mut self) -> Option<P> {
        self.writing = None;
        loop {
            if let Some(piece) = self.take_ready() {
                return Some(piece);
            }
            self.rest = self.chunks.blocking_recv()?.into_lines();
        }
    }

    /// Returns a priority line, or else a piece of the chunk that is being written.
    fn take_ready(&mut self) -> Option<P> {
        if let Some((piece, room)) = self.ahead.lock().pop_front() {
            self.writing = Some(room);
            return Some(piece);
        }
        let (rest, _) = self.rest.as_mut()?;
        let piece = match find_cut(rest.bytes(), self.piece_bytes) {
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

/// Returns where to cut a long chunk: behind a line break, but not at the chunk's end.
fn find_cut(bytes: &[u8], at: usize) -> Option<usize> {
    let beyond = bytes.get(at..)?;
    let newline = beyond.iter().position(|&byte| byte == b'\n')?;
    let end = at + newline + 1;
    (end < bytes.len()).then_some(end)
}

impl<P> Drop for OutgoingReceiver<P> {
    /// Frees senders that wait for room; they return [`ClientDisconnected`].
    fn drop(&mut self) {
        self.chunks.close();
        while self.chunks.try_recv().is_ok() {}
        self.ahead.room.close();
        self.ahead.lock().clear();
    }
}
