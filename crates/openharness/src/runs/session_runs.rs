//! The runs of one session: those in progress, an index of earlier ones from the journal, and the claim on
//! its control (`Seat`).
//!
//! A task follows the session and keeps the seat only while runs are in progress. No lock is kept across an
//! `await`.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use harn_lines::pace::ClientSlot;
use harn_model::{Envelope, Principal, Seq, Timestamp, TurnId};
use harn_runtime::{
    BatchSlice, Controller, DriverAction, HitlError, NoHost, PromptError, PromptSubmission, Seat,
    SeatClaim, SessionEnd, Subscription,
};
use tokio::sync::watch;

use super::{
    fold::RunFold,
    index::{RequestHistory, TurnIndex},
    names::RequestFingerprint,
    question_action::QuestionAction,
    run::{ActiveRun, WaitCondition},
};
use crate::{
    continuation::RunCursor, error::OpenHarnessError, report::RunReport, request::DirectiveAnswer,
};

/// The runs of one session.
pub(super) struct SessionRuns {
    session: Controller,
    state: Mutex<SessionRunsState>,
    /// The position up to which the journal was folded; none after the session has ended.
    folded: watch::Sender<Option<Seq>>,
}

#[derive(Default)]
struct SessionRunsState {
    /// Whether a task follows the session.
    followed: bool,
    /// The position up to which a caller needs the journal folded.
    wanted: Seq,
    index: TurnIndex,
    runs: HashMap<TurnId, Arc<ActiveRun>>,
    /// The seat, while any caller uses it.
    seat: Weak<Seat>,
    /// Keeps the seat while runs are in progress.
    kept: Option<Arc<Seat>>,
}

/// The state of a turn for a Shell.
pub(super) enum TurnLookup {
    UnderWay(Arc<ActiveRun>),
    Over,
    /// The turn does not exist, or another client started it and it is in progress.
    No,
}

impl SessionRuns {
    pub(super) fn new(session: Controller) -> Self {
        Self {
            session,
            state: Mutex::default(),
            folded: watch::Sender::new(Some(Seq::ZERO)),
        }
    }

    pub(super) fn session(&self) -> &Controller {
        &self.session
    }

    /// Waits until the index covers the present end of the journal.
    pub(super) async fn catch_up(self: &Arc<Self>) -> Result<(), OpenHarnessError> {
        let head = self.session.last_seq();
        let mut folded = self.folded.subscribe();
        let reached = |folded: &Option<Seq>| folded.is_none_or(|folded| folded >= head);
        if !reached(&folded.borrow_and_update()) {
            let mut state = self.state();
            state.wanted = state.wanted.max(head);
            self.ensure_followed(&mut state);
        }
        match folded.wait_for(reached).await.as_deref() {
            Ok(Some(_)) => Ok(()),
            Ok(None) | Err(_) => Err(OpenHarnessError::Unavailable),
        }
    }

    /// Returns whether a request ran, as far as the journal was folded.
    pub(super) fn request_history(&self, mark: &RequestFingerprint) -> RequestHistory {
        self.state().index.request_history(mark)
    }

    /// Returns the state of a turn, as far as the journal was folded.
    pub(super) fn find_turn(&self, turn: &TurnId) -> TurnLookup {
        let state = self.state();
        match (state.runs.get(turn), state.index.turn(turn)) {
            (Some(run), _) => TurnLookup::UnderWay(run.clone()),
            (None, Some(turn)) if turn.over => TurnLookup::Over,
            // A turn in progress that is not among the runs was started by another client.
            (None, _) => TurnLookup::No,
        }
    }

    /// Returns the run that a cancel of the session would stop.
    pub(super) fn current_run(&self) -> Option<(TurnId, Arc<ActiveRun>)> {
        let turn = self.session.cancel_target()?;
        let run = self.state().runs.get(&turn).cloned()?;
        Some((turn, run))
    }

    /// Returns the position at the beginning of a run.
    pub(super) fn start_of_run(&self, turn: TurnId) -> RunCursor {
        RunCursor {
            session: self.session.id().clone(),
            turn,
            after: Seq::ZERO,
        }
    }

