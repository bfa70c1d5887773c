//! A run under way, shared by those who wait for it and the one who follows its session.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use harn_lines::pace::Member;
use harn_model::{Envelope, Principal, Seq, Timestamp, TurnId};
use harn_runtime::Observer;
use tokio::sync::watch;

use super::{
    fold::Fold,
    verdict::{self, Deed},
};
use crate::{asked::Verdict, error::Fault, told::Told};

/// How long a run that asks something is given to ask more. Calls and workers that go side by side are judged one
/// after another; a person who decides does not notice the difference.
const MOMENT: Duration = Duration::from_millis(100);
/// How many such moments there may be: an agent may go on asking.
const MOST_MOMENTS: usize = 10;

/// A run under way.
pub(super) struct Run {
    session: Observer,
    fold: Mutex<Fold>,
    standing: watch::Sender<Standing>,
    /// Among those under way.
    _place: Member,
}

/// Whether there is more to come, as far as those who wait have to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    UnderWay,
    /// The session failed; nobody will tell how the run ends.
    Lost,
}

/// What somebody waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Until {
    /// These questions are settled.
    pub(super) settled: Vec<String>,
    /// It is over, and not only waiting for a decision.
    pub(super) over: bool,
}

impl Run {
    pub(super) fn new(session: Observer, turn: TurnId, place: Member) -> Self {
        let (id, now) = (session.id().clone(), session.now());
        Self {
            session,
            fold: Mutex::new(Fold::new(id, turn, now, Seq::ZERO)),
            standing: watch::Sender::new(Standing::UnderWay),
            _place: place,
        }
    }

    /// Folds an event in; whether the run is over with it. Those who wait hear of it by [`Run::ring`].
    pub(super) fn apply(&self, envelope: &Envelope) -> bool {
        let mut fold = self.fold();
        fold.apply(envelope, |id| self.session.hitl(id));
        fold.is_over()
    }

    /// Has those who wait look again.
    pub(super) fn ring(&self) {
        self.standing.send_modify(|_| ());
    }

    /// Nothing more will be heard of it.
    pub(super) fn lose(&self) {
        self.standing.send_replace(Standing::Lost);
    }

    /// What there is to tell from just after a place, and when.
    pub(super) fn tell(&self, after: Seq) -> (Told, Timestamp) {
        (self.fold().tell(after), self.session.now())
    }

    /// Whether it waits for a decision.
    pub(super) fn is_parked(&self) -> bool {
        let fold = self.fold();
        fold.is_parked() && !fold.is_over()
    }

    /// What these verdicts come to.
    pub(super) fn deeds(
        &self,
        verdicts: &[Verdict],
        principal: &Principal,
    ) -> Result<Vec<Deed>, Fault> {
        let fold = self.fold();
        verdict::deeds(verdicts, &fold.asks(), fold.questions(), principal)
    }

    /// Waits until it goes on by itself no more, with all that it asks at once. Cancel safe.
    pub(super) async fn rest(&self, until: &Until) -> Result<(), Fault> {
        loop {
            self.stopped(until).await?;
            self.gather().await;
            // Somebody may have answered meanwhile, on another wire.
            if self.rests(until) {
                return Ok(());
            }
        }
    }

    /// Waits until no further question has come for a moment.
    async fn gather(&self) {
        for _ in 0..MOST_MOMENTS {
            let before = self.fold().open_questions();
            if before == 0 {
                return;
            }
            tokio::time::sleep(MOMENT).await;
            if self.fold().open_questions() <= before {
                return;
            }
        }
    }

    /// Waits until it is over, or asks something.
    async fn stopped(&self, until: &Until) -> Result<(), Fault> {
        let mut standing = self.standing.subscribe();
        loop {
            // Before the look, so that what happens in between is not missed.
            let lost = *standing.borrow_and_update() == Standing::Lost;
            if self.rests(until) {
                return Ok(());
            }
            if lost || standing.changed().await.is_err() {
                return Err(Fault::Unavailable);
            }
        }
    }

    fn rests(&self, until: &Until) -> bool {
        let fold = self.fold();
        let settled = || !until.settled.iter().any(|id| fold.asks_for(id));
        fold.is_over() || (!until.over && fold.is_parked() && settled())
    }

    fn fold(&self) -> MutexGuard<'_, Fold> {
        self.fold.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
