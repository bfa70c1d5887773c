//! A feed and its subscriptions without a session around them, on a clock that stands still.
#![allow(
    clippy::disallowed_methods,
    reason = "the paused clock is what these tests read"
)]

use std::{future::Future, pin::pin, task::Context, task::Waker};

use harn_journal::{JournalError, ReadCursor};
use harn_model::AgentEvent;
use tokio::{task::JoinSet, time::Instant};

use super::*;
use crate::Subscription;

/// More than are woken on the spot.
const MANY: usize = 100;
/// Room for some of these tests' events.
const RING_BYTES: usize = 2 * 1024;

/// What was appended.
#[derive(Default)]
struct Log(Mutex<Vec<Envelope>>);

impl LogReader for Log {
    fn read(&self, cursor: &mut ReadCursor, _: usize) -> Result<Vec<Envelope>, JournalError> {
        let written = self.0.lock().unwrap();
        let rest = written.iter().filter(|e| e.seq > cursor.after);
        let rest: Vec<_> = rest.cloned().collect();
        cursor.after = rest.last().map_or(cursor.after, |e| e.seq);
        Ok(rest)
    }
}

struct Rig {
    feed: Arc<Feed>,
    log: Arc<Log>,
    last: Seq,
}

impl Rig {
    fn new() -> Self {
        let log = Arc::new(Log::default());
        Self {
            feed: Arc::new(Feed::new(Seq::ZERO, log.clone(), RING_BYTES)),
            log,
            last: Seq::ZERO,
        }
    }

    fn readers(&self, count: usize) -> Vec<Subscription> {
        let subscribe = |_| Subscription::new(self.feed.clone(), Seq::ZERO);
        (0..count).map(subscribe).collect()
    }

    /// Appends and publishes one event.
    fn publish(&mut self) {
        self.last = self.last.next();
        let envelope = Envelope {
            seq: self.last,
            at: 0,
            turn: None,
            event: AgentEvent::message("x".repeat(256)),
        };
        self.log.0.lock().unwrap().push(envelope.clone());
        self.feed.publish(vec![envelope]);
    }

    /// Publishes until the ring has let go of `seq`.
    fn publish_past(&mut self, seq: Seq) {
        while self.last < seq || self.feed.state().ring.find(seq).is_some() {
            self.publish();
        }
    }

    /// How long the session is held up.
    async fn pace(&self) -> Duration {
        let begun = Instant::now();
        self.feed.pace().await;
        begun.elapsed()
    }
}

/// Takes everything there is.
async fn catch_up(reader: &mut Subscription) {
    while reader.position() < reader.head() {
        reader.next().await.unwrap();
    }
}

/// A reader that has taken the first event only and a ring that is about to drop the next.
async fn late(rig: &mut Rig) -> Subscription {
    rig.publish();
    let mut late = rig.readers(1).remove(0);
    late.next().await.unwrap();
    // It stands behind the first event; the oldest in the ring must be one it has not taken.
    rig.publish_past(Seq(1));
    late
}

#[tokio::test(start_paused = true)]
async fn a_late_reader_is_waited_for_once() {
    let mut rig = Rig::new();
    let mut late = late(&mut rig).await;
    assert_eq!(rig.pace().await, MOMENT);
    rig.publish();
    assert_eq!(rig.pace().await, Duration::ZERO);
    // Caught up, it is worth a moment again.
    catch_up(&mut late).await;
    rig.publish();
    late.next().await.unwrap();
    rig.publish_past(late.position());
    assert_eq!(rig.pace().await, MOMENT);
}

#[tokio::test(start_paused = true)]
async fn a_step_of_the_late_reader_lets_the_session_go_on() {
    let mut rig = Rig::new();
    let mut late = late(&mut rig).await;
    let feed = rig.feed.clone();
    let pacing = tokio::spawn(async move { feed.pace().await });
    tokio::time::sleep(MOMENT / 5).await;
    assert!(!pacing.is_finished());
    let begun = Instant::now();
    late.next().await.unwrap();
    pacing.await.unwrap();
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_late_reader_that_leaves_lets_the_session_go_on() {
    let mut rig = Rig::new();
    let late = late(&mut rig).await;
    let feed = rig.feed.clone();
    let pacing = tokio::spawn(async move { feed.pace().await });
    tokio::time::sleep(MOMENT / 5).await;
    assert!(!pacing.is_finished());
    let begun = Instant::now();
    drop(late);
    pacing.await.unwrap();
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn the_moment_is_not_made_longer_by_others_that_move() {
    let mut rig = Rig::new();
    rig.publish();
    let mut readers = rig.readers(MANY);
    for reader in &mut readers {
        reader.next().await.unwrap();
    }
    rig.publish_past(Seq(1));
    let _stuck = readers.pop();
    // One moves each millisecond, for far longer than a moment.
    let moving = tokio::spawn(async move {
        for reader in &mut readers {
            tokio::time::sleep(MOMENT / 5).await;
            reader.next().await.unwrap();
        }
    });
    assert_eq!(rig.pace().await, MOMENT);
    moving.abort();
}

#[tokio::test(start_paused = true)]
async fn readers_that_keep_up_are_not_waited_for() {
    let mut rig = Rig::new();
    let mut readers = rig.readers(MANY);
    for _ in 0..50 {
        rig.publish();
        for reader in &mut readers {
            reader.next().await.unwrap();
        }
        assert_eq!(rig.pace().await, Duration::ZERO);
    }
}

#[tokio::test]
async fn many_that_wait_get_everything_once_and_hear_the_end() {
    let mut rig = Rig::new();
    let mut waiting = JoinSet::new();
    for mut reader in rig.readers(MANY) {
        waiting.spawn(async move {
            let mut seen = Vec::new();
            loop {
                match reader.next().await {
                    Ok(delivery) => seen.extend(delivery.events().iter().map(|e| e.seq.0)),
                    Err(end) => return (seen, end),
                }
            }
        });
    }
    for _ in 0..40 {
        tokio::task::yield_now().await;
        rig.publish();
    }
    rig.feed.end(SessionEnd::Closed);
    let all: Vec<u64> = (1..=40).collect();
    while let Some(done) = waiting.join_next().await {
        assert_eq!(done.unwrap(), (all.clone(), SessionEnd::Closed));
    }
}

#[tokio::test]
async fn a_wait_that_is_dropped_loses_nothing_for_it_or_others() {
    let mut rig = Rig::new();
    let mut readers = rig.readers(MANY);
    for reader in &mut readers {
        let mut context = Context::from_waker(Waker::noop());
        assert!(pin!(reader.next()).poll(&mut context).is_pending());
    }
    rig.publish();
    rig.publish();
    for reader in &mut readers {
        for seq in [1, 2] {
            let delivery = reader.next().await.unwrap();
            assert_eq!(delivery.events()[0].seq, Seq(seq));
        }
    }
}

#[tokio::test]
async fn who_fell_out_of_the_ring_goes_on_from_the_journal_and_back() {
    let mut rig = Rig::new();
    let mut reader = rig.readers(1).remove(0);
    rig.publish_past(Seq(1));
    let delivery = reader.next().await.unwrap();
    assert_eq!(
        delivery.events().len() as u64,
        rig.last.0,
        "all of it, from the journal"
    );
    rig.publish();
    let delivery = reader.next().await.unwrap();
    assert_eq!(delivery.events().len(), 1);
}
