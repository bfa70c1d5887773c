//! An agent that stays idle and waits for more to do. Only events end a wait; the time is only published.

use std::{future::poll_fn, task::Poll};

use harn_journal::JournalError;
use harn_model::{
    AgentEvent, BACKOFF_MS, DaemonChange, DeliveryMode, PendingDelivery, Timestamp, WakeReason,
    backoff_after,
};
use tokio::sync::oneshot;

use super::{SessionTask, send_reply};
use crate::turn::IdleRequest;

/// The state of an agent's waits. Concurrent waits count as one: the end of one ends all.
#[derive(Default)]
pub(crate) struct DaemonWaits {
    /// The replies to send when the current wait ends.
    waiting: Vec<oneshot::Sender<WakeReason>>,
    /// Whether a resume arrived while it was awake.
    resume: bool,
    /// How the last wait ended.
    last: Option<WakeReason>,
    /// Whether it did or received something since then.
    busy: bool,
    /// How many wake-ups in a row had no effect, and since when.
    barren: u64,
    barren_since: Timestamp,
    /// When the last wait started, its backoff, and how long it took.
    since: Timestamp,
    backoff_ms: u64,
    waited_ms: u64,
}

impl DaemonWaits {
    /// Returns the state for the next call of the agent in its turn.
    pub(crate) fn for_the_next_call(&self) -> Self {
        Self {
            resume: self.resume,
            ..Self::default()
        }
    }

    /// Records that the agent did something or received work.
    pub(crate) fn note_activity(&mut self) {
        self.busy = true;
    }

    /// Resolves when a waiting task of the agent has stopped by itself. Cancel safe.
    pub(crate) async fn wait_for_dropped_wait(&mut self) {
        poll_fn(|cx| {
            let mut waiting = self.waiting.iter_mut();
            match waiting.any(|reply| reply.poll_closed(cx).is_ready()) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }

    /// Records the start of another wait; returns its backoff and how many wake-ups in a row had no effect.
    fn begin(&mut self, now: Timestamp) -> (u64, u64) {
        let last = self.last.take();
        let nothing_came = match last {
            Some(WakeReason::Timer | WakeReason::Resume) => true,
            // A watched change may be irrelevant; a watch that never waits is a loop.
            Some(WakeReason::Watch) => self.waited_ms == 0,
            Some(WakeReason::Message | WakeReason::Reminder) | None => false,
        };
        let barren = nothing_came && !self.busy;
        if !barren {
            self.barren = 0;
        } else if self.barren == 0 {
            self.barren_since = self.since;
        }
        self.barren += u64::from(barren);
        let active = self.busy || last.is_none_or(WakeReason::is_activity);
        self.backoff_ms = match active {
            true => BACKOFF_MS[0],
            false => backoff_after(self.backoff_ms, self.waited_ms),
        };
        self.busy = false;
        self.since = now;
        (self.backoff_ms, self.barren)
    }

    /// Records the end of the current wait.
    fn end(&mut self, reason: WakeReason, now: Timestamp) {
        self.last = Some(reason);
        self.waited_ms = now.saturating_sub(self.since);
    }
}

impl SessionTask {
    /// Starts a wait of the agent, unless there is something to do already.
    pub(super) async fn begin_wait(&mut self, wait: IdleRequest) -> Result<(), JournalError> {
        self.remove_dropped_waits().await?;
        let now = self.shared.config.clock.now();
        // At least 1: a limit of 0 would end the turn before the first wait.
        let limit = wait.watchdog.unwrap_or(self.shared.config.daemon_watchdog);
        let limit = limit.max(1);
        let something = wait.given.or_else(|| self.find_wake_reason());
        // A dropped reply stops an agent that must stop; an agent that no longer waits needs none.
        let may_wait = !wait.reply.is_closed();
        let Some(turn) = self.turn.as_mut().filter(|it| may_wait && it.may_ask()) else {
            return Ok(());
        };
        let joins = !turn.waits.waiting.is_empty();
        if joins {
            turn.waits.waiting.push(wait.reply);
            return match something {
                Some(reason) => self.wake_daemon(reason).await,
                None => Ok(()),
            };
        }
        let (backoff_ms, barren) = turn.waits.begin(now);
        if something.is_none() && barren >= limit {
            let elapsed_ms = now.saturating_sub(turn.waits.barren_since);
            turn.trip_watchdog(self.shared.config.cancel_deadline);
            let tripped = AgentEvent::Daemon(DaemonChange::WatchdogTripped {
                attempts: barren,
                elapsed_ms,
            });
            self.write(vec![tripped]).await?;
            return Ok(());
        }
        let resumed = std::mem::take(&mut turn.waits.resume);
        let reason = something.or(resumed.then_some(WakeReason::Resume));
        turn.waits.waiting.push(wait.reply);
        let mut events = Vec::new();
        if wait.given.is_none() {
            // For reminders, a turn has passed.
            events.extend(self.age_reminders());
        }
        if reason.is_none() {
            events.push(AgentEvent::Daemon(DaemonChange::Idle {
                iteration: wait.iteration,
                backoff_ms,
            }));
        }
        self.write(events).await?;
        match reason {
            Some(reason) => self.wake_daemon(reason).await,
            None => Ok(()),
        }
    }

    /// Returns the reason why an agent need not wait.
    fn find_wake_reason(&self) -> Option<WakeReason> {
        use DeliveryMode::{AuditOnly, FinishStep, InterruptImmediate};
        let view = self.shared.view();
        let now = view
            .pending
            .entries_with_modes(&[InterruptImmediate, FinishStep]);
        let is_message = |row: &PendingDelivery| matches!(row, PendingDelivery::Message(_));
        if now.iter().any(is_message) || view.pending.first_message(AuditOnly).is_some() {
            Some(WakeReason::Message)
        } else {
            (!now.is_empty()).then_some(WakeReason::Reminder)
        }
    }

    /// Ends the current wait, if there is one.
    pub(super) async fn wake_daemon(&mut self, reason: WakeReason) -> Result<(), JournalError> {
        let now = self.shared.config.clock.now();
        let Some(turn) = &mut self.turn else {
            return Ok(());
        };
        let waiting = std::mem::take(&mut turn.waits.waiting);
        // An agent that must stop is not woken; its dropped reply stops it.
        if waiting.is_empty() || !turn.may_ask() {
            return Ok(());
        }
        turn.waits.end(reason, now);
        let woke = AgentEvent::Daemon(DaemonChange::Woke { reason });
        self.write(vec![woke]).await?;
        for reply in waiting {
            send_reply(reply, reason);
        }
        Ok(())
    }

    /// Removes waits that the agent dropped by itself. If none is left, the agent's own watch woke it.
    pub(super) async fn remove_dropped_waits(&mut self) -> Result<(), JournalError> {
        let Some(turn) = &mut self.turn else {
            return Ok(());
        };
        let waiting = &mut turn.waits.waiting;
        if waiting.iter().all(oneshot::Sender::is_closed) {
            return self.wake_daemon(WakeReason::Watch).await;
        }
        waiting.retain(|reply| !reply.is_closed());
        Ok(())
    }

    /// Wakes the agent now, or as soon as it becomes idle.
    pub(super) async fn resume(&mut self) -> Result<(), JournalError> {
        self.remove_dropped_waits().await?;
        match &mut self.turn {
            Some(turn) if turn.waits.waiting.is_empty() => {
                turn.waits.resume = true;
                Ok(())
            }
            Some(_) | None => self.wake_daemon(WakeReason::Resume).await,
        }
    }
}