    /// Starts a run; `mark` identifies its request, if that has an id.
    pub(super) async fn begin(
        self: &Arc<Self>,
        prompt: PromptSubmission,
        mark: Option<&RequestFingerprint>,
        place: ClientSlot,
    ) -> Result<(TurnId, Arc<ActiveRun>), OpenHarnessError> {
        let seat = self.take_seat();
        let driver = seat
            .drive(DriverAction::Speak, None)
            .map_err(|_| OpenHarnessError::Driven)?;
        let mut begun = None;
        // This runs before the session receives the prompt, so that no event of the run is missed.
        let enter = |turn: &TurnId| begun = Some(self.register_run(turn, mark, &seat, place));
        let turn = driver
            .prompt(prompt, enter)
            .await
            .map_err(map_prompt_error)?;
        let run = begun.ok_or(OpenHarnessError::Unavailable)?;
        Ok((turn, run))
    }

    fn register_run(
        self: &Arc<Self>,
        turn: &TurnId,
        mark: Option<&RequestFingerprint>,
        seat: &Arc<Seat>,
        place: ClientSlot,
    ) -> Arc<ActiveRun> {
        let run = Arc::new(ActiveRun::new(self.session.observer(), turn.clone(), place));
        let mut state = self.state();
        state.runs.insert(turn.clone(), run.clone());
        // The journal has this only when the turn starts.
        if let Some(mark) = mark {
            state.index.record_request(mark, turn);
        }
        state.kept = Some(seat.clone());
        self.ensure_followed(&mut state);
        run
    }

    /// Stops a run. Its Shell may do so even if another client controls the session.
    pub(super) async fn cancel(&self, turn: &TurnId) {
        self.session.cancel(turn.clone()).await;
    }

    /// Applies these answers; applies none if the check of one fails. Returns what to wait for.
    pub(super) async fn apply_answers(
        &self,
        run: &ActiveRun,
        verdicts: &[DirectiveAnswer],
        principal: &Principal,
    ) -> Result<WaitCondition, OpenHarnessError> {
        let deeds = run.plan_actions(verdicts, principal)?;
        // A run that has ended meanwhile has no open questions.
        let seat = self
            .state()
            .kept
            .clone()
            .ok_or(OpenHarnessError::QuestionUnknown)?;
        seat.drive(DriverAction::Answer, None)
            .map_err(|_| OpenHarnessError::Driven)?;
        let term = seat.answering_term().0.ok_or(OpenHarnessError::Driven)?;
        let mut until = WaitCondition::default();
        for deed in deeds {
            let id = deed.id().to_owned();
            match deed {
                QuestionAction::Answer(ask, decision) => seat.answer(ask, decision, term).await,
                QuestionAction::Respond(response) => {
                    let responded = seat.hitl_respond(response, term).await;
                    responded.map_err(|error| map_hitl_error(&error))?;
                    // Further reviewers may have to agree.
                    if self.session.hitl(&id).is_some() {
                        continue;
                    }
                }
                QuestionAction::Decline(question) => seat.decline_hitl(&question, term).await,
            }
            until.settled.push(id);
        }
        Ok(until)
    }

    /// Returns the report of a finished run after a position from the journal, and the time of the report.
    pub(super) async fn report_finished(
        &self,
        turn: &TurnId,
        after: Seq,
    ) -> Result<(RunReport, Timestamp), OpenHarnessError> {
        let found = self.state().index.turn(turn);
        let found = found.ok_or(OpenHarnessError::ContinuationUnknown)?;
        let (id, now) = (self.session.id().clone(), self.session.now());
        let mut fold = RunFold::new(id, turn.clone(), now, after);
        let mut events = self.session.subscribe(found.before);
        while !fold.is_over() {
            let delivery = events
                .next()
                .await
                .map_err(|_| OpenHarnessError::Unavailable)?;
            for envelope in delivery.events() {
                if envelope.turn.as_ref() == Some(turn) && !fold.is_over() {
                    fold.apply(envelope, |_| None);
                }
            }
        }
        Ok((fold.report(after), now))
    }

    /// Returns the seat, or takes one. Two at a time would compete for control.
    fn take_seat(&self) -> Arc<Seat> {
        let mut state = self.state();
        if let Some(seat) = state.seat.upgrade() {
            return seat;
        }
        let name = format!("openharness-{}", self.session.id());
        let seat = self
            .session
            .take_seat(&name, Arc::new(NoHost), SeatClaim::IfFree);
        let seat = Arc::new(seat);
        state.seat = Arc::downgrade(&seat);
        seat
    }

