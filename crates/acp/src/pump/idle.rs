//! Sends idle notifications to one client while the agent waits: the first at the position of the wait in the
//! stream, the others at growing intervals. Between two of them only a timer runs.

use std::{pin::Pin, time::Duration};

use harn_model::{
    ControlKind, ControlOutcome, ControlResult, DaemonChange, Seq, TurnId, backoff_after,
    next_backoff,
};
use tokio::time::{Sleep, sleep};

use super::SessionPump;
use crate::{
    Profile,
    ext::{
        agent_event::{HarnEvent, IdleFields},
        idle,
    },
    transport::ClientDisconnected,
};

/// The next idle notification, if the agent waits.
#[derive(Default)]
pub(super) struct SignsOfLife(Option<NextSignOfLife>);

struct NextSignOfLife {
    turn: Option<TurnId>,
    due: Pin<Box<Sleep>>,
    iteration: u64,
    backoff_ms: u64,
}

impl SignsOfLife {
    /// Resolves when a notification is due; never if the agent does not wait. Cancel safe.
    pub(super) async fn wait_until_due(&mut self) {
        match &mut self.0 {
            Some(next) => next.due.as_mut().await,
            None => std::future::pending().await,
        }
    }

    pub(super) fn stop(&mut self) {
        self.0 = None;
    }

    /// Stops if the turn was cancelled: its agent waits no more.
    pub(super) fn stop_if_cancelled(&mut self, outcome: &ControlOutcome) {
        let stops =
            outcome.control == ControlKind::Cancel && outcome.result == ControlResult::Cancelled;
        let turn = self.0.as_ref().and_then(|next| next.turn.as_ref());
        if stops && turn.is_some() && turn == outcome.target.turn_id.as_ref() {
            self.stop();
        }
    }

    /// Schedules the next notification after one that announced this pause.
    fn schedule_next(&mut self, turn: Option<TurnId>, iteration: u64, backoff_ms: u64) {
        self.0 = Some(NextSignOfLife {
            turn,
            due: Box::pin(sleep(Duration::from_millis(backoff_ms))),
            iteration,
            backoff_ms: next_backoff(backoff_ms),
        });
    }
}

impl SessionPump {
    /// Handles the begin or the end of the agent's wait.
    pub(super) fn update_idle(
        &mut self,
        turn: Option<&TurnId>,
        change: DaemonChange,
        out: &mut Vec<u8>,
    ) {
        match change {
            DaemonChange::Idle {
                iteration,
                backoff_ms,
            } => self.write_idle(turn.cloned(), iteration, backoff_ms, out),
            DaemonChange::Woke { .. } | DaemonChange::WatchdogTripped { .. } => self.signs.stop(),
        }
    }

    /// Notifies a client that attaches while the agent waits; a wait behind `position` arrives with the stream.
    pub(super) async fn send_current_idle(
        &mut self,
        position: Seq,
    ) -> Result<(), ClientDisconnected> {
        let session = &self.attached.session;
        let idle = session.view().idle.filter(|idle| idle.seq <= position);
        let Some(idle) = idle else {
            return Ok(());
        };
        let waited = session.now().saturating_sub(idle.since);
        let mut out = Vec::new();
        let backoff_ms = backoff_after(idle.backoff_ms, waited);
        let turn = session.cancel_target();
        self.write_idle(turn, idle.iteration, backoff_ms, &mut out);
        self.send(out).await
    }

    /// Sends the notification that is due.
    pub(super) async fn send_due_idle(&mut self) -> Result<(), ClientDisconnected> {
        let Some(next) = self.signs.0.take() else {
            return Ok(());
        };
        let mut out = Vec::new();
        self.write_idle(next.turn, next.iteration, next.backoff_ms, &mut out);
        self.send(out).await
    }

    fn write_idle(
        &mut self,
        turn: Option<TurnId>,
        iteration: u64,
        backoff_ms: u64,
        out: &mut Vec<u8>,
    ) {
        match self.dialect.profile {
            Profile::Harn => idle::write(self.attached.session.id(), iteration, backoff_ms, out),
            Profile::Meta => {
                let fields = IdleFields {
                    iteration,
                    backoff_ms,
                };
                self.lines.write_event(HarnEvent::AgentIdle(fields), out);
            }
            // ACP has no message for it.
            Profile::Acp => return,
        }
        self.signs.schedule_next(turn, iteration, backoff_ms);
    }
}
