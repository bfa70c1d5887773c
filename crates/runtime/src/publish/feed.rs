//! The publishing side of a session: what was published last, the ring, and the moment for late readers.

use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use harn_journal::LogReader;
use harn_model::{Envelope, Seq};
use tokio::sync::Notify;

use super::{
    BatchSlice, EventBatch,
    bell::{ReaderWaker, WakeListener},
    catch_up::CatchUp,
    places::{ReaderPosition, ReaderPositions},
    ring::BatchRing,
};
use crate::session::lock;

/// Why a session will publish nothing more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// It was closed.
    Closed,
    /// Its journal could not be written or read; what was published is safe.
    Failed(Arc<str>),
}

/// Owned by the session's task and shared with its readers.
pub(crate) struct SessionFeed {
    state: Mutex<FeedState>,
    bell: Arc<ReaderWaker>,
    /// The readers that were waited for have moved on.
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

/// What there is for a reader.
pub(super) enum FeedPoll {
    Here(BatchSlice),
    /// Published, and no longer in memory.
    InJournal,
    NothingYet,
    Ended(SessionEnd),
}

const IDLE_RING_BYTES: usize = 4 * 1024;
/// How long late readers are waited for when none of them moves.
const MOMENT: Duration = Duration::from_millis(5);
/// The longest that many who come one after another are waited for.
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

    /// Gives readers that are about to lose their place in the ring a moment to move on: a reader that is
    /// merely late is spared the journal. One that uses the moment up is not waited for again until it has
    /// caught up, so that a client which does not read costs the session this once. Many that are late
    /// together are waited for while they come, up to a limit, since all of them in the journal would take
    /// far longer.
    pub(crate) async fn pace(&self) {
        let Some(oldest) = self.about_to_be_lost() else {
            return;
        };
        let all_moved = tokio::time::timeout(MOMENTS, self.all_move(oldest)).await;
        if all_moved != Ok(true) {
            self.state().places.give_up_before(oldest);
        }
    }

    /// Waits until nobody stands before `seq`, or for a moment in which none of them moves; whether they
    /// all moved.
    async fn all_move(&self, seq: Seq) -> bool {
        loop {
            let steps = self.state().places.late_steps();
            let all_moved = tokio::time::timeout(MOMENT, self.beyond(seq)).await;
            if all_moved.is_ok() {
                return true;
            }
            if self.state().places.late_steps() == steps {
                return false;
            }
        }
    }

    /// The end of the oldest batch, if the ring will soon drop it and a reader has yet to take it.
    fn about_to_be_lost(&self) -> Option<Seq> {
        let mut state = self.state();
        let oldest = state.ring.crowded(self.ring_bytes / 2)?;
        state.places.await_beyond(oldest).then_some(oldest)
    }

    /// Waits until nobody stands before `seq`.
    async fn beyond(&self, seq: Seq) {
        // A step between the look and the wait leaves a permit, so that it is not missed.
        while self.state().places.await_beyond(seq) {
            self.moved.notified().await;
        }
    }

    /// Makes written events visible.
    pub(crate) fn publish(&self, events: Vec<Envelope>) {
        let batch = Arc::new(EventBatch::new(events));
        {
            let mut state = self.state();
            state.last = batch.last();
            state.ring.push(batch, self.ring_bytes);
        }
        self.bell.ring();
    }

    /// Gives memory back while nothing happens; readers that are behind use the journal.
    pub(crate) fn rest(&self) {
        self.state().ring.shrink(IDLE_RING_BYTES);
    }

    /// Tells readers that nothing more will come.
    pub(crate) fn end(&self, end: SessionEnd) {
        self.state().end.get_or_insert(end);
        self.bell.ring();
    }

    /// The last event that was published.
    pub(super) fn last(&self) -> Seq {
        self.state().last
    }

    /// The last event before this process opened the session.
    pub(super) fn began(&self) -> Seq {
        self.began
    }

    pub(super) fn ear(&self) -> WakeListener {
        self.bell.ear()
    }

    pub(super) fn catch_up(&self) -> &CatchUp {
        &self.catch_up
    }

    /// What a reader that has everything up to `after` can have next, and notes where it then stands.
    pub(super) fn look(&self, after: Seq, place: &mut ReaderPosition) -> FeedPoll {
        let mut state = self.state();
        if state.last <= after {
            return state
                .end
                .clone()
                .map_or(FeedPoll::NothingYet, FeedPoll::Ended);
        }
        let (look, freed) = match state.ring.find(after.next()) {
            Some(delivery) => {
                let freed = state.places.step(place, delivery.last());
                (FeedPoll::Here(delivery), freed)
            }
            None => (FeedPoll::InJournal, state.places.leave(place)),
        };
        drop(state);
        if freed {
            self.moved.notify_one();
        }
        look
    }

    /// A reader is gone.
    pub(super) fn leave(&self, place: &mut ReaderPosition) {
        let freed = self.state().places.leave(place);
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
