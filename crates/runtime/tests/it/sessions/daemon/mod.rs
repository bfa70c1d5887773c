//! Agents that become idle instead of returning: what wakes them, what is delivered, and what ends the wait.

mod backoff;
mod dropped_calls;
mod wait_ends;
mod wake_ups;
mod watchdog;

use std::{sync::Arc, time::Duration};

use harn_model::WakeReason;
use harn_runtime::{AgentError, Clock, IdleOutcome, IdleWait, TurnContext};
use tokio::{task::JoinHandle, time::Instant};

pub use crate::sessions::reminders::{
    INTERRUPT, Leg, QUEUE, Revived, STEER, Stage, format_steering_events, reminder,
    reminder_with_key, reminder_with_ttl, texts, written_events,
};
use crate::support::*;

pub type Waiting = JoinHandle<Result<IdleOutcome, AgentError>>;

/// A clock that follows tokio's paused clock.
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

/// Creates a session whose clock follows tokio's paused clock.
pub async fn stage_with_paused_clock() -> Stage {
    Stage::with(|config| config.clock = Arc::new(PausedClock(Instant::now()))).await
}

impl Leg {
    /// Starts a wait; `adjust` may add wake-up conditions.
    pub fn start_wait<F>(&self, adjust: F) -> Waiting
    where
        F: for<'a> FnOnce(IdleWait<'a>) -> IdleWait<'a> + Send + 'static,
    {
        let cx = self.cx.clone();
        tokio::spawn(async move { adjust(cx.idle()).await })
    }

    /// Starts a wait and returns once the agent is idle.
    pub async fn start_idle_wait(&self, stage: &Stage) -> Waiting {
        let waiting = self.start_wait(|idle| idle);
        stage.wait_until_idle().await;
        waiting
    }
}

impl Stage {
    /// Returns once the agent is idle.
    pub async fn wait_until_idle(&self) {
        let mut from = self.session.subscribe(harn_model::Seq::ZERO);
        while self.session.view().idle.is_none() {
            let next = tokio::time::timeout(Duration::from_secs(60), from.next());
            next.await.expect("waited in vain").unwrap();
        }
    }
}

/// Returns the reason and the deliveries of a wake-up. The time limit is days, since some tests let hours pass.
pub async fn wait_for_wake_up(waiting: Waiting) -> (WakeReason, Vec<String>) {
    let bound = Duration::from_secs(7 * 24 * 3600);
    let wake = tokio::time::timeout(bound, waiting).await;
    let wake = wake.expect("waited in vain").unwrap().unwrap();
    (wake.reason, texts(&wake.delivered))
}
