//! Tests of a feed and its subscriptions without a session, on a paused clock.
#![allow(
    clippy::disallowed_methods,
    reason = "the paused clock is what these tests read"
)]

use std::{
    future::Future,
    pin::pin,
    sync::atomic::{AtomicUsize, Ordering},
    task::{Context, Waker},
};

use harn_journal::{JournalError, ReadCursor};
use harn_model::AgentEvent;
use tokio::{task::JoinSet, time::Instant};

use super::*;
use crate::Subscription;

/// More readers than the session task wakes itself.
const MANY: usize = 100;
/// Space for some of these tests' events.
const RING_BYTES: usize = 2 * 1024;

/// Stores appended events and counts the reads.
#[derive(Default)]
struct CountingLog {
    written: Mutex<Vec<Envelope>>,
    reads: AtomicUsize,
}

impl CountingLog {
    fn reads(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }
}

impl LogReader for CountingLog {
    fn read(&self, cursor: &mut ReadCursor, _: usize) -> Result<Vec<Envelope>, JournalError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let written = self.written.lock().unwrap();
        let rest = written.iter().filter(|e| e.seq > cursor.after);
        let rest: Vec<_> = rest.cloned().collect();
        cursor.after = rest.last().map_or(cursor.after, |e| e.seq);
        Ok(rest)
    }
}

struct FeedRig {
    feed: Arc<SessionFeed>,
    log: Arc<CountingLog>,
    last: Seq,
}

impl FeedRig {
    fn new() -> Self {
        Self::with_ring_bytes(RING_BYTES)
    }

