//! The roster of a session as its task and its seats share it, and what follows from a change of it: who is
//! asked, and whose files and terminals an agent uses.

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
    shared::{SharedSession, lock},
};
use crate::{LiveClientError, NoHost};

/// What a client on a session wants of its task.
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

/// Who is asked, as those who ask hear of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AnsweringState {
    pub(crate) asked: Option<AnsweringSeat>,
    epoch: u64,
    /// What was written when it came to this.
    pub(crate) at: Seq,
}

/// Who is on a session.
pub(crate) struct LiveRoster {
    roster: Mutex<RosterState>,
    standing: watch::Sender<AnsweringState>,
    /// Control has passed, and those who are there under a name have not been told.
    untold: Notify,
}

#[derive(Default)]
struct RosterState {
    roster: Roster,
    /// A change of it is being written: what follows from it comes after that.
    writing: bool,
    /// Who is in control, as far as it was told.
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

    /// Resolves when control has passed and somebody has to be told of it.
    pub(crate) async fn stirred(&self) {
        self.untold.notified().await;
    }

    pub(crate) fn standing(&self) -> watch::Receiver<AnsweringState> {
        self.standing.subscribe()
    }
}

/// The roster, to be looked at.
pub(crate) struct RosterGuard<'a>(MutexGuard<'a, RosterState>);

impl Deref for RosterGuard<'_> {
    type Target = Roster;

    fn deref(&self) -> &Roster {
        &self.0.roster
    }
}

impl SharedSession {
    pub(crate) fn instant(&self) -> ClockReading {
        ClockReading {
            at: self.config.clock.now(),
            tick: sleep(Duration::ZERO).deadline(),
        }
    }

    /// Changes the roster where nobody is told of it.
    pub(crate) fn amend<T>(&self, change: impl FnOnce(&mut Roster, ClockReading) -> T) -> T {
        let now = self.instant();
        let mut kept = lock(&self.live.roster);
        let result = change(&mut kept.roster, now);
        if !kept.writing {
            self.settle(&kept);
        }
        result
    }

    /// Changes the roster; what follows is left to [`SharedSession::amended`], once it is written.
    pub(crate) fn begin_amend<T>(&self, change: impl FnOnce(&mut Roster, ClockReading) -> T) -> T {
        let now = self.instant();
        let mut kept = lock(&self.live.roster);
        kept.writing = true;
        change(&mut kept.roster, now)
    }

    /// A passing of control that was not told, to be written as the changes of [`SharedSession::begin_amend`] are.
    pub(crate) fn begin_telling(&self) -> Option<RosterChange> {
        let mut kept = lock(&self.live.roster);
        let change = kept.roster.untold(kept.told.as_deref());
        kept.writing = change.is_some();
        change
    }

    /// These changes are written, or there was nothing to write.
    pub(crate) fn amended(&self, changes: &[RosterChange]) {
        let mut kept = lock(&self.live.roster);
        if let Some(last) = changes.last() {
            kept.told.clone_from(&last.state.active_controller_id);
        }
        kept.writing = false;
        self.settle(&kept);
    }

    /// Lets everyone know who is asked and whose host it is. Called with the roster locked, so that the
    /// last word is the last change.
    fn settle(&self, kept: &RosterState) {
        let roster = &kept.roster;
        if roster.untold(kept.told.as_deref()).is_some() {
            self.live.untold.notify_one();
        }
        let (asked, epoch) = (roster.asked(), roster.epoch());
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
