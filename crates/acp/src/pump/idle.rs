//! Signs of life of an agent that waits, on their way to one client: the first where the wait stands in the
//! stream, the others at a pace that slows down. Between two of them there is a timer and nothing else.

use std::{pin::Pin, time::Duration};

use harn_model::{DaemonChange, Seq, backoff_after, next_backoff};
use tokio::time::{Sleep, sleep};

use super::Pump;
use crate::{Profile, ext::idle, transport::Disconnected};

/// When the next sign of life is due.
#[derive(Default)]
pub(super) struct SignsOfLife(Option<Next>);

struct Next {
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

    /// One was given that announces this pause.
    fn given(&mut self, iteration: u64, backoff_ms: u64) {
        self.0 = Some(Next {
            due: Box::pin(sleep(Duration::from_millis(backoff_ms))),
            iteration,
            backoff_ms: next_backoff(backoff_ms),
        });
    }
}

impl Pump {
    /// The agent began to wait, or does no more.
    pub(super) fn waits(&mut self, change: DaemonChange, out: &mut Vec<u8>) {
        match change {
            DaemonChange::Idle {
                iteration,
                backoff_ms,
            } => self.sign(iteration, backoff_ms, out),
            DaemonChange::Woke { .. } | DaemonChange::WatchdogTripped { .. } => self.signs.stop(),
        }
    }

    /// Tells a client that has come to an agent that waits already; a wait behind `position` comes with the
    /// stream.
    pub(super) async fn waits_already(&mut self, position: Seq) -> Result<(), Disconnected> {
        let session = &self.attached.session;
        let idle = session.view().idle.filter(|idle| idle.seq <= position);
        let Some(idle) = idle else {
            return Ok(());
        };
        let waited = session.now().saturating_sub(idle.since);
        let mut out = Vec::new();
        let backoff_ms = backoff_after(idle.backoff_ms, waited);
        self.sign(idle.iteration, backoff_ms, &mut out);
        self.send(out).await
    }

    /// The one that is due.
    pub(super) async fn sign_of_life(&mut self) -> Result<(), Disconnected> {
        let Some(next) = self.signs.0.take() else {
            return Ok(());
        };
        let mut out = Vec::new();
        self.sign(next.iteration, next.backoff_ms, &mut out);
        self.send(out).await
    }

    fn sign(&mut self, iteration: u64, backoff_ms: u64, out: &mut Vec<u8>) {
        match self.dialect.profile {
            Profile::Harn | Profile::Meta => {
                let session = self.attached.session.id();
                idle::write(session, iteration, backoff_ms, out);
                self.signs.given(iteration, backoff_ms);
            }
            // ACP has no word for it.
            Profile::Acp => {}
        }
    }
}
