//! Agents that stay after their work is done, and wait for more.

use serde::{Deserialize, Serialize};

use crate::{Seq, Timestamp};

/// What happened to an agent that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum DaemonChange {
    /// It began to wait.
    Idle {
        /// How often the turn had started an iteration.
        iteration: u64,
        /// What the pace of its signs of life begins with: the shortest after activity, else where the wait
        /// before left off.
        backoff_ms: u64,
    },
    /// It was woken.
    Woke {
        /// By what.
        reason: WakeReason,
    },
    /// It was woken again and again and did nothing; its turn ends.
    WatchdogTripped {
        /// How often in a row.
        attempts: u64,
        /// For how long.
        elapsed_ms: u64,
    },
}

/// What woke an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WakeReason {
    /// Somebody said something.
    Message,
    /// A host wanted it awake.
    Resume,
    /// What it watches changed.
    Watch,
    /// Its own clock.
    Timer,
    /// A reminder came.
    Reminder,
}

impl WakeReason {
    /// Whether something happened, other than time passing.
    #[must_use]
    pub fn is_activity(self) -> bool {
        match self {
            Self::Message | Self::Resume | Self::Watch | Self::Reminder => true,
            Self::Timer => false,
        }
    }
}

/// An agent that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleDaemon {
    /// How often the turn had started an iteration.
    pub iteration: u64,
    /// The pause its signs of life began with.
    pub backoff_ms: u64,
    /// Since when.
    pub since: Timestamp,
    /// Where the log says so.
    pub seq: Seq,
}

/// The pauses between signs of life of an agent that waits, in milliseconds; the last one stays.
pub const BACKOFF_MS: [u64; 4] = [100, 500, 1000, 2000];

/// The pause after this one.
#[must_use]
pub fn next_backoff(backoff_ms: u64) -> u64 {
    let [.., longest] = BACKOFF_MS;
    let longer = BACKOFF_MS.into_iter().find(|pause| *pause > backoff_ms);
    longer.unwrap_or(longest)
}

/// The pause under way after waiting for `elapsed_ms`, beginning with `backoff_ms`.
#[must_use]
pub fn backoff_after(backoff_ms: u64, elapsed_ms: u64) -> u64 {
    let [.., longest] = BACKOFF_MS;
    let (mut pause, mut left) = (backoff_ms, elapsed_ms);
    while left >= pause && pause < longest {
        left -= pause;
        pause = next_backoff(pause);
    }
    pause
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_the_longest_stays() {
        let mut pauses = vec![BACKOFF_MS[0]];
        for _ in 0..5 {
            pauses.push(next_backoff(pauses[pauses.len() - 1]));
        }
        assert_eq!(pauses, [100, 500, 1000, 2000, 2000, 2000]);
    }

    #[test]
    fn a_wait_goes_on_where_it_left_off() {
        let at = |elapsed| backoff_after(100, elapsed);
        assert_eq!([at(0), at(99), at(100), at(599)], [100, 100, 500, 500]);
        assert_eq!([at(600), at(1599), at(1600)], [1000, 1000, 2000]);
        assert_eq!(at(u64::MAX), 2000);
        assert_eq!(backoff_after(1000, 999), 1000);
        assert_eq!(backoff_after(2000, 9), 2000);
    }
}
