//! Publishing: a ring of recent batches, and cursors that pull from it.
//!
//! A slow reader costs a cursor, never memory: when the ring has moved on it reads the journal until it
//! has caught up, and the session waits for no one longer than a moment. Publishing costs the same for one
//! reader and for a thousand.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use harn_journal::{JournalError, LogReader, ReadCursor};
use harn_model::{Envelope, Seq};
use tokio::sync::{Notify, watch};

/// Events that were written together, shared by everyone who reads them.
pub struct Batch {
    events: Vec<Envelope>,
    weight: usize,
    encoded: [OnceLock<Bytes>; EncodingSlot::COUNT],
}

/// Where a front-end keeps its own encoding of a batch, so that it is made once and shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodingSlot(usize);

impl EncodingSlot {
    const COUNT: usize = 4;
    /// All slots; a front-end uses one for each way it encodes.
    pub const ALL: [Self; Self::COUNT] = [Self(0), Self(1), Self(2), Self(3)];
}

impl Batch {
    pub(crate) fn new(events: Vec<Envelope>) -> Self {
        let weight = events.iter().map(|e| e.event.weight()).sum();
        Self {
            events,
            weight,
            encoded: Default::default(),
        }
    }

    fn first(&self) -> Seq {
        self.events.first().map_or(Seq::ZERO, |e| e.seq)
    }

    fn last(&self) -> Seq {
        self.events.last().map_or(Seq::ZERO, |e| e.seq)
    }
}

/// What a subscription hands out: a batch, or the rest of one.
pub struct Delivery {
    batch: Arc<Batch>,
    skip: usize,
}

impl Delivery {
    /// The events, in order, never empty.
    #[must_use]
    pub fn events(&self) -> &[Envelope] {
        &self.batch.events[self.skip..]
    }

    /// The encoding of these events, made by the first reader that needs it. `encode` must depend on
    /// the events and the slot alone.
    pub fn encoded(&self, slot: EncodingSlot, encode: impl FnOnce(&[Envelope]) -> Bytes) -> Bytes {
        if self.skip == 0 {
            self.batch.encoded[slot.0]
                .get_or_init(|| encode(&self.batch.events))
                .clone()
        } else {
            encode(self.events())
        }
    }
}

/// Why a session will publish nothing more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// It was closed.
    Closed,
    /// Its journal could not be written or read; what was published is safe.
    Failed(Arc<str>),
}

#[derive(Clone, Debug)]
struct Head {
    last: Seq,
    end: Option<SessionEnd>,
}

/// The publishing side, owned by the session's task and shared with its readers.
pub(crate) struct Feed {
    ring: Mutex<Ring>,
    head: watch::Sender<Head>,
    reader: Arc<dyn LogReader>,
    ring_bytes: usize,
    readers: Readers,
}

#[derive(Default)]
struct Ring {
    batches: VecDeque<Arc<Batch>>,
    weight: usize,
}

impl Ring {
    fn trim(&mut self, to: usize, keep: usize) {
        while self.weight > to && self.batches.len() > keep {
            if let Some(oldest) = self.batches.pop_front() {
                self.weight -= oldest.weight;
            }
        }
    }
}

impl Feed {
    pub(crate) fn new(last: Seq, reader: Arc<dyn LogReader>, ring_bytes: usize) -> Self {
        Self {
            ring: Mutex::default(),
            head: watch::Sender::new(Head { last, end: None }),
            reader,
            ring_bytes,
            readers: Readers::default(),
        }
    }

    /// Gives readers that are about to lose their place in the ring a moment to move on: a reader that is
    /// merely late is spared the journal. One that uses the moment up is not waited for again until it has
    /// caught up, so that a client which does not read costs the session this once.
    pub(crate) async fn pace(&self) {
        let Some(oldest) = self.crowded() else {
            return;
        };
        loop {
            // Registered before the look, so that a move in between is not missed.
            let moved = self.readers.moved.notified();
            if !self.readers.any_before(oldest) {
                return;
            }
            if tokio::time::timeout(MOMENT, moved).await.is_err() {
                self.readers.give_up_before(oldest);
                return;
            }
        }
    }

    /// The end of the oldest batch, if the ring will soon drop it.
    fn crowded(&self) -> Option<Seq> {
        let ring = self.ring();
        let oldest = ring.batches.front()?;
        (ring.weight > self.ring_bytes / 2).then(|| oldest.last())
    }

    /// Makes written events visible.
    pub(crate) fn publish(&self, events: Vec<Envelope>) {
        let batch = Arc::new(Batch::new(events));
        let last = batch.last();
        {
            let mut ring = self.ring();
            ring.weight += batch.weight;
            ring.batches.push_back(batch);
            ring.trim(self.ring_bytes, 1);
        }
        self.head.send_modify(|head| head.last = last);
    }

    /// Gives memory back while nothing happens; readers that are behind use the journal.
    pub(crate) fn rest(&self) {
        let mut ring = self.ring();
        ring.trim(IDLE_RING_BYTES, 0);
        ring.batches.shrink_to_fit();
    }

