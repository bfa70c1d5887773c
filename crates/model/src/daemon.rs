//! Agents that stay idle after their work is done and wait for more.

use serde::{Deserialize, Serialize};

use crate::{Seq, Timestamp};

/// A change in the state of an idle agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum DaemonChange {
    /// It became idle.
    Idle {
        /// The number of iterations that the turn had started.
        iteration: u64,
        /// The first pause between its idle notifications: the shortest after activity, else the last pause of the
        /// previous wait.
        backoff_ms: u64,
    },
    /// It woke up.
    Woke {
        /// The cause.
        reason: WakeReason,
    },
    /// It woke up repeatedly and did nothing; its turn ends.
    WatchdogTripped {
        /// The number of wake-ups in a row.
        attempts: u64,
        /// The duration of these wake-ups in milliseconds.
        elapsed_ms: u64,
    },
}

/// The cause of a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WakeReason {
    /// A message arrived.
    Message,
    /// A host resumed it.
    Resume,
    /// Something that it watches changed.
    Watch,
    /// Its own timer elapsed.
    Timer,
    /// A reminder arrived.
    Reminder,
}

impl WakeReason {
    /// Whether the cause is an event, not only elapsed time.
    pub fn is_activity(self) -> bool {
        match self {
            Self::Message | Self::Resume | Self::Watch | Self::Reminder => true,
            Self::Timer => false,
        }
    }
}

/// An idle agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleDaemon {
    /// The number of iterations that the turn had started.
    pub iteration: u64,
    /// The first pause between its idle notifications.
    pub backoff_ms: u64,
    /// When it became idle.
    pub since: Timestamp,
    /// The event that recorded it.
    pub seq: Seq,
}

/// The pauses between the notifications of an idle agent, in milliseconds; the last one repeats.
pub const BACKOFF_MS: [u64; 4] = [100, 500, 1000, 2000];

/// Returns the pause after this one.
pub fn next_backoff(backoff_ms: u64) -> u64 {
    let [.., longest] = BACKOFF_MS;
    let longer = BACKOFF_MS.into_iter().find(|pause| *pause > backoff_ms);
    longer.unwrap_or(longest)
}

/// Returns the current pause after waiting `elapsed_ms`, if the first pause was `backoff_ms`.
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
    fn pauses_grow_and_the_longest_repeats() {
        let mut pauses = vec![BACKOFF_MS[0]];
        for _ in 0..5 {
            pauses.push(next_backoff(pauses[pauses.len() - 1]));
        }
        assert_eq!(pauses, [100, 500, 1000, 2000, 2000, 2000]);
    }

    #[test]
    fn backoff_after_returns_the_current_pause() {
        let at = |elapsed| backoff_after(100, elapsed);
        assert_eq!([at(0), at(99), at(100), at(599)], [100, 100, 500, 500]);
        assert_eq!([at(600), at(1599), at(1600)], [1000, 1000, 2000]);
        assert_eq!(at(u64::MAX), 2000);
        assert_eq!(backoff_after(1000, 999), 1000);
        assert_eq!(backoff_after(2000, 9), 2000);
    }
}
