//! A mailbox and those at its two ends: the connection, which puts lines in and waits for room, and the one
//! reader at a time, who takes them out.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use harn_model::SessionId;
use tokio::{sync::Notify, time::timeout};

use super::{
    mailbox::{Answer, CannotResume, Mailbox, Other},
    place::Place,
    refusal::Refusal,
};
use crate::{
    EventId,
    transport::{Followed, Refollow},
};

/// How long a reader may take nothing before the stream goes on without it. Others of the connection wait
/// as long.
const PATIENCE: Duration = Duration::from_secs(1);
/// How much is sent at a time.
const CHUNK_BYTES: usize = 16 * 1024;

/// See the module.
pub(super) struct Stream {
    /// Whose stream it is; none for that of the connection.
    session: Option<SessionId>,
    inner: Mutex<Inner>,
    came: Notify,
    room: Notify,
}

#[derive(Default)]
struct Inner {
    mailbox: Mailbox,
    /// Who reads, by a number.
    reader: Option<u64>,
    readers: u64,
}

/// Who reads a stream, until it is dropped.
pub(super) struct Reader {
    stream: Arc<Stream>,
    number: u64,
}

/// What is there to be sent.
#[derive(Default)]
pub(super) struct Taken {
    /// Frames, if there are any.
    pub(super) frames: Bytes,
    /// To be passed on to the connection; what comes of it is for [`Reader::not_followed`].
    pub(super) refollow: Option<(Refollow, Answer)>,
}

impl Stream {
    pub(super) fn new(session: Option<SessionId>) -> Self {
        Self {
            session,
            inner: Mutex::default(),
            came: Notify::new(),
            room: Notify::new(),
        }
    }

    /// Whether anybody ever read it.
    pub(super) fn was_read(&self) -> bool {
        self.lock().readers > 0
    }

    /// Puts in a line of the session's stream. Waits for a reader that still takes lines, not for long.
    pub(super) async fn event(&self, stream: Option<Followed>, id: EventId, line: Bytes) {
        let takes = async {
            loop {
                let room = self.room.notified();
                {
                    let inner = self.lock();
                    if inner.reader.is_none() || inner.mailbox.takes_event() {
                        return;
                    }
                }
                room.await;
            }
        };
        // Without room it falls behind, and the session is followed anew for its reader.
        let _ = timeout(PATIENCE, takes).await;
        self.lock().mailbox.event(stream, id, line);
        self.came.notify_waiters();
    }

    /// Puts in any other line, once there is room.
    pub(super) async fn other(&self, stream: Option<Followed>, other: Other) {
        loop {
            let room = self.room.notified();
            {
                let mut inner = self.lock();
                if inner.mailbox.takes_other() {
                    inner.mailbox.other(stream, other);
                    break;
                }
            }
            room.await;
        }
        self.came.notify_waiters();
    }

    /// Everything came that was there when the session was followed anew.
    pub(super) fn caught_up(&self, stream: Option<Followed>) {
        self.lock().mailbox.caught_up(stream);
        self.came.notify_waiters();
    }

    /// Begins to read. Who says where to go on takes the stream from whoever reads it: it is most often the
    /// same client, whose last connection is not known to be gone.
    pub(super) fn read(self: &Arc<Self>, after: Option<Place>) -> Result<Reader, Refusal> {
        let mut inner = self.lock();
        if let Some(after) = after {
            inner.mailbox.resume(after).map_err(|cannot| match cannot {
                CannotResume::Unknown => Refusal::UnknownEvent,
                CannotResume::TooFarBack => Refusal::TooFarBack,
            })?;
        } else if inner.reader.is_some() {
            return Err(Refusal::Busy);
        }
        inner.readers += 1;
        let number = inner.readers;
        inner.reader = Some(number);
        drop(inner);
        self.came.notify_waiters();
        self.room.notify_waiters();
        let stream = self.clone();
        Ok(Reader { stream, number })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader {
    /// Resolves when something may have come. Made before [`Reader::take`], it misses nothing.
    pub(super) fn came(&self) -> impl Future<Output = ()> {
        self.stream.came.notified()
    }

    /// What is there by now; none when somebody else reads.
    pub(super) fn take(&self) -> Option<Taken> {
        let mut inner = self.stream.lock();
        if inner.reader != Some(self.number) {
            return None;
        }
        let mut frames = BytesMut::new();
        while frames.len() < CHUNK_BYTES
            && let Some(frame) = inner.mailbox.next()
        {
            let id = format!("id: {}\ndata: ", frame.place);
            frames.reserve(id.len() + frame.line.len() + 2);
            frames.extend_from_slice(id.as_bytes());
            frames.extend_from_slice(&frame.line);
            frames.extend_from_slice(b"\n\n");
        }
        let session = self.stream.session.as_ref();
        let refollow = session.and_then(|session| inner.mailbox.refollow(session));
        drop(inner);
        self.stream.room.notify_waiters();
        Some(Taken {
            frames: frames.freeze(),
            refollow,
        })
    }

    /// What was asked for will not come: there is nothing to follow any more.
    pub(super) fn not_followed(&self, stream: Followed) {
        self.stream.caught_up(Some(stream));
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut inner = self.stream.lock();
        if inner.reader == Some(self.number) {
            inner.reader = None;
        }
        drop(inner);
        self.stream.room.notify_waiters();
    }
}