    /// Tells readers that nothing more will come.
    pub(crate) fn end(&self, end: SessionEnd) {
        self.head.send_modify(|head| {
            head.end.get_or_insert(end);
        });
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, next: Seq) -> Found {
        let ring = self.ring();
        let at = ring.batches.partition_point(|batch| batch.last() < next);
        match ring.batches.get(at) {
            Some(batch) if batch.first() <= next => Found::Here(Delivery {
                skip: usize::try_from(next.0 - batch.first().0).unwrap_or(0),
                batch: batch.clone(),
            }),
            _ => Found::NotHere,
        }
    }
}

const IDLE_RING_BYTES: usize = 4 * 1024;
/// How long a late reader is waited for.
const MOMENT: Duration = Duration::from_millis(5);
/// How much of the journal is read at a time by someone who fell behind.
const CATCH_UP_BYTES: usize = 256 * 1024;

enum Found {
    Here(Delivery),
    NotHere,
}

/// Where the readers of a session stand that follow it through the ring.
#[derive(Default)]
struct Readers {
    places: Mutex<Places>,
    moved: Notify,
}

#[derive(Default)]
struct Places {
    next: u64,
    live: HashMap<u64, Seq>,
}

impl Readers {
    fn enter(&self) -> u64 {
        let mut places = self.lock();
        places.next += 1;
        places.next
    }

    /// A reader took everything up to `after` from the ring.
    fn live(&self, reader: u64, after: Seq) {
        self.lock().live.insert(reader, after);
        self.moved.notify_one();
    }

    /// A reader has left the ring.
    fn lost(&self, reader: u64) {
        self.lock().live.remove(&reader);
        self.moved.notify_one();
    }

    fn any_before(&self, seq: Seq) -> bool {
        self.lock().live.values().any(|after| *after < seq)
    }

    fn give_up_before(&self, seq: Seq) {
        self.lock().live.retain(|_, after| *after >= seq);
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reader's place in a session. Pulls; never blocks the session or another reader.
pub struct Subscription {
    feed: Arc<Feed>,
    reader: u64,
    head: watch::Receiver<Head>,
    after: Seq,
    cursor: ReadCursor,
}

impl Subscription {
    pub(crate) fn new(feed: Arc<Feed>, after: Seq) -> Self {
        Self {
            head: feed.head.subscribe(),
            reader: feed.readers.enter(),
            feed,
            after,
            cursor: ReadCursor::default(),
        }
    }

    pub(crate) fn from_now(feed: Arc<Feed>) -> Self {
        // What is written but not yet published is still to come.
        let last = feed.head.borrow().last;
        Self::new(feed, last)
    }

    /// The last event that was handed out.
    #[must_use]
    pub fn position(&self) -> Seq {
        self.after
    }

    /// The last event that was published.
    #[must_use]
    pub fn head(&self) -> Seq {
        self.head.borrow().last
    }

    /// Waits for the next events. Cancel safe.
    pub async fn next(&mut self) -> Result<Delivery, SessionEnd> {
        loop {
            let head = self.head.borrow_and_update().clone();
            if head.last > self.after {
                return self.pull().await;
            }
            if let Some(end) = head.end {
                return Err(end);
            }
            if self.head.changed().await.is_err() {
                return Err(SessionEnd::Closed);
            }
        }
    }

    /// Events that were published after the position: from the ring, else from the journal.
    async fn pull(&mut self) -> Result<Delivery, SessionEnd> {
        let (delivery, live) = match self.feed.find(self.after.next()) {
            Found::Here(delivery) => (delivery, true),
            Found::NotHere => {
                self.feed.readers.lost(self.reader);
                (self.read_journal().await?, false)
            }
        };
        if let Some(last) = delivery.events().last() {
            self.after = last.seq;
        }
        if live {
            self.feed.readers.live(self.reader, self.after);
        }
        Ok(delivery)
    }

    async fn read_journal(&mut self) -> Result<Delivery, SessionEnd> {
        if self.cursor.after != self.after {
            self.cursor = ReadCursor {
                after: self.after,
                offset: None,
            };
        }
        let mut cursor = self.cursor;
        let reader = self.feed.reader.clone();
        let read = tokio::task::spawn_blocking(move || {
            let events = reader.read(&mut cursor, CATCH_UP_BYTES)?;
            Ok::<_, JournalError>((events, cursor))
        });
        let failed = |reason: String| SessionEnd::Failed(reason.into());
        match read.await {
            Ok(Ok((events, cursor))) if !events.is_empty() => {
                self.cursor = cursor;
                Ok(Delivery {
                    batch: Arc::new(Batch::new(events)),
                    skip: 0,
                })
            }
            Ok(Ok(_)) => Err(failed(
                "the journal lost events that were published".to_owned(),
            )),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Err(_) => Err(failed("reading the journal was interrupted".to_owned())),
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.feed.readers.lost(self.reader);
    }
}
