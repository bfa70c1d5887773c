//! A clock that moves only when a test moves it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use harn_model::Timestamp;
use harn_runtime::Clock;

/// A clock that starts at [`FakeClock::START`]. Clones share the same time.
#[derive(Clone, Debug)]
pub struct FakeClock {
    passed: Arc<AtomicU64>,
    tick: u64,
}

impl FakeClock {
    /// 2026-01-01T00:00:00Z, in milliseconds.
    pub const START: Timestamp = 1_767_225_600_000;

    /// Returns a clock that moves only with [`FakeClock::advance`].
    pub fn new() -> Self {
        Self {
            passed: Arc::default(),
            tick: 0,
        }
    }

    /// Returns a clock that moves by a millisecond with every call of `now`.
    pub fn ticking() -> Self {
        Self {
            tick: 1,
            ..Self::new()
        }
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        let millis = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        self.passed.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Default for FakeClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        Self::START + self.passed.fetch_add(self.tick, Ordering::SeqCst)
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.passed.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_moves_with_advance_or_with_every_read() {
        let still = FakeClock::new();
        assert_eq!((still.now(), still.now()), (FakeClock::START, still.now()));
        still.clone().advance(Duration::from_secs(2));
        assert_eq!(still.now(), FakeClock::START + 2000);
        assert_eq!(still.elapsed(), Duration::from_secs(2));
        let ticking = FakeClock::ticking();
        assert_eq!(ticking.now() + 1, ticking.now());
    }
}
