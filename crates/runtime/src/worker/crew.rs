//! The workers of a turn: which of them are at work, and the one door through which their lives are
//! written. A worker is claimed before anything is done with it, so that of two who want something of
//! it at once one is refused.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
};

use harn_model::{AgentEvent, TurnId, WorkerId, WorkerStatus, WorkerUpdate};
use tokio::sync::{Notify, OwnedSemaphorePermit, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::{WorkerReport, cycle::CycleEnd};
use crate::{
    AgentError, WorkerError,
    session::{SharedSession, lock},
    turn::{TurnItem, TurnPipe},
};

pub(crate) struct WorkerCrew {
    /// The session the workers work for.
    pub(super) session: Arc<SharedSession>,
    pub(super) turn: TurnId,
    pub(super) pipe: Arc<TurnPipe>,
    /// The turn's own: it was cancelled.
    cancel: CancellationToken,
    /// Over when the turn is cancelled or ends: what runs belongs to the turn.
    stop: CancellationToken,
    busy: Mutex<BusyWorkers>,
    /// A worker was given back.
    freed: Notify,
}

/// Those who are claimed.
type BusyWorkers = BTreeMap<WorkerId, Arc<WorkerCycle>>;

/// A cycle of a worker, from the outside.
pub(super) struct WorkerCycle {
    /// Which one it is; that of the last where only the end of a worker is written.
    pub(super) number: u64,
    /// Whether it takes one of the places there are.
    at_work: bool,
    pub(super) stop: CancellationToken,
    /// What was wanted when it was stopped; nothing where it is the turn that is over.
    ending: Mutex<Option<CycleEnd>>,
    pub(super) report: watch::Receiver<Option<WorkerReport>>,
}

impl WorkerCycle {
    /// Ends it like this; the first wish counts.
    pub(super) fn end(&self, how: CycleEnd) {
        lock(&self.ending).get_or_insert(how);
        self.stop.cancel();
    }

    pub(super) fn ending(&self) -> Option<CycleEnd> {
        lock(&self.ending).take()
    }

    /// Waits until it is over; nothing is reported of one that never began.
    pub(super) async fn over(&self) -> Option<WorkerReport> {
        let mut report = self.report.clone();
        let reported = report.wait_for(Option::is_some).await;
        reported.ok().and_then(|report| report.clone())
    }
}

impl WorkerCrew {
    pub(crate) fn new(
        session: Arc<SharedSession>,
        turn: TurnId,
        pipe: Arc<TurnPipe>,
        cancel: CancellationToken,
    ) -> Self {
        Self {
            session,
            turn,
            pipe,
            stop: cancel.child_token(),
            cancel,
            busy: Mutex::new(BTreeMap::new()),
            freed: Notify::new(),
        }
    }

    /// Tells everyone who is at work to stop; nobody begins any more.
    pub(crate) fn dismiss(&self) {
        // With claims held off, or one that was just made would be missed by those who wait.
        let _busy = lock(&self.busy);
        self.stop.cancel();
    }

    /// Waits until nobody is at work. Cancel safe.
    pub(crate) async fn idle(&self) {
        loop {
            // Registered before the look, so that a release in between is not missed.
            let freed = self.freed.notified();
            if lock(&self.busy).is_empty() {
                return;
            }
            freed.await;
        }
    }

    /// Why those who were told to stop were.
    pub(super) fn why_over(&self) -> &'static str {
        if self.cancel.is_cancelled() {
            "the turn was cancelled"
        } else {
            "the turn ended before this worker did"
        }
    }

    /// The last word on a worker.
    pub(super) fn last(&self, id: &WorkerId) -> Option<WorkerUpdate> {
        let view = self.session.view();
        view.workers.get(id).map(|last| (**last).clone())
    }

    pub(super) fn cycle(&self, id: &WorkerId) -> Option<Arc<WorkerCycle>> {
        lock(&self.busy).get(id).cloned()
    }

    /// Claims a worker nobody has heard of yet.
    pub(super) fn claim_new(self: &Arc<Self>, id: WorkerId) -> Result<WorkerClaim, WorkerError> {
        let limit = self.session.config.max_worker_depth;
        if self.session.depth() >= limit {
            return Err(WorkerError::TooDeep { limit });
        }
        let mut busy = self.claims()?;
        let place = self.place(&busy)?;
        Ok(self.claim(&mut busy, id, 1, Some(place)))
    }

    /// Claims a worker that waits, with the last word on it: for another cycle, or to end it, which takes no place.
    pub(super) fn claim_waiting(
        self: &Arc<Self>,
        id: &WorkerId,
        for_cycle: bool,
    ) -> Result<(WorkerClaim, WorkerUpdate), WorkerError> {
        let mut busy = self.claims()?;
        let last = self.waits(&busy, id)?;
        let place = for_cycle.then(|| self.place(&busy)).transpose()?;
        let number = last.cycle.saturating_add(u64::from(for_cycle));
        let claim = self.claim(&mut busy, id.clone(), number, place);
        Ok((claim, last))
    }

    /// Those who are claimed, while somebody may be.
    fn claims(&self) -> Result<MutexGuard<'_, BusyWorkers>, WorkerError> {
        let busy = lock(&self.busy);
        if self.stop.is_cancelled() {
            return Err(WorkerError::TurnOver);
        }
        Ok(busy)
    }

    /// The last word on a worker that waits and that nobody holds.
    fn waits(&self, busy: &BusyWorkers, id: &WorkerId) -> Result<WorkerUpdate, WorkerError> {
        let last = self.last(id);
        let last = last.ok_or_else(|| WorkerError::Unknown(id.clone()))?;
        if last.event.is_terminal() {
            return Err(WorkerError::Ended {
                worker: id.clone(),
                status: last.event.status(),
            });
        }
        if busy.contains_key(id) || last.event.is_running() {
            return Err(WorkerError::Running(id.clone()));
        }
        Ok(last)
    }

    /// A place to work, among those of the session and those below the session at the top.
    fn place(&self, busy: &BusyWorkers) -> Result<OwnedSemaphorePermit, WorkerError> {
        let config = &self.session.config;
        let limit = config.max_workers;
        if busy.values().filter(|cycle| cycle.at_work).count() >= limit {
            return Err(WorkerError::TooMany { limit });
        }
        let limit = config.max_workers_below;
        let places = self.session.root().places.clone();
        let place = places.try_acquire_owned();
        place.map_err(|_| WorkerError::TooMany { limit })
    }

    fn claim(
        self: &Arc<Self>,
        busy: &mut BusyWorkers,
        id: WorkerId,
        number: u64,
        place: Option<OwnedSemaphorePermit>,
    ) -> WorkerClaim {
        let (done, report) = watch::channel(None);
        let cycle = Arc::new(WorkerCycle {
            number,
            at_work: place.is_some(),
            stop: self.stop.child_token(),
            ending: Mutex::new(None),
            report,
        });
        busy.insert(id.clone(), cycle.clone());
        WorkerClaim {
            crew: self.clone(),
            id,
            cycle,
            done,
            place: Mutex::new(place),
        }
    }

    /// Writes events in the session, after everything its agent emitted before. All of them, or none
    /// where it fails, which it does once the turn is over.
    pub(super) async fn write(&self, events: Vec<AgentEvent>) -> Result<(), AgentError> {
        let (reply, written) = oneshot::channel();
        let events = events.into_iter().map(TurnItem::Event);
        let items = events.chain([TurnItem::Flush(reply)]).collect();
        self.pipe.push_all(items).await?;
        written.await.map_err(|_| AgentError::Cancelled)
    }
}