    /// Starts a task that follows the session from the last position, unless there is one.
    fn ensure_followed(self: &Arc<Self>, state: &mut SessionRunsState) {
        let Some(folded) = *self.folded.borrow() else {
            return;
        };
        if !std::mem::replace(&mut state.followed, true) {
            let events = self.session.subscribe(folded);
            tokio::spawn(follow(self.clone(), events));
        }
    }

    /// Folds events in and adds the affected runs to `touched`.
    fn fold_events(&self, events: &[Envelope], touched: &mut Vec<Arc<ActiveRun>>) {
        let mut state = self.state();
        let state = &mut *state;
        for envelope in events {
            state.index.apply(envelope);
            let Some(turn) = &envelope.turn else {
                continue;
            };
            let Some(run) = state.runs.get(turn) else {
                continue;
            };
            if !touched.iter().any(|other| Arc::ptr_eq(other, run)) {
                touched.push(run.clone());
            }
            if run.apply(envelope) {
                state.runs.remove(turn);
            }
        }
    }

    /// Returns whether there is nothing left to follow. If so, gives the seat back.
    fn stop_if_idle(&self, position: Seq) -> bool {
        let mut state = self.state();
        let rests = state.runs.is_empty() && position >= state.wanted;
        let seat = match rests {
            true => state.kept.take(),
            false => None,
        };
        if rests {
            state.followed = false;
        }
        drop(state);
        drop(seat);
        rests
    }

    /// Marks all runs as lost: the session has ended, so no further events arrive.
    fn mark_lost(&self) {
        let mut state = self.state();
        state.followed = false;
        let (runs, seat) = (std::mem::take(&mut state.runs), state.kept.take());
        drop(state);
        drop(seat);
        self.folded.send_replace(None);
        for run in runs.into_values() {
            run.mark_lost();
        }
    }

    fn state(&self) -> MutexGuard<'_, SessionRunsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The most deliveries to fold before waiting requests are notified: an agent may never pause.
const AT_ONCE: usize = 16;

/// Folds the session's events while runs are in progress.
async fn follow(line: Arc<SessionRuns>, mut events: Subscription) {
    let mut touched = Vec::new();
    loop {
        let Ok(delivery) = events.next().await else {
            return line.mark_lost();
        };
        line.fold_events(delivery.events(), &mut touched);
        // Also fold what has already arrived: questions that were asked at once are reported at once. No
        // request waits for events that are only indexed.
        let ahead = if touched.is_empty() { 0 } else { AT_ONCE };
        let mut ended = false;
        for _ in 0..ahead {
            match next_if_ready(&mut events).await {
                Some(Ok(delivery)) => line.fold_events(delivery.events(), &mut touched),
                Some(Err(_)) => {
                    ended = true;
                    break;
                }
                None => break,
            }
        }
        let position = events.position();
        line.folded.send_replace(Some(position));
        let rests = line.stop_if_idle(position);
        for run in touched.drain(..) {
            run.notify_waiters();
        }
        if ended {
            return line.mark_lost();
        }
        if rests {
            return;
        }
    }
}

/// Returns the next delivery if it is available without waiting.
async fn next_if_ready(events: &mut Subscription) -> Option<Result<BatchSlice, SessionEnd>> {
    tokio::select! {
        biased;
        next = events.next() => Some(next),
        () = std::future::ready(()) => None,
    }
}

fn map_prompt_error(error: PromptError) -> OpenHarnessError {
    match error {
        PromptError::QueueFull { .. } => OpenHarnessError::Busy,
        PromptError::Closed => OpenHarnessError::Unavailable,
        PromptError::Empty | PromptError::Unsupported { .. } => OpenHarnessError::Unsupported {
            problem: error.to_string(),
        },
    }
}

fn map_hitl_error(error: &HitlError) -> OpenHarnessError {
    match error {
        HitlError::Unknown(_) => OpenHarnessError::QuestionUnknown,
        HitlError::Closed => OpenHarnessError::Unavailable,
        HitlError::Twice(_) | HitlError::NotAReviewer { .. } => OpenHarnessError::AnswerUnfit {
            problem: "another person must decide this".to_owned(),
        },
        HitlError::Unfit(problem) => OpenHarnessError::AnswerUnfit {
            problem: problem.clone(),
        },
    }
}
