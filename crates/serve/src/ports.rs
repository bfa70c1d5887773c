//! The system clock and random ids. No other code asks the machine for either.

#![allow(
    clippy::disallowed_methods,
    reason = "everyone else is handed these ports"
)]

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use harn_model::Timestamp;
use harn_runtime::{Clock, IdKind, IdSource};
use uuid::Uuid;

/// The machine's clock.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// Creates a clock whose `elapsed` starts now.
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A clock before 1970 counts as 1970.
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let millis = since.unwrap_or_default().as_millis();
        Timestamp::try_from(millis).unwrap_or(Timestamp::MAX)
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

/// Unique ids that sort by the time of their creation.
///
/// A session's id is a version 7 UUID. Ids inside a session are shorter, made of the millisecond and a count:
/// they need only be unique in the session, which a lock restricts to one process at a time, and each chunk of
/// a message carries the message's id.
#[derive(Debug, Default)]
pub struct RandomIds {
    clock: SystemClock,
    count: AtomicU64,
}

impl IdSource for RandomIds {
    fn mint(&self, kind: IdKind) -> String {
        let prefix = match kind {
            IdKind::Session => return format!("ses_{}", Uuid::now_v7().simple()),
            IdKind::Turn => "trn",
            IdKind::Message => "msg",
            IdKind::ToolCall => "call",
            IdKind::Ask => "ask",
            IdKind::Worker => "worker",
            IdKind::Handoff => "handoff",
            IdKind::Reminder => "reminder",
            IdKind::Control => "control",
        };
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        format!("{prefix}_{}{}", base36(self.clock.now()), base36(count))
    }
}

/// Formats a number with digits and small letters. A time of this century takes at least eight.
fn base36(mut n: u64) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut digits = Vec::with_capacity(13);
    loop {
        digits.push(char::from(
            DIGITS[usize::try_from(n % 36).unwrap_or_default()],
        ));
        n /= 36;
        if n == 0 {
            return digits.iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_ids_sort_and_fit_a_folder_name() {
        let ids = RandomIds::default();
        let minted: Vec<_> = (0..100).map(|_| ids.mint(IdKind::Session)).collect();
        assert!(minted.is_sorted());
        for id in &minted {
            assert!(id.starts_with("ses_") && id.len() == 36, "{id}");
            assert!(id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
        }
    }

    #[test]
    fn other_ids_are_short_prefixed_and_unique() {
        let ids = RandomIds::default();
        let kinds = [IdKind::Turn, IdKind::Message, IdKind::ToolCall, IdKind::Ask];
        let mut seen = std::collections::HashSet::new();
        for (kind, prefix) in kinds.into_iter().zip(["trn_", "msg_", "call_", "ask_"]) {
            for _ in 0..1000 {
                let id = ids.mint(kind);
                assert!(id.starts_with(prefix) && id.len() < 20, "{id}");
                assert!(seen.insert(id));
            }
        }
    }

    #[test]
    fn base36_formats_numbers() {
        let written = [0, 35, 36, 1_790_000_000_000].map(base36);
        assert_eq!(written, ["0", "z", "10", "mubbs7i8"]);
    }

    #[test]
    fn clock_returns_milliseconds_since_1970() {
        assert!(SystemClock::new().now() > 1_700_000_000_000);
    }
}
