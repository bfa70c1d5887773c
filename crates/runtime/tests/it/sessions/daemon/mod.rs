//! Agents that stay and wait for more to do: what wakes them, what they are given, and what ends them.

mod dropped;
mod pace;
mod stops;
mod wakes;
mod watchdog;

use std::{sync::Arc, time::Duration};

use harn_model::WakeReason;
use harn_runtime::{AgentError, Clock, IdleOutcome, IdleWait, TurnContext};
use tokio::{task::JoinHandle, time::Instant};

pub use crate::sessions::reminders::{
    INTERRUPT, Leg, QUEUE, Revived, STEER, Stage, keyed, lasting, reminder, story, texts, written,
};
use crate::support::*;

pub type Waiting = JoinHandle<Result<IdleOutcome, AgentError>>;

/// The time as the paused clock has it.
pub struct PausedClock(Instant);

impl Clock for PausedClock {
    fn now(&self) -> u64 {
        let passed = u64::try_from(self.0.elapsed().as_millis()).unwrap();
        1_790_000_000_000 + passed
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A session whose clock stands still with the test's.
pub async fn timed() -> Stage {
    Stage::with(|config| config.clock = Arc::new(PausedClock(Instant::now()))).await
}

impl Leg {
    /// Begins to wait, with whatever else is to wake it.
    pub fn waits<F>(&self, adjust: F) -> Waiting
    where
        F: for<'a> FnOnce(IdleWait<'a>) -> IdleWait<'a> + Send + 'static,
    {
        let cx = self.cx.clone();
        tokio::spawn(async move { adjust(cx.idle()).await })
    }

    /// Begins to wait, and does when this returns.
    pub async fn is_idle(&self, stage: &Stage) -> Waiting {
        let waiting = self.waits(|idle| idle);
        stage.idles().await;
        waiting
    }
}

impl Stage {
    /// Resolves when the agent waits.
    pub async fn idles(&self) {
        let mut from = self.session.subscribe(harn_model::Seq::ZERO);
        while self.session.view().idle.is_none() {
            let next = tokio::time::timeout(Duration::from_secs(60), from.next());
            next.await.expect("waited in vain").unwrap();
        }
    }
}

/// Why it woke, and with what. Every wait is bounded: by days, since some tests have hours pass.
pub async fn woke(waiting: Waiting) -> (WakeReason, Vec<String>) {
    let bound = Duration::from_secs(7 * 24 * 3600);
    let wake = tokio::time::timeout(bound, waiting).await;
    let wake = wake.expect("waited in vain").unwrap().unwrap();
    (wake.reason, texts(&wake.delivered))
}
