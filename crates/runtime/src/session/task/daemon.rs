//! An agent that stays and waits for more to do. Waiting is on events alone; time is only told.

use harn_journal::JournalError;
use harn_model::{
    AgentEvent, BACKOFF_MS, DaemonChange, DeliveryMode, Pending, Timestamp, WakeReason,
    backoff_after,
};
use tokio::sync::oneshot;

use super::SessionTask;

/// How an agent's waits went so far.
#[derive(Default)]
pub(crate) struct Waits {
    /// Who is told when the wait under way ends.
    waiting: Option<oneshot::Sender<WakeReason>>,
    /// Whether somebody wanted it awake while it was.
    resume: bool,
    /// How the last wait ended.
    last: Option<WakeReason>,
    /// Whether it did something since.
    pub(crate) busy: bool,
    /// How often in a row it did not, and since when.
    barren: u64,
    barren_since: Timestamp,
    /// The pace the last wait began with, and when that was.
    backoff_ms: u64,
    since: Timestamp,
}

impl Waits {
    /// Resolves when whoever waits has stopped waiting without being told to. Cancel safe.
    pub(crate) async fn left(&mut self) {
        match &mut self.waiting {
            Some(reply) => reply.closed().await,
            None => std::future::pending().await,
        }
    }

    /// Notes that another wait begins: the pace it begins with, and how often in a row nothing came of the
    /// wakes before.
    fn begin(&mut self, now: Timestamp) -> (u64, u64) {
        let last = self.last.take();
        let idled = |reason: WakeReason| !reason.is_activity() || reason == WakeReason::Resume;
        if last.is_some_and(idled) && !self.busy {
            if self.barren == 0 {
                self.barren_since = self.since;
            }
            self.barren += 1;
        } else {
            self.barren = 0;
        }
        let active = self.busy || last.is_none_or(WakeReason::is_activity);
        self.backoff_ms = match active {
            true => BACKOFF_MS[0],
            false => backoff_after(self.backoff_ms, now.saturating_sub(self.since)),
        };
        self.busy = false;
        self.since = now;
        (self.backoff_ms, self.barren)
    }
}

impl SessionTask {
    /// The agent begins to wait; not where there is something to do already.
    pub(super) async fn begin_wait(
        &mut self,
        iteration: u64,
        watchdog: Option<u64>,
        reply: oneshot::Sender<WakeReason>,
    ) -> Result<(), JournalError> {
        // For reminders the turn has passed, and those that are only recorded have waited for this.
        let mut events = self.age();
        events.extend(self.recorded());
        let now = self.shared.config.clock.now();
        let limit = watchdog.unwrap_or(self.shared.config.daemon_watchdog);
        let waiting = self.something_waits();
        // An agent that is to stop learns so by losing its reply.
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.may_ask()) else {
            return Ok(());
        };
        let (backoff_ms, barren) = turn.waits.begin(now);
        if barren >= limit {
            let elapsed_ms = now.saturating_sub(turn.waits.barren_since);
            turn.trip(self.shared.config.cancel_deadline);
            events.push(AgentEvent::Daemon(DaemonChange::WatchdogTripped {
                attempts: barren,
                elapsed_ms,
            }));
            self.write(events).await?;
            return Ok(());
        }
        let resumed = std::mem::take(&mut turn.waits.resume);
        let reason = waiting.or(resumed.then_some(WakeReason::Resume));
        turn.waits.waiting = Some(reply);
        if reason.is_none() {
            events.push(AgentEvent::Daemon(DaemonChange::Idle {
                iteration,
                backoff_ms,
            }));
        }
        self.write(events).await?;
        match reason {
            Some(reason) => self.wake_daemon(reason).await,
            None => Ok(()),
        }
    }

    /// Why an agent need not wait.
    fn something_waits(&self) -> Option<WakeReason> {
        use DeliveryMode::{AuditOnly, FinishStep, InterruptImmediate};
        let view = self.shared.view();
        let now = view.pending.of(&[InterruptImmediate, FinishStep]);
        let is_message = |row: &Pending| matches!(row, Pending::Message(_));
        if now.iter().any(is_message) || view.pending.first_message(AuditOnly).is_some() {
            Some(WakeReason::Message)
        } else {
            (!now.is_empty()).then_some(WakeReason::Reminder)
        }
    }

    /// Ends a wait, if one is under way.
    pub(super) async fn wake_daemon(&mut self, reason: WakeReason) -> Result<(), JournalError> {
        let Some(turn) = &mut self.turn else {
            return Ok(());
        };
        let Some(reply) = turn.waits.waiting.take() else {
            return Ok(());
        };
        turn.waits.last = Some(reason);
        let woke = AgentEvent::Daemon(DaemonChange::Woke { reason });
        self.write(vec![woke]).await?;
        // The agent may have stopped waiting.
        let _ = reply.send(reason);
        Ok(())
    }

    /// Somebody wants the agent awake: now, or as soon as it would sleep.
    pub(super) async fn resume(&mut self) -> Result<(), JournalError> {
        match &mut self.turn {
            Some(turn) if turn.waits.waiting.is_none() => {
                turn.waits.resume = true;
                Ok(())
            }
            Some(_) | None => self.wake_daemon(WakeReason::Resume).await,
        }
    }
}
