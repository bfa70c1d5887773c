//! Signs of life of an agent that waits, on their way to one client: the first where the wait stands in the
//! stream, the others at a pace that slows down. Between two of them there is a timer and nothing else.

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

/// When the next sign of life is due.
#[derive(Default)]
pub(super) struct SignsOfLife(Option<NextSignOfLife>);

struct NextSignOfLife {
    turn: Option<TurnId>,
    due: Pin<Box<Sleep>>,
    iteration: u64,
    backoff_ms: u64,
}

impl SignsOfLife {
    /// Resolves when one is due; never where nobody waits. Cancel safe.
    pub(super) async fn due(&mut self) {
        match &mut self.0 {
            Some(next) => next.due.as_mut().await,
            None => std::future::pending().await,
        }
    }

    pub(super) fn stop(&mut self) {
        self.0 = None;
    }

    /// An agent that was told to stop is leaving; it waits no more.
    pub(super) fn told(&mut self, outcome: &ControlOutcome) {
        let stops =
            outcome.control == ControlKind::Cancel && outcome.result == ControlResult::Cancelled;
        let turn = self.0.as_ref().and_then(|next| next.turn.as_ref());
        if stops && turn.is_some() && turn == outcome.target.turn_id.as_ref() {
            self.stop();
        }
    }

    /// One was given that announces this pause.
    fn given(&mut self, turn: Option<TurnId>, iteration: u64, backoff_ms: u64) {
        self.0 = Some(NextSignOfLife {
            turn,
            due: Box::pin(sleep(Duration::from_millis(backoff_ms))),
            iteration,
            backoff_ms: next_backoff(backoff_ms),
        });
    }
}

impl SessionPump {
    /// The agent began to wait, or does no more.
    pub(super) fn waits(&mut self, turn: Option<&TurnId>, change: DaemonChange, out: &mut Vec<u8>) {
        match change {
            DaemonChange::Idle {
                iteration,
                backoff_ms,
            } => self.sign(turn.cloned(), iteration, backoff_ms, out),
            DaemonChange::Woke { .. } | DaemonChange::WatchdogTripped { .. } => self.signs.stop(),
        }
    }

    /// Tells a client that has come to an agent that waits already; a wait behind `position` comes with the
    /// stream.
    pub(super) async fn waits_already(&mut self, position: Seq) -> Result<(), ClientDisconnected> {
        let session = &self.attached.session;
        let idle = session.view().idle.filter(|idle| idle.seq <= position);
        let Some(idle) = idle else {
            return Ok(());
        };
        let waited = session.now().saturating_sub(idle.since);
        let mut out = Vec::new();
        let backoff_ms = backoff_after(idle.backoff_ms, waited);
        let turn = session.cancel_target();
        self.sign(turn, idle.iteration, backoff_ms, &mut out);
        self.send(out).await
    }

    /// The one that is due.
    pub(super) async fn sign_of_life(&mut self) -> Result<(), ClientDisconnected> {
        let Some(next) = self.signs.0.take() else {
            return Ok(());
        };
        let mut out = Vec::new();
        self.sign(next.turn, next.iteration, next.backoff_ms, &mut out);
        self.send(out).await
    }

    fn sign(&mut self, turn: Option<TurnId>, iteration: u64, backoff_ms: u64, out: &mut Vec<u8>) {
        match self.dialect.profile {
            Profile::Harn => idle::write(self.attached.session.id(), iteration, backoff_ms, out),
            Profile::Meta => {
                let fields = IdleFields {
                    iteration,
                    backoff_ms,
                };
                self.lines.event(HarnEvent::AgentIdle(fields), out);
            }
            // ACP has no word for it.
            Profile::Acp => return,
        }
        self.signs.given(turn, iteration, backoff_ms);
    }
}
