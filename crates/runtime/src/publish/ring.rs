//! The recent events of a session in memory: batches, oldest first, up to a weight.

use std::{collections::VecDeque, sync::Arc};

use harn_model::Seq;

use super::{BatchSlice, EventBatch};

#[derive(Default)]
pub(super) struct BatchRing {
    batches: VecDeque<Arc<EventBatch>>,
    weight: usize,
}

impl BatchRing {
    /// Adds a batch and drops the oldest ones until the rest weighs at most `most`.
    pub(super) fn push(&mut self, batch: Arc<EventBatch>, most: usize) {
        self.weight += batch.weight();
        self.batches.push_back(batch);
        self.trim(most, 1, None);
    }

    /// Drops the oldest batches that end at `read` or before, until the rest weighs at most `most`.
    pub(super) fn drop_read(&mut self, read: Seq, most: usize) {
        self.trim(most, 1, Some(read));
    }

    /// Frees memory, down to a weight of `most`.
    pub(super) fn shrink(&mut self, most: usize) {
        self.trim(most, 0, None);
        self.batches.shrink_to_fit();
    }

    fn trim(&mut self, most: usize, keep: usize, read: Option<Seq>) {
        while self.weight > most
            && self.batches.len() > keep
            && let Some(oldest) = self.batches.front()
            && read.is_none_or(|read| oldest.last() <= read)
        {
            self.weight -= oldest.weight();
            self.batches.pop_front();
        }
    }

    #[cfg(test)]
    pub(super) fn weight(&self) -> usize {
        self.weight
    }

    /// Returns the end of the oldest batch if the ring weighs more than `most`.
    pub(super) fn oldest_if_above(&self, most: usize) -> Option<Seq> {
        let oldest = self.batches.front()?;
        (self.weight > most).then(|| oldest.last())
    }

    /// Returns the events from `next` to the end of their batch; `None` if the ring has dropped them.
    pub(super) fn find(&self, next: Seq) -> Option<BatchSlice> {
        let at = self.batches.partition_point(|batch| batch.last() < next);
        let batch = self.batches.get(at)?;
        (batch.first() <= next).then(|| BatchSlice::from_seq(batch.clone(), next))
    }
}
