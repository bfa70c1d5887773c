//! The connected clients of a session, shared by its task and its seats, and the effects of a change: which
//! client receives questions, and whose files and terminals an agent uses.

use std::{
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use harn_model::{LiveClientChange, LiveClientLeft, Seq};
use serde_json::Value;
use tokio::{
    sync::{Notify, oneshot, watch},
    time::sleep,
};

use super::{
    roster::{AnsweringSeat, AttachClient, ClockReading, Roster, RosterChange, SeatId},
    shared_session::{SharedSession, lock},
};
use crate::{LiveClientError, NoHost};

/// A client's request to the session task.
pub(crate) struct LiveRequest {
    pub(crate) seat: SeatId,
    pub(crate) wanted: LiveAction,
    pub(crate) reply: oneshot::Sender<Result<(LiveClientChange, Seq), LiveClientError>>,
}

pub(crate) enum LiveAction {
    Attach(AttachClient),
    Detach(LiveClientLeft),
    Heartbeat(String, Option<Value>),
}

/// The seat that receives questions, as sent to watchers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AnsweringState {
    pub(crate) asked: Option<AnsweringSeat>,
    epoch: u64,
    /// The last written event when this became true.
    pub(crate) at: Seq,
}

/// The clients on a session.
pub(crate) struct LiveRoster {
    roster: Mutex<RosterState>,
    standing: watch::Sender<AnsweringState>,
    /// Notified when control has changed and the named clients have not been notified.
    untold: Notify,
}

#[derive(Default)]
struct RosterState {
    roster: Roster,
    /// Whether a change is being written: its effects are applied after that.
    writing: bool,
    /// The controller, as last published.
    told: Option<String>,
}

impl Default for LiveRoster {
    fn default() -> Self {
        Self {
            roster: Mutex::default(),
            standing: watch::Sender::new(AnsweringState::default()),
            untold: Notify::new(),
        }
    }
}

impl LiveRoster {
    pub(crate) fn roster(&self) -> RosterGuard<'_> {
        RosterGuard(lock(&self.roster))
    }

    /// Resolves when control has changed and clients have to be notified.
    pub(crate) async fn wait_for_control_change(&self) {
        self.untold.notified().await;
    }

    pub(crate) fn subscribe_answering(&self) -> watch::Receiver<AnsweringState> {
        self.standing.subscribe()
    }
}

/// Read access to the roster.
pub(crate) struct RosterGuard<'a>(MutexGuard<'a, RosterState>);

impl Deref for RosterGuard<'_> {
    type Target = Roster;

    fn deref(&self) -> &Roster {
        &self.0.roster
    }
}

impl SharedSession {
    pub(crate) fn clock_reading(&self) -> ClockReading {
        ClockReading {
            at: self.config.clock.now(),
            tick: sleep(Duration::ZERO).deadline(),
        }
    }

    /// Changes the roster without an event.
    pub(crate) fn amend<T>(&self, change: impl FnOnce(&mut Roster, ClockReading) -> T) -> T {
        let now = self.clock_reading();
        let mut kept = lock(&self.live.roster);
        let result = change(&mut kept.roster, now);
        if !kept.writing {
            self.publish_answering(&kept);
        }
        result
    }

    /// Changes the roster; after it is written, the caller applies the effects with
    /// [`SharedSession::finish_amend`].
    pub(crate) fn begin_amend<T>(&self, change: impl FnOnce(&mut Roster, ClockReading) -> T) -> T {
        let now = self.clock_reading();
        let mut kept = lock(&self.live.roster);
        kept.writing = true;
        change(&mut kept.roster, now)
    }

    /// Returns an unpublished change of control, to be written like the changes of [`SharedSession::begin_amend`].
    pub(crate) fn begin_control_change(&self) -> Option<RosterChange> {
        let mut kept = lock(&self.live.roster);
        let change = kept.roster.unpublished_change(kept.told.as_deref());
        kept.writing = change.is_some();
        change
    }

    /// Applies the effects of written changes, or ends the change if there was nothing to write.
    pub(crate) fn finish_amend(&self, changes: &[RosterChange]) {
        let mut kept = lock(&self.live.roster);
        if let Some(last) = changes.last() {
            kept.told.clone_from(&last.state.active_controller_id);
        }
        kept.writing = false;
        self.publish_answering(&kept);
    }

    /// Publishes which seat receives questions and whose host is used. Called with the roster locked, so that
    /// watchers see the last change last.
    fn publish_answering(&self, kept: &RosterState) {
        let roster = &kept.roster;
        if roster.unpublished_change(kept.told.as_deref()).is_some() {
            self.live.untold.notify_one();
        }
        let (asked, epoch) = (roster.answering_seat(), roster.epoch());
        let at = self.view().last_seq;
        self.live.standing.send_if_modified(|standing| {
            if standing.epoch != epoch {
                *lock(&self.host) = roster.host().unwrap_or_else(|| Arc::new(NoHost));
            }
            let changed = (standing.asked, standing.epoch) != (asked, epoch);
            if changed {
                *standing = AnsweringState { asked, epoch, at };
            }
            changed
        });
    }
}