/// The right to do something with a worker. Given back when it is dropped.
pub(super) struct WorkerClaim {
    pub(super) crew: Arc<WorkerCrew>,
    pub(super) id: WorkerId,
    pub(super) cycle: Arc<WorkerCycle>,
    done: watch::Sender<Option<WorkerReport>>,
    place: Mutex<Option<OwnedSemaphorePermit>>,
}

impl WorkerClaim {
    /// Gives the worker back and tells everyone who waits what became of the cycle.
    pub(super) fn finish(self, report: WorkerReport) {
        self.release();
        self.done.send_replace(Some(report));
    }

    fn release(&self) {
        // Before the worker itself: whoever hears of that may start another at once.
        lock(&self.place).take();
        let mut busy = lock(&self.crew.busy);
        if busy
            .get(&self.id)
            .is_some_and(|held| Arc::ptr_eq(held, &self.cycle))
        {
            busy.remove(&self.id);
            drop(busy);
            self.crew.freed.notify_waiters();
        }
    }
}

impl Drop for WorkerClaim {
    fn drop(&mut self) {
        self.release();
    }
}

impl WorkerReport {
    /// Of a cycle that nobody followed to its end.
    pub(super) fn lost() -> Self {
        let error = "the turn ended before this worker did";
        Self::without_text(WorkerStatus::Cancelled, Some(error.to_owned()))
    }

    /// Of a cycle that left a worker in this state, and why where something went wrong.
    pub(super) fn without_text(status: WorkerStatus, error: Option<String>) -> Self {
        Self {
            status,
            text: String::new(),
            truncated: false,
            stop_reason: None,
            error,
        }
    }
}