    fn with_ring_bytes(ring_bytes: usize) -> Self {
        let log = Arc::new(CountingLog::default());
        Self {
            feed: Arc::new(SessionFeed::new(Seq::ZERO, log.clone(), ring_bytes)),
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
        let envelope = self.append();
        self.feed.publish(vec![envelope]);
    }

    /// Appends an event that is not published yet.
    fn append(&mut self) -> Envelope {
        self.last = self.last.next();
        let envelope = Envelope {
            seq: self.last,
            at: 0,
            turn: None,
            event: AgentEvent::message("x".repeat(256)),
        };
        self.log.written.lock().unwrap().push(envelope.clone());
        envelope
    }

    /// Publishes until the ring has dropped `seq`.
    fn publish_past(&mut self, seq: Seq) {
        while self.last < seq || self.feed.state().ring.find(seq).is_some() {
            self.publish();
        }
    }

    /// Returns how long the session waits.
    async fn pace(&self) -> Duration {
        let begun = Instant::now();
        self.feed.pace().await;
        begun.elapsed()
    }
}

/// A hundred sessions with full rings would cost hundreds of mebibytes, for events that no reader needs.
#[tokio::test(start_paused = true)]
async fn ring_keeps_little_that_every_reader_has_taken() {
    const MOST: usize = 1024 * 1024;
    let mut rig = FeedRig::with_ring_bytes(MOST);
    let kept = |rig: &FeedRig| rig.feed.state().ring.weight();
    // One event more than the limit, because the last batch always stays.
    let few = TAKEN_RING_BYTES + 1024;
    for _ in 0..200 {
        rig.publish();
    }
    assert!(kept(&rig) <= few, "without readers: {}", kept(&rig));

    let mut readers = rig.readers(3);
    for _ in 0..200 {
        rig.publish();
        for reader in &mut readers {
            catch_up(reader).await;
        }
    }
    assert!(kept(&rig) <= few, "with readers: {}", kept(&rig));

    // A reader that is behind finds its events in the ring.
    let reads = rig.log.reads();
    let late = readers.pop();
    for _ in 0..200 {
        rig.publish();
        for reader in &mut readers {
            catch_up(reader).await;
        }
    }
    assert!(kept(&rig) > few);
    let mut late = late.unwrap();
    catch_up(&mut late).await;
    assert_eq!(rig.log.reads(), reads);
    rig.publish();
    assert!(kept(&rig) <= few, "after the late one: {}", kept(&rig));
}

/// Takes all published events.
async fn catch_up(reader: &mut Subscription) {
    while reader.position() < reader.head() {
        reader.next().await.unwrap();
    }
}

/// Returns a reader that has taken only the first event, with a ring that is about to drop the next.
async fn late_reader(rig: &mut FeedRig) -> Subscription {
    rig.publish();
    let mut late = rig.readers(1).remove(0);
    late.next().await.unwrap();
    // The reader is after the first event; the oldest event in the ring must be one it has not taken.
    rig.publish_past(Seq(1));
    late
}

#[tokio::test(start_paused = true)]
async fn session_waits_once_for_a_late_reader() {
    let mut rig = FeedRig::new();
    let mut late = late_reader(&mut rig).await;
    assert_eq!(rig.pace().await, MOMENT);
    rig.publish();
    assert_eq!(rig.pace().await, Duration::ZERO);
    // A reader that has caught up is awaited again.
    catch_up(&mut late).await;
    rig.publish();
    late.next().await.unwrap();
    rig.publish_past(late.position());
    assert_eq!(rig.pace().await, MOMENT);
}

#[tokio::test(start_paused = true)]
async fn step_of_a_late_reader_ends_the_wait() {
    let mut rig = FeedRig::new();
    let mut late = late_reader(&mut rig).await;
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
async fn leaving_late_reader_ends_the_wait() {
    let mut rig = FeedRig::new();
    let late = late_reader(&mut rig).await;
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
async fn timely_readers_do_not_prolong_the_wait() {
    let mut rig = FeedRig::new();
    let mut others = rig.readers(MANY);
    let _late = late_reader(&mut rig).await;
    for other in &mut others {
        // Reads from the journal, and then takes one step in the ring.
        other.next().await.unwrap();
    }
    rig.publish();
    let moving = tokio::spawn(async move {
        for other in &mut others {
            tokio::time::sleep(MOMENT / 5).await;
            other.next().await.unwrap();
        }
    });
    assert_eq!(rig.pace().await, MOMENT);
    moving.abort();
}

#[tokio::test(start_paused = true)]
async fn session_waits_while_many_late_readers_move() {
    let mut rig = FeedRig::new();
    rig.publish();
    let mut readers = rig.readers(MANY);
    for reader in &mut readers {
        reader.next().await.unwrap();
    }
    rig.publish_past(Seq(1));
    let _stuck = readers.pop();
    readers.truncate(30);
    let coming = readers.len() as u32;
    let moving = tokio::spawn(async move {
        for reader in &mut readers {
            tokio::time::sleep(MOMENT / 5).await;
            reader.next().await.unwrap();
        }
        readers
    });
    let held_up = rig.pace().await;
    assert!(held_up >= MOMENT / 5 * coming, "{held_up:?}");
    assert!(held_up <= MOMENT / 5 * coming + 2 * MOMENT, "{held_up:?}");
    let readers = moving.await.unwrap();
    assert_eq!(readers.len() as u32, coming);
    rig.publish();
    assert_eq!(rig.log.reads(), 0, "none of them needed the journal");
}

#[tokio::test(start_paused = true)]
async fn slow_crowd_delays_the_session_only_up_to_the_limit() {
    let mut rig = FeedRig::new();
    rig.publish();
    let mut readers = rig.readers(MANY);
    for reader in &mut readers {
        reader.next().await.unwrap();
    }
    rig.publish_past(Seq(1));
    let trickling = tokio::spawn(async move {
        for reader in &mut readers {
            tokio::time::sleep(MOMENT / 2).await;
            reader.next().await.unwrap();
        }
    });
    assert_eq!(rig.pace().await, MOMENTS);
    assert_eq!(
        rig.pace().await,
        Duration::ZERO,
        "nobody is waited for twice"
    );
    trickling.abort();
}

#[tokio::test(start_paused = true)]
async fn session_does_not_wait_for_readers_that_keep_up() {
    let mut rig = FeedRig::new();
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
async fn many_waiting_readers_receive_each_event_once_and_the_end() {
    let mut rig = FeedRig::new();
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
async fn dropped_wait_loses_no_event() {
    let mut rig = FeedRig::new();
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
async fn reader_behind_the_ring_reads_the_journal_and_returns_to_the_ring() {
    let mut rig = FeedRig::new();
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

#[tokio::test]
async fn reader_does_not_receive_unpublished_events_from_the_journal() {
    let mut rig = FeedRig::new();
    let mut reader = rig.readers(1).remove(0);
    rig.publish_past(Seq(1));
    let published = rig.last;
    let held_back = rig.append();
    reader.next().await.unwrap();
    assert_eq!(reader.position(), published);
    rig.feed.publish(vec![held_back]);
    let delivery = reader.next().await.unwrap();
    assert_eq!(delivery.events().len(), 1);
    assert_eq!(reader.position(), rig.last);
}

#[tokio::test]
async fn many_readers_behind_share_one_journal_read_and_encoding() {
    let mut rig = FeedRig::new();
    let readers = rig.readers(MANY);
    rig.publish_past(Seq(1));
    let made = Arc::new(AtomicUsize::new(0));
    let mut reading = JoinSet::new();
    for mut reader in readers {
        let made = made.clone();
        reading.spawn(async move {
            let delivery = reader.next().await.unwrap();
            delivery.get_or_encode(crate::EncodingSlot::ALL[0], |_| {
                made.fetch_add(1, Ordering::Relaxed);
                "encoded".into()
            });
            let seqs: Vec<u64> = delivery.events().iter().map(|e| e.seq.0).collect();
            (reader, seqs)
        });
    }
    let done = reading.join_all().await;
    let all: Vec<u64> = (1..=rig.last.0).collect();
    assert!(done.iter().all(|(_, seqs)| *seqs == all));
    assert_eq!(rig.log.reads(), 1);
    assert_eq!(made.load(Ordering::Relaxed), 1);
    // Shared chunks are freed with the last reader that needs them.
    drop(done);
    assert!(rig.feed.catch_up.is_empty());
}

#[tokio::test]
async fn reader_inside_a_chunk_takes_the_rest_of_it() {
    let mut rig = FeedRig::new();
    rig.publish_past(Seq(3));
    let mut first = Subscription::new(rig.feed.clone(), Seq::ZERO);
    let mut second = Subscription::new(rig.feed.clone(), Seq(2));
    first.next().await.unwrap();
    let rest = second.next().await.unwrap();
    assert_eq!(rest.events()[0].seq, Seq(3));
    assert_eq!(second.position(), first.position());
    assert_eq!(rig.log.reads(), 1);
    // A reader before the chunk reads for itself.
    let mut earlier = Subscription::new(rig.feed.clone(), Seq::ZERO);
    drop(first);
    drop(second);
    let whole = earlier.next().await.unwrap();
    assert_eq!(whole.events()[0].seq, Seq(1));
    assert_eq!(rig.log.reads(), 2);
}

#[tokio::test]
async fn next_waiting_reader_repeats_a_dropped_read() {
    let mut rig = FeedRig::new();
    rig.publish_past(Seq(1));
    let mut readers = rig.readers(2);
    let mut stays = readers.pop().unwrap();
    let mut leaves = readers.pop().unwrap();
    let mut context = Context::from_waker(Waker::noop());
    {
        // No read ends before both readers wait for it.
        let _held = rig.log.written.lock().unwrap();
        let mut reading = pin!(leaves.next());
        assert!(reading.as_mut().poll(&mut context).is_pending());
        let mut waiting = pin!(stays.next());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
    }
    drop(leaves);
    let delivery = stays.next().await.unwrap();
    assert_eq!(delivery.events()[0].seq, Seq(1));
}
