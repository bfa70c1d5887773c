//! A mailbox with its two ends: the connection, which puts lines in and waits for room, and the one reader at a
//! time, which takes them out.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::{BufMut, Bytes, BytesMut};
use harn_model::SessionId;
use tokio::{sync::Notify, time::timeout};

use super::{
    frame_id::SseFrameId,
    mailbox::{CannotResume, Mailbox, NonEventLine, RefollowReply},
    refusal::HttpRefusal,
};
use crate::{
    EventId,
    lock::lock,
    transport::{FollowId, RefollowRequest},
};

/// The longest time to wait for a reader that takes nothing. Other streams of the connection wait as long.
const PATIENCE: Duration = Duration::from_secs(1);
/// The size of a write. Longer lines are cut without a copy, and all receivers share them.
pub(super) const CHUNK_BYTES: usize = 16 * 1024;

pub(super) struct MailboxStream {
    /// None for the stream of the connection.
    session: Option<SessionId>,
    inner: Mutex<MailboxStreamState>,
    came: Notify,
    room: Notify,
}

#[derive(Default)]
struct MailboxStreamState {
    mailbox: Mailbox,
    /// The number of the current reader.
    reader: Option<u64>,
    readers: u64,
    closed: bool,
}

/// The reader of a stream, until it is dropped.
pub(super) struct SseReader {
    stream: Arc<MailboxStream>,
    number: u64,
}

/// The result of [`SseReader::take`].
#[derive(Default)]
pub(super) struct SseBatch {
    /// Frames, if there are any, in short parts.
    pub(super) frames: VecDeque<Bytes>,
    /// The request to pass on to the connection; if it fails, call [`SseReader::end_catch_up`].
    pub(super) refollow: Option<(RefollowRequest, RefollowReply)>,
}

impl MailboxStream {
    pub(super) fn new(session: Option<SessionId>) -> Self {
        Self {
            session,
            inner: Mutex::default(),
            came: Notify::new(),
            room: Notify::new(),
        }
    }

    /// Whether the stream ever had a reader.
    pub(super) fn was_read(&self) -> bool {
        lock(&self.inner).readers > 0
    }

    /// Queues an event line. Waits a short time for room if there is a reader.
    pub(super) async fn push_event(&self, stream: Option<FollowId>, id: EventId, line: Bytes) {
        let takes = async {
            loop {
                let room = self.room.notified();
                {
                    let inner = lock(&self.inner);
                    if inner.reader.is_none() || inner.mailbox.can_take_event() {
                        return;
                    }
                }
                room.await;
            }
        };
        // Without room the mailbox falls behind, and its reader has the session followed again.
        let _ = timeout(PATIENCE, takes).await;
        lock(&self.inner).mailbox.push_event(stream, id, line);
        self.came.notify_waiters();
    }

    /// Queues a line without an event id, once there is room.
    pub(super) async fn push_other(&self, stream: Option<FollowId>, other: NonEventLine) {
        loop {
            let room = self.room.notified();
            {
                let mut inner = lock(&self.inner);
                if inner.mailbox.can_take_other() {
                    inner.mailbox.push_other(stream, other);
                    break;
                }
            }
            room.await;
        }
        self.came.notify_waiters();
    }

    /// Marks that all events arrived that existed when the session was followed again.
    pub(super) fn mark_caught_up(&self, stream: Option<FollowId>) {
        lock(&self.inner).mailbox.mark_caught_up(stream);
        self.came.notify_waiters();
    }

    /// Whether the stream has a reader.
    pub(super) fn is_read(&self) -> bool {
        lock(&self.inner).reader.is_some()
    }

    /// Whether the session was closed after the last line of its stream.
    pub(super) fn is_closed(&self) -> bool {
        lock(&self.inner).closed
    }

    /// Sets that the session was closed, or that its stream continues.
    pub(super) fn set_closed(&self, closed: bool) {
        lock(&self.inner).closed = closed;
    }

