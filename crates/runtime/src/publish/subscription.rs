//! A reader's cursor: it pulls from the ring, and from the journal when the ring has moved on.

use std::sync::Arc;

use harn_journal::{JournalError, ReadCursor};
use harn_model::Seq;

use super::{
    Batch, Delivery, SessionEnd,
    bell::Ear,
    feed::{Feed, Look},
    places::Place,
};

/// A reader's place in a session. Pulls; never blocks the session or another reader.
pub struct Subscription {
    feed: Arc<Feed>,
    ear: Ear,
    place: Place,
    after: Seq,
    cursor: ReadCursor,
}

/// How much of the journal is read at a time by someone who fell behind.
const CATCH_UP_BYTES: usize = 256 * 1024;

impl Subscription {
    pub(crate) fn new(feed: Arc<Feed>, after: Seq) -> Self {
        Self {
            ear: feed.ear(),
            feed,
            place: Place::default(),
            after,
            cursor: ReadCursor::default(),
        }
    }

    pub(crate) fn from_now(feed: Arc<Feed>) -> Self {
        // What is written but not yet published is still to come.
        let last = feed.last();
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
        self.feed.last()
    }

    /// Waits for the next events. Cancel safe.
    pub async fn next(&mut self) -> Result<Delivery, SessionEnd> {
        loop {
            // Before the look, so that what is published in between is not missed.
            self.ear.listen();
            let delivery = match self.feed.look(self.after, &mut self.place) {
                Look::Here(delivery) => delivery,
                Look::InJournal => self.read_journal().await?,
                Look::Ended(end) => return Err(end),
                Look::NothingYet => {
                    if self.ear.rung().await {
                        continue;
                    }
                    return Err(SessionEnd::Closed);
                }
            };
            self.after = delivery.last();
            return Ok(delivery);
        }
    }

    async fn read_journal(&mut self) -> Result<Delivery, SessionEnd> {
        if self.cursor.after != self.after {
            self.cursor = ReadCursor {
                after: self.after,
                offset: None,
            };
        }
        let mut cursor = self.cursor;
        let reader = self.feed.reader();
        let read = tokio::task::spawn_blocking(move || {
            let events = reader.read(&mut cursor, CATCH_UP_BYTES)?;
            Ok::<_, JournalError>((events, cursor))
        });
        let failed = |reason: String| SessionEnd::Failed(reason.into());
        match read.await {
            Ok(Ok((events, cursor))) if !events.is_empty() => {
                self.cursor = cursor;
                Ok(Delivery::whole(Arc::new(Batch::new(events))))
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
        self.feed.leave(&mut self.place);
    }
}
