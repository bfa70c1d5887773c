//! The publishing side of a session: the last published event, the ring, and the wait for late readers.

use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use harn_journal::LogReader;
use harn_model::{Envelope, Seq};
use tokio::sync::Notify;

use super::{
    BatchSlice, EventBatch,
    catch_up::CatchUp,
    positions::{ReaderPosition, ReaderPositions},
    ring::BatchRing,
    waker::{ReaderWaker, WakeListener},
};
use crate::session::lock;

/// The reason why a session publishes nothing more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// The session was closed.
    Closed,
    /// The journal could not be written or read; published events are safe.
    Failed(Arc<str>),
}

/// The feed of a session's events, owned by the session task and shared with its readers.
pub(crate) struct SessionFeed {
    state: Mutex<FeedState>,
    bell: Arc<ReaderWaker>,
    /// Notified when the awaited readers have moved on.
    moved: Notify,
    catch_up: CatchUp,
    /// The last event before this process opened the session.
    began: Seq,
    ring_bytes: usize,
}

struct FeedState {
    last: Seq,
    end: Option<SessionEnd>,
    ring: BatchRing,
    places: ReaderPositions,
}

/// The result of a reader's poll.
pub(super) enum FeedPoll {
    Here(BatchSlice),
    /// Published, but no longer in memory.
    InJournal,
    NothingYet,
    Ended(SessionEnd),
}

const IDLE_RING_BYTES: usize = 4 * 1024;
/// What the ring keeps during a turn although every reader has taken it, for readers that arrive at that moment. A batch
/// also has up to six encodings, so rings full of batches that were taken would cost hundreds of mebibytes.
const TAKEN_RING_BYTES: usize = 16 * 1024;
/// How long the session waits for late readers when none of them moves.
const MOMENT: Duration = Duration::from_millis(5);
/// The maximum wait for many late readers that move one after another.
const MOMENTS: Duration = Duration::from_millis(50);

impl SessionFeed {
    pub(crate) fn new(last: Seq, reader: Arc<dyn LogReader>, ring_bytes: usize) -> Self {
        let state = FeedState {
            last,
            end: None,
            ring: BatchRing::default(),
            places: ReaderPositions::default(),
        };
        Self {
            state: Mutex::new(state),
            bell: ReaderWaker::new(),
            moved: Notify::new(),
            catch_up: CatchUp::new(reader),
            began: last,
            ring_bytes,
        }
    }

    /// Waits briefly for readers whose next event the ring is about to drop, so that a reader that is merely
    /// late need not read the journal. A reader that uses up the wait is not awaited again until it has
    /// caught up: a client that does not read delays the session once. Many late readers are awaited while
    /// they move, up to a limit, because all of them in the journal would take far longer.
    pub(crate) async fn pace(&self) {
        let Some(oldest) = self.oldest_unread_batch() else {
            return;
        };
        let all_moved = tokio::time::timeout(MOMENTS, self.wait_until_all_move(oldest)).await;
        if all_moved != Ok(true) {
            self.state().places.give_up_before(oldest);
        }
    }

    /// Waits until no reader is before `seq`, or until none of them moves for a moment; returns whether all moved.
    async fn wait_until_all_move(&self, seq: Seq) -> bool {
        loop {
            let steps = self.state().places.late_steps();
            let all_moved = tokio::time::timeout(MOMENT, self.wait_until_beyond(seq)).await;
            if all_moved.is_ok() {
                return true;
            }
            if self.state().places.late_steps() == steps {
                return false;
            }
        }
    }

    /// Returns the end of the oldest batch if the ring will drop it soon and a reader has not taken it.
    fn oldest_unread_batch(&self) -> Option<Seq> {
        let mut state = self.state();
        let oldest = state.ring.oldest_if_above(self.ring_bytes / 2)?;
        state.places.await_beyond(oldest).then_some(oldest)
    }

    /// Waits until no reader is before `seq`.
    async fn wait_until_beyond(&self, seq: Seq) {
        // A step between the check and the wait leaves a permit, so it is not missed.
        while self.state().places.await_beyond(seq) {
            self.moved.notified().await;
        }
    }

    /// Publishes written events to readers.
    pub(crate) fn publish(&self, events: Vec<Envelope>) {
        let batch = Arc::new(EventBatch::new(events));
        {
            let mut state = self.state();
            state.last = batch.last();
            state.ring.push(batch, self.ring_bytes);
            let taken = state.places.furthest_behind().unwrap_or(state.last);
            state.ring.drop_read(taken, TAKEN_RING_BYTES);
        }
        self.bell.wake_readers();
    }

    /// Frees memory while the session is inactive; readers that are behind use the journal.
    pub(crate) fn shrink_ring(&self) {
        self.state().ring.shrink(IDLE_RING_BYTES);
    }

    /// Notifies readers that the session publishes nothing more.
    pub(crate) fn end(&self, end: SessionEnd) {
        self.state().end.get_or_insert(end);
        self.bell.wake_readers();
    }

    /// Returns the last published event.
    pub(super) fn last(&self) -> Seq {
        self.state().last
    }

    /// Returns the last event before this process opened the session.
    pub(super) fn last_before_open(&self) -> Seq {
        self.began
    }

    pub(super) fn listener(&self) -> WakeListener {
        self.bell.listener()
    }

    pub(super) fn catch_up(&self) -> &CatchUp {
        &self.catch_up
    }

    /// Returns what a reader with all events up to `after` can read next, and records its new position.
    pub(super) fn poll(&self, after: Seq, place: &mut ReaderPosition) -> FeedPoll {
        let mut state = self.state();
        if state.last <= after {
            if let Some(end) = state.end.clone() {
                return FeedPoll::Ended(end);
            }
            // A new reader counts from here, so that the ring keeps its next event.
            let freed = state.places.step(place, after);
            drop(state);
            self.notify_if(freed);
            return FeedPoll::NothingYet;
        }
        let (look, freed) = match state.ring.find(after.next()) {
            Some(delivery) => {
                let freed = state.places.step(place, delivery.last());
                (FeedPoll::Here(delivery), freed)
            }
            None => (FeedPoll::InJournal, state.places.leave(place)),
        };
        drop(state);
        self.notify_if(freed);
        look
    }

    /// Counts a reader that has read the journal up to an event, if the ring has the next one.
    pub(super) fn return_to_ring(&self, after: Seq, place: &mut ReaderPosition) {
        let mut state = self.state();
        if state.last <= after || state.ring.find(after.next()).is_some() {
            let freed = state.places.step(place, after);
            drop(state);
            self.notify_if(freed);
        }
    }

    pub(super) fn remove_reader(&self, place: &mut ReaderPosition) {
        let freed = self.state().places.leave(place);
        self.notify_if(freed);
    }

    /// Ends the wait of the session if the awaited readers have moved.
    fn notify_if(&self, freed: bool) {
        if freed {
            self.moved.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, FeedState> {
        lock(&self.state)
    }
}

#[cfg(test)]
mod tests;
