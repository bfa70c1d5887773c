//! A run under way, shared by those who wait for it and the one who follows its session.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use harn_lines::pace::ClientSlot;
use harn_model::{Envelope, Principal, Seq, Timestamp, TurnId};
use harn_runtime::Observer;
use tokio::sync::watch;

use super::{
    fold::RunFold,
    verdict::{self, QuestionAction},
};
use crate::{asked::DirectiveAnswer, error::OpenHarnessError, told::RunReport};

/// How long a run that asks something is given to ask more. Calls and workers that go side by side are judged one
/// after another; a person who decides does not notice the difference.
const MOMENT: Duration = Duration::from_millis(100);
/// How many such moments there may be: an agent may go on asking.
const MOST_MOMENTS: usize = 10;

/// A run under way.
pub(super) struct ActiveRun {
    session: Observer,
    fold: Mutex<RunFold>,
    standing: watch::Sender<RunSignal>,
    /// Among those under way.
    _place: ClientSlot,
}

/// Whether there is more to come, as far as those who wait have to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunSignal {
    UnderWay,
    /// The session failed; nobody will tell how the run ends.
    Lost,
}

/// What somebody waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WaitCondition {
    /// These questions are settled.
    pub(super) settled: Vec<String>,
    /// It is over, and not only waiting for a decision.
    pub(super) over: bool,
}

impl ActiveRun {
    pub(super) fn new(session: Observer, turn: TurnId, place: ClientSlot) -> Self {
        let (id, now) = (session.id().clone(), session.now());
        Self {
            session,
            fold: Mutex::new(RunFold::new(id, turn, now, Seq::ZERO)),
            standing: watch::Sender::new(RunSignal::UnderWay),
            _place: place,
        }
    }

    /// Folds an event in; whether the run is over with it. Those who wait hear of it by [`ActiveRun::ring`].
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
        self.standing.send_replace(RunSignal::Lost);
    }

    /// What there is to tell from just after a place, and when.
    pub(super) fn tell(&self, after: Seq) -> (RunReport, Timestamp) {
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
        verdicts: &[DirectiveAnswer],
        principal: &Principal,
    ) -> Result<Vec<QuestionAction>, OpenHarnessError> {
        let fold = self.fold();
        verdict::deeds(verdicts, &fold.asks(), fold.questions(), principal)
    }

    /// Waits until it goes on by itself no more, with all that it asks at once. Cancel safe.
    pub(super) async fn rest(&self, until: &WaitCondition) -> Result<(), OpenHarnessError> {
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
    async fn stopped(&self, until: &WaitCondition) -> Result<(), OpenHarnessError> {
        let mut standing = self.standing.subscribe();
        loop {
            // Before the look, so that what happens in between is not missed.
            let lost = *standing.borrow_and_update() == RunSignal::Lost;
            if self.rests(until) {
                return Ok(());
            }
            if lost || standing.changed().await.is_err() {
                return Err(OpenHarnessError::Unavailable);
            }
        }
    }

    fn rests(&self, until: &WaitCondition) -> bool {
        let fold = self.fold();
        let settled = || !until.settled.iter().any(|id| fold.asks_for(id));
        fold.is_over() || (!until.over && fold.is_parked() && settled())
    }

    fn fold(&self) -> MutexGuard<'_, RunFold> {
        self.fold.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