    /// Starts to read. A client that names its last line takes the stream from the current reader: usually that
    /// is the same client, whose last connection is not known to be closed.
    pub(super) fn start_reader(
        self: &Arc<Self>,
        after: Option<SseFrameId>,
    ) -> Result<SseReader, HttpRefusal> {
        let mut inner = lock(&self.inner);
        if let Some(after) = after {
            inner.mailbox.resume(after).map_err(|cannot| match cannot {
                CannotResume::Unknown => HttpRefusal::UnknownEvent,
                CannotResume::TooFarBack => HttpRefusal::TooFarBack,
            })?;
        } else if inner.reader.is_some() && inner.mailbox.has_sent() {
            // As long as nothing was sent, there was no line to name.
            return Err(HttpRefusal::Busy);
        }
        inner.readers += 1;
        let number = inner.readers;
        inner.reader = Some(number);
        drop(inner);
        self.came.notify_waiters();
        self.room.notify_waiters();
        let stream = self.clone();
        Ok(SseReader { stream, number })
    }
}

impl SseReader {
    /// Resolves when lines may have arrived. Call it before [`SseReader::take`] to miss none.
    pub(super) fn wait_for_lines(&self) -> impl Future<Output = ()> {
        self.stream.came.notified()
    }

    /// Returns the frames to send now; none if there is another reader.
    pub(super) fn take(&self) -> Option<SseBatch> {
        let mut inner = lock(&self.stream.inner);
        if inner.reader != Some(self.number) {
            return None;
        }
        let mut frames = SseFrameParts::default();
        while frames.bytes < CHUNK_BYTES
            && let Some(frame) = inner.mailbox.next()
        {
            frames.put(format!("id: {}\ndata: ", frame.place).as_bytes());
            frames.put_shared(frame.line);
            frames.put(b"\n\n");
        }
        let session = self.stream.session.as_ref();
        let refollow = session.and_then(|session| inner.mailbox.refollow(session));
        drop(inner);
        self.stream.room.notify_waiters();
        Some(SseBatch {
            frames: frames.finish(),
            refollow,
        })
    }

    /// Ends the wait for repeated events: the session is not followed again.
    pub(super) fn end_catch_up(&self, stream: FollowId) {
        self.stream.mark_caught_up(Some(stream));
    }
}

/// The parts of one write: short lines are copied together, long ones are shared slices.
#[derive(Default)]
struct SseFrameParts {
    done: VecDeque<Bytes>,
    copied: BytesMut,
    bytes: usize,
}

impl SseFrameParts {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        self.copied.put_slice(bytes);
    }

    fn put_shared(&mut self, mut line: Bytes) {
        if line.len() < CHUNK_BYTES {
            return self.put(&line);
        }
        self.bytes += line.len();
        self.cut();
        while !line.is_empty() {
            let part = line.split_to(line.len().min(CHUNK_BYTES));
            self.done.push_back(part);
        }
    }

    fn cut(&mut self) {
        if !self.copied.is_empty() {
            self.done.push_back(self.copied.split().freeze());
        }
    }

    fn finish(mut self) -> VecDeque<Bytes> {
        self.cut();
        self.done
    }
}

impl Drop for SseReader {
    fn drop(&mut self) {
        let mut inner = lock(&self.stream.inner);
        if inner.reader == Some(self.number) {
            inner.reader = None;
        }
        drop(inner);
        self.stream.room.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_and_not_copied() {
        let stream = Arc::new(MailboxStream::new(None));
        let line = Bytes::from(vec![b'x'; 10 * CHUNK_BYTES + 1]);
        let other = NonEventLine {
            line: line.clone(),
            said_anew: false,
        };
        lock(&stream.inner).mailbox.push_other(None, other);
        let reader = stream.start_reader(None).unwrap();
        let frames = reader.take().unwrap().frames;
        let bytes: usize = frames.iter().map(Bytes::len).sum();
        assert_eq!(bytes, b"id: 0+1\ndata: \n\n".len() + line.len());
        let mut own = 0;
        for part in frames {
            assert!(part.len() <= CHUNK_BYTES);
            let shared = line.as_ptr_range().contains(&part.as_ptr());
            own += if shared { 0 } else { part.len() };
        }
        assert!(own < 100, "{own} bytes were copied");
    }

    #[test]
    fn stream_that_sent_nothing_is_taken_over_without_a_frame_id() {
        let stream = Arc::new(MailboxStream::new(None));
        let first = stream.start_reader(None).unwrap();
        let second = stream.start_reader(None).unwrap();
        assert!(first.take().is_none());
        let line = Bytes::from_static(b"{}");
        let said_anew = false;
        lock(&stream.inner)
            .mailbox
            .push_other(None, NonEventLine { line, said_anew });
        assert_eq!(second.take().unwrap().frames.len(), 1);
        assert_eq!(stream.start_reader(None).err(), Some(HttpRefusal::Busy));
    }
}
