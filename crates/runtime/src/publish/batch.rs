//! What readers are handed: events that were written together, and the encodings they share.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use harn_model::{Envelope, Seq};

/// Events that were written together, shared by everyone who reads them.
pub struct EventBatch {
    events: Vec<Envelope>,
    weight: usize,
    encoded: [OnceLock<Bytes>; EncodingSlot::COUNT],
}

/// Where a front-end keeps its own encoding of a batch, so that it is made once and shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodingSlot(usize);

impl EncodingSlot {
    const COUNT: usize = 6;
    /// All slots; a front-end uses one for each way it encodes.
    pub const ALL: [Self; Self::COUNT] = [Self(0), Self(1), Self(2), Self(3), Self(4), Self(5)];
}

impl EventBatch {
    pub(crate) fn new(events: Vec<Envelope>) -> Self {
        let weight = events.iter().map(|e| e.event.weight()).sum();
        Self {
            events,
            weight,
            encoded: Default::default(),
        }
    }

    pub(super) fn first(&self) -> Seq {
        self.events.first().map_or(Seq::ZERO, |e| e.seq)
    }

    pub(super) fn last(&self) -> Seq {
        self.events.last().map_or(Seq::ZERO, |e| e.seq)
    }

    pub(super) fn weight(&self) -> usize {
        self.weight
    }
}

/// What a subscription hands out: a batch, or the rest of one.
pub struct BatchSlice {
    batch: Arc<EventBatch>,
    skip: usize,
}

impl BatchSlice {
    /// A batch from `next` on, which it must hold.
    pub(super) fn rest(batch: Arc<EventBatch>, next: Seq) -> Self {
        let skip = usize::try_from(next.0 - batch.first().0).unwrap_or(0);
        Self { batch, skip }
    }

    /// The events, in order, never empty.
    #[must_use]
    pub fn events(&self) -> &[Envelope] {
        &self.batch.events[self.skip..]
    }

    /// Whether this event is among them.
    #[must_use]
    pub fn holds(&self, seq: Seq) -> bool {
        let first = self.events().first().map(|envelope| envelope.seq);
        first.is_some_and(|first| (first..=self.last()).contains(&seq))
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

    pub(super) fn last(&self) -> Seq {
        self.batch.last()
    }
}
