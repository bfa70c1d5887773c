//! A run in progress, shared by the requests that wait for it and the task that follows its session.

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
    question_action::{self, QuestionAction},
};
use crate::{error::OpenHarnessError, report::RunReport, request::DirectiveAnswer};

/// The time that a run with a question gets to ask more. Parallel calls and workers are checked one after
/// another; a person does not notice the delay.
const MOMENT: Duration = Duration::from_millis(100);
/// The most such delays: an agent may keep asking.
const MOST_MOMENTS: usize = 10;

pub(super) struct ActiveRun {
    session: Observer,
    fold: Mutex<RunFold>,
    standing: watch::Sender<RunSignal>,
    /// The slot in the quota of runs.
    _place: ClientSlot,
}

/// Whether further events of the run arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunSignal {
    UnderWay,
    /// The session failed, so the end of the run is unknown.
    Lost,
}

/// What a request waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WaitCondition {
    /// These questions are settled.
    pub(super) settled: Vec<String>,
    /// The run is over; a pending decision is not enough.
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

    /// Folds an event in and returns whether the run is over. [`ActiveRun::notify_waiters`] notifies the waiting
    /// requests.
    pub(super) fn apply(&self, envelope: &Envelope) -> bool {
        let mut fold = self.fold();
        fold.apply(envelope, |id| self.session.hitl(id));
        fold.is_over()
    }

    /// Makes the waiting requests check again.
    pub(super) fn notify_waiters(&self) {
        self.standing.send_modify(|_| ());
    }

    /// Marks the run as lost: no further events arrive.
    pub(super) fn mark_lost(&self) {
        self.standing.send_replace(RunSignal::Lost);
    }

    /// Returns the report after a position, and its time.
    pub(super) fn report(&self, after: Seq) -> (RunReport, Timestamp) {
        (self.fold().report(after), self.session.now())
    }

    /// Returns whether the run waits for a decision.
    pub(super) fn is_parked(&self) -> bool {
        let fold = self.fold();
        fold.is_parked() && !fold.is_over()
    }

    /// Converts answers into actions on the open questions.
    pub(super) fn plan_actions(
        &self,
        verdicts: &[DirectiveAnswer],
        principal: &Principal,
    ) -> Result<Vec<QuestionAction>, OpenHarnessError> {
        let fold = self.fold();
        question_action::plan_actions(verdicts, &fold.asks(), fold.questions(), principal)
    }

    /// Waits until the run is over or waits for decisions, including all that it asks at once. Cancel safe.
    pub(super) async fn wait_until_settled(
        &self,
        until: &WaitCondition,
    ) -> Result<(), OpenHarnessError> {
        loop {
            self.wait_until_stopped(until).await?;
            self.wait_for_more_questions().await;
            // Another client may have answered meanwhile.
            if self.is_settled(until) {
                return Ok(());
            }
        }
    }

    /// Waits until no further question arrives for a moment.
    async fn wait_for_more_questions(&self) {
        for _ in 0..MOST_MOMENTS {
            let before = self.fold().count_open_questions();
            if before == 0 {
                return;
            }
            tokio::time::sleep(MOMENT).await;
            if self.fold().count_open_questions() <= before {
                return;
            }
        }
    }

    /// Waits until the run is over or asks something.
    async fn wait_until_stopped(&self, until: &WaitCondition) -> Result<(), OpenHarnessError> {
        let mut standing = self.standing.subscribe();
        loop {
            // Read the signal before the check, so that no change in between is missed.
            let lost = *standing.borrow_and_update() == RunSignal::Lost;
            if self.is_settled(until) {
                return Ok(());
            }
            if lost || standing.changed().await.is_err() {
                return Err(OpenHarnessError::Unavailable);
            }
        }
    }

    fn is_settled(&self, until: &WaitCondition) -> bool {
        let fold = self.fold();
        let settled = || !until.settled.iter().any(|id| fold.has_question(id));
        fold.is_over() || (!until.over && fold.is_parked() && settled())
    }

    fn fold(&self) -> MutexGuard<'_, RunFold> {
        self.fold.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
