//! A reader's cursor: it pulls from the ring, and from the journal when the ring has dropped its events.

use std::sync::Arc;

use harn_journal::ReadCursor;
use harn_model::Seq;

use super::{
    BatchSlice, SessionEnd,
    catch_up::RetainedChunks,
    feed::{FeedPoll, SessionFeed},
    positions::ReaderPosition,
    waker::WakeListener,
};

/// A reader's position in a session. Pulls events; never blocks the session or another reader.
pub struct Subscription {
    feed: Arc<SessionFeed>,
    ear: WakeListener,
    place: ReaderPosition,
    /// The position after the last returned event, with its journal offset if it was read from there.
    at: ReadCursor,
    /// Chunks of the journal that this or another reader needs soon.
    kept: Option<RetainedChunks>,
}

impl Subscription {
    pub(crate) fn new(feed: Arc<SessionFeed>, after: Seq) -> Self {
        Self {
            ear: feed.listener(),
            feed,
            place: ReaderPosition::default(),
            at: ReadCursor::starting_after(after),
            kept: None,
        }
    }

    pub(crate) fn from_now(feed: Arc<SessionFeed>) -> Self {
        // Written but unpublished events are still to be received.
        let last = feed.last();
        Self::new(feed, last)
    }

    /// Returns the last event that this reader received.
    pub fn position(&self) -> Seq {
        self.at.after
    }

    /// Returns the last published event.
    pub fn head(&self) -> Seq {
        self.feed.last()
    }

    /// Returns the last event before this process opened the session. Events up to it about processes and
    /// clients are out of date.
    pub fn last_before_open(&self) -> Seq {
        self.feed.last_before_open()
    }

    /// Waits for the next events. Cancel safe.
    pub async fn next(&mut self) -> Result<BatchSlice, SessionEnd> {
        loop {
            // Before the poll, so that an event published in between is not missed.
            self.ear.reset();
            match self.feed.poll(self.at.after, &mut self.place) {
                FeedPoll::Here(delivery) => {
                    self.kept = None;
                    self.at = ReadCursor::starting_after(delivery.last());
                    return Ok(delivery);
                }
                FeedPoll::InJournal => {
                    let published = self.feed.last();
                    let journal = self.feed.catch_up();
                    let (delivery, kept) = journal.next(&mut self.at, published).await?;
                    self.kept = Some(kept);
                    self.feed.return_to_ring(self.at.after, &mut self.place);
                    return Ok(delivery);
                }
                FeedPoll::Ended(end) => return Err(end),
                FeedPoll::NothingYet => {
                    self.kept = None;
                    if !self.ear.wait_for_wake().await {
                        return Err(SessionEnd::Closed);
                    }
                }
            }
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.feed.remove_reader(&mut self.place);
    }
}
