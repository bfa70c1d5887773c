//! Limits the pace of writes and reads. A writer pauses between two writes, so that many clients of a busy
//! session cost few large writes and not many small ones. A client that sends too fast is stopped.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

/// The number of clients that share the machine.
#[derive(Clone, Default)]
pub struct ClientCount(Arc<AtomicUsize>);

/// A slot for one client. Dropping it frees the slot.
pub struct ClientSlot {
    crowd: ClientCount,
    /// The slot in the count of its own party.
    _own: Option<Box<Self>>,
}

impl ClientCount {
    /// Adds a client, unless there are `most` already.
    #[must_use]
    pub fn join(&self, most: usize) -> Option<ClientSlot> {
        self.add(most, None)
    }

    fn add(&self, most: usize, own: Option<Box<ClientSlot>>) -> Option<ClientSlot> {
        let more = |count: usize| (count < most).then_some(count + 1);
        let joined = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        joined.ok().map(|_| ClientSlot {
            crowd: self.clone(),
            _own: own,
        })
    }

    /// Returns the pause after a write. A few clients receive everything within some milliseconds, a thousand
    /// within thirty; the rest of the time is for the agent.
    fn write_pause(&self) -> Duration {
        const SHORTEST: Duration = Duration::from_millis(4);
        const A_CLIENT: Duration = Duration::from_micros(25);
        const LONGEST: Duration = Duration::from_millis(40);
        let count = u32::try_from(self.0.load(Ordering::Relaxed)).unwrap_or(u32::MAX);
        (SHORTEST + A_CLIENT.saturating_mul(count)).min(LONGEST)
    }
}

/// The slots of clients from several parties. No party gets more than three quarters of them.
pub struct ClientQuotas<K> {
    most: usize,
    all: ClientCount,
    own: Mutex<HashMap<K, ClientCount>>,
}

impl<K: Eq + Hash + Clone> ClientQuotas<K> {
    /// Creates this many slots.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            all: ClientCount::default(),
            own: Mutex::default(),
        }
    }

    /// Adds a client of a party, unless all slots, or all that the party may have, are taken.
    #[must_use]
    pub fn join(&self, party: &K) -> Option<ClientSlot> {
        let own = {
            let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
            // Drops the counts of parties without clients; each slot has a handle to its count.
            own.retain(|_, crowd| Arc::strong_count(&crowd.0) > 1);
            own.entry(party.clone()).or_default().clone()
        };
        let own = own.join(self.most - self.most / 4)?;
        self.all.add(self.most, Some(Box::new(own)))
    }
}

impl ClientSlot {
    /// Returns the pause after a write, for this number of clients.
    pub fn write_pause(&self) -> Duration {
        self.crowd.write_pause()
    }
}

impl Drop for ClientSlot {
    fn drop(&mut self) {
        self.crowd.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The number of messages that a client may send now; it grows with time.
pub struct RateAllowance {
    per_second: f64,
    left: f64,
    at: Instant,
}

impl RateAllowance {
    /// Unused messages accumulate for this long and may then be sent at once.
    const SECONDS: f64 = 2.0;

    /// Allows this many messages in a second, on average.
    pub fn new(per_second: u32) -> Self {
        let per_second = f64::from(per_second);
        Self {
            per_second,
            left: per_second * Self::SECONDS,
            at: now(),
        }
    }

    /// Takes one message; returns whether one was left.
    pub fn take(&mut self) -> bool {
        let now = now();
        let passed = now.duration_since(self.at).as_secs_f64();
        self.at = now;
        self.left = (self.left + passed * self.per_second).min(self.per_second * Self::SECONDS);
        let enough = self.left >= 1.0;
        if enough {
            self.left -= 1.0;
        }
        enough
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "the runtime's own time, which tests stop; nothing of it is kept or told"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pause_grows_with_the_number_of_clients() {
        let crowd = ClientCount::default();
        let alone = crowd.join(3).unwrap();
        let short = alone.write_pause();
        let others: Vec<_> = std::iter::from_fn(|| crowd.join(3)).collect();
        assert_eq!(others.len(), 2);
        assert!(alone.write_pause() > short);
        drop(others);
        assert_eq!(alone.write_pause(), short);
    }

    #[test]
    fn one_party_gets_three_quarters_of_the_slots() {
        let shares = ClientQuotas::new(4);
        let ada: Vec<_> = std::iter::from_fn(|| shares.join(&"ada")).collect();
        assert_eq!(ada.len(), 3);
        let bob: Vec<_> = std::iter::from_fn(|| shares.join(&"bob")).collect();
        assert_eq!(bob.len(), 1);
        drop(ada);
        assert!(shares.join(&"bob").is_some());
    }

    #[test]
    fn parties_without_clients_are_dropped() {
        let shares = ClientQuotas::new(8);
        let mut of_ada: Vec<_> = std::iter::from_fn(|| shares.join(&"ada")).collect();
        assert_eq!(of_ada.len(), 6);
        let of_bob: Vec<_> = std::iter::from_fn(|| shares.join(&"bob")).collect();
        assert_eq!(of_bob.len(), 2);
        of_ada.pop();
        assert!(shares.join(&"ada").is_some());
        drop((of_ada, of_bob));
        assert_eq!(shares.all.0.load(Ordering::Relaxed), 0);
        let _of_cy = shares.join(&"cy");
        assert_eq!(shares.own.lock().unwrap().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn an_allowance_grows_with_time() {
        let mut allowance = RateAllowance::new(10);
        let taken = (0..100).filter(|_| allowance.take()).count();
        assert_eq!(taken, 20);
        tokio::time::advance(Duration::from_millis(500)).await;
        let taken = (0..100).filter(|_| allowance.take()).count();
        assert_eq!(taken, 5);
    }
}
