//! The positions of the readers that read from the ring, as a count for each position.
//!
//! The session only needs to know whether any reader is before some event. The first entry answers that for
//! one reader or a thousand.

use std::collections::BTreeMap;

use harn_model::Seq;

#[derive(Default)]
pub(super) struct ReaderPositions {
    /// The number of readers that have taken everything up to an event; never zero.
    standing: BTreeMap<Seq, usize>,
    /// Readers before this event were given up and are not counted.
    given_up: Seq,
    /// The session waits until no reader is before this event.
    awaited: Option<Seq>,
    /// How often an awaited reader has moved.
    late_steps: u64,
}

/// A reader's own record of its counted position, if it is counted.
#[derive(Default)]
pub(super) struct ReaderPosition(Option<Seq>);

impl ReaderPositions {
    /// Records that a reader took everything up to `to` from the ring. Returns true if this ends the session's wait.
    pub(super) fn step(&mut self, place: &mut ReaderPosition, to: Seq) -> bool {
        self.remove(place);
        // No reader is counted below `given_up`; an entry there could stay forever.
        if to >= self.given_up {
            *self.standing.entry(to).or_default() += 1;
            place.0 = Some(to);
        }
        self.check_freed()
    }

    /// Removes a reader from the ring. Returns true if this ends the session's wait.
    pub(super) fn leave(&mut self, place: &mut ReaderPosition) -> bool {
        self.remove(place);
        self.check_freed()
    }

    /// Whether a reader is before `seq`. If so, the step that changes this returns true.
    pub(super) fn await_beyond(&mut self, seq: Seq) -> bool {
        let waiting = self.has_reader_before(seq);
        self.awaited = waiting.then_some(seq);
        waiting
    }

    /// Returns how often awaited readers have moved in total.
    pub(super) fn late_steps(&self) -> u64 {
        self.late_steps
    }

    /// Stops counting readers before `seq` until their next step in the ring.
    pub(super) fn give_up_before(&mut self, seq: Seq) {
        self.standing = self.standing.split_off(&seq);
        self.given_up = self.given_up.max(seq);
        self.awaited = None;
    }

    fn remove(&mut self, place: &mut ReaderPosition) {
        let Some(at) = place.0.take().filter(|at| *at >= self.given_up) else {
            return;
        };
        self.late_steps += u64::from(self.awaited.is_some_and(|seq| at < seq));
        if let Some(count) = self.standing.get_mut(&at) {
            *count -= 1;
            if *count == 0 {
                self.standing.remove(&at);
            }
        }
    }

    /// Returns true once when the wait is over.
    fn check_freed(&mut self) -> bool {
        let Some(seq) = self.awaited else {
            return false;
        };
        let freed = !self.has_reader_before(seq);
        if freed {
            self.awaited = None;
        }
        freed
    }

    /// Returns the position of the reader that is furthest behind; `None` without readers in the ring.
    pub(super) fn furthest_behind(&self) -> Option<Seq> {
        self.standing.first_key_value().map(|(at, _)| *at)
    }

    fn has_reader_before(&self, seq: Seq) -> bool {
        let first = self.standing.first_key_value();
        first.is_some_and(|(at, _)| *at < seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readers<const N: usize>() -> [ReaderPosition; N] {
        std::array::from_fn(|_| ReaderPosition::default())
    }

    #[test]
    fn last_step_of_several_readers_frees_the_session_once() {
        let mut places = ReaderPositions::default();
        let [mut a, mut b, mut c] = readers();
        for place in [&mut a, &mut b, &mut c] {
            assert!(!places.step(place, Seq(1)));
        }
        assert!(places.await_beyond(Seq(5)));
        assert!(!places.step(&mut a, Seq(5)));
        assert!(!places.step(&mut b, Seq(3)), "not far enough");
        assert!(!places.leave(&mut c));
        assert!(places.step(&mut b, Seq(6)));
        assert!(!places.step(&mut b, Seq(7)), "nobody waits any more");
        assert!(!places.await_beyond(Seq(5)));
        assert_eq!(places.late_steps(), 4);
    }

    #[test]
    fn leaving_reader_frees_the_session() {
        let mut places = ReaderPositions::default();
        let [mut a] = readers();
        places.step(&mut a, Seq(1));
        assert!(places.await_beyond(Seq(2)));
        assert!(places.leave(&mut a));
        assert!(!places.leave(&mut a), "it was gone");
        assert!(!places.await_beyond(Seq(2)));
    }

    #[test]
    fn given_up_reader_counts_again_after_its_next_step() {
        let mut places = ReaderPositions::default();
        let [mut late, mut timely] = readers();
        places.step(&mut late, Seq(1));
        places.step(&mut timely, Seq(4));
        assert!(places.await_beyond(Seq(4)));
        places.give_up_before(Seq(4));
        assert!(!places.await_beyond(Seq(4)));
        places.step(&mut late, Seq(4));
        assert!(places.await_beyond(Seq(5)), "both stand before it");
        places.step(&mut timely, Seq(5));
        assert!(places.await_beyond(Seq(5)), "the late one still does");
        assert!(places.step(&mut late, Seq(5)));
    }

    #[test]
    fn late_step_of_a_given_up_reader_leaves_no_entry() {
        let mut places = ReaderPositions::default();
        let [mut late] = readers();
        places.step(&mut late, Seq(1));
        places.give_up_before(Seq(9));
        // It had taken its batch before `give_up_before`.
        places.step(&mut late, Seq(5));
        assert!(!places.await_beyond(Seq(100)));
        places.leave(&mut late);
        assert!(places.standing.is_empty());
    }
}
