//! The units that readers receive: events that were written together, and their shared encodings.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use harn_model::{Envelope, Seq};

/// Events that were written together, shared by all readers.
pub struct EventBatch {
    events: Vec<Envelope>,
    weight: usize,
    encoded: [OnceLock<Bytes>; EncodingSlot::COUNT],
}

/// The index under which a front-end stores its encoding of a batch, so that readers share one encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodingSlot(usize);

impl EncodingSlot {
    const COUNT: usize = 6;
    /// All slots; a front-end uses one for each of its encodings.
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

/// The part of a batch that a subscription returns: all of it, or the rest.
pub struct BatchSlice {
    batch: Arc<EventBatch>,
    skip: usize,
}

impl BatchSlice {
    /// Returns the part of a batch from `next` on; the batch must contain `next`.
    pub(super) fn from_seq(batch: Arc<EventBatch>, next: Seq) -> Self {
        let skip = usize::try_from(next.0 - batch.first().0).unwrap_or(0);
        Self { batch, skip }
    }

    /// Returns the events, in order, never empty.
    pub fn events(&self) -> &[Envelope] {
        &self.batch.events[self.skip..]
    }

    /// Whether this event is in the slice.
    pub fn contains(&self, seq: Seq) -> bool {
        let first = self.events().first().map(|envelope| envelope.seq);
        first.is_some_and(|first| (first..=self.last()).contains(&seq))
    }

    /// Returns the encoding of these events, which the first reader creates. `encode` must depend on the
    /// events and the slot only.
    pub fn get_or_encode(
        &self,
        slot: EncodingSlot,
        encode: impl FnOnce(&[Envelope]) -> Bytes,
    ) -> Bytes {
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
