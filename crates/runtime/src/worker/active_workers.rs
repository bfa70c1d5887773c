//! The workers of a turn: which of them are running, and the only path that writes their events. A caller
//! claims a worker before it acts on it; a second concurrent claim is refused.

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
    pub(super) session: Arc<SharedSession>,
    pub(super) turn: TurnId,
    pub(super) pipe: Arc<TurnPipe>,
    /// The turn's own token: cancelled when the turn is.
    cancel: CancellationToken,
    /// Cancelled when the turn is cancelled or ends, because running workers belong to the turn.
    stop: CancellationToken,
    busy: Mutex<BusyWorkers>,
    /// Notified when a worker is released.
    freed: Notify,
}

type BusyWorkers = BTreeMap<WorkerId, Arc<WorkerCycle>>;

/// A cycle of a worker, as other tasks see it.
pub(super) struct WorkerCycle {
    /// The number of the cycle; the last one if the claim only ends the worker.
    pub(super) number: u64,
    /// Whether it counts towards the limit of running workers.
    at_work: bool,
    pub(super) stop: CancellationToken,
    /// How to end the cycle after a stop; `None` if the turn is over.
    ending: Mutex<Option<CycleEnd>>,
    pub(super) report: watch::Receiver<Option<WorkerReport>>,
}

impl WorkerCycle {
    /// Stops the cycle with this end; the first call wins.
    pub(super) fn end(&self, how: CycleEnd) {
        lock(&self.ending).get_or_insert(how);
        self.stop.cancel();
    }

    pub(super) fn take_end(&self) -> Option<CycleEnd> {
        lock(&self.ending).take()
    }

    /// Waits until the cycle is over; returns `None` if it never started.
    pub(super) async fn wait_until_over(&self) -> Option<WorkerReport> {
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

    /// Stops all running workers and rejects new ones.
    pub(crate) fn stop_all(&self) {
        // Under the lock, because waiters would miss a claim that is made concurrently.
        let _busy = lock(&self.busy);
        self.stop.cancel();
    }

    /// Waits until no worker runs. Cancel safe.
    pub(crate) async fn wait_until_idle(&self) {
        loop {
            // Registered before the check, so that a release in between is not missed.
            let freed = self.freed.notified();
            if lock(&self.busy).is_empty() {
                return;
            }
            freed.await;
        }
    }

    /// Returns why the workers were stopped.
    pub(super) fn stop_reason(&self) -> &'static str {
        if self.cancel.is_cancelled() {
            "the turn was cancelled"
        } else {
            "the turn ended before this worker did"
        }
    }

    /// Returns the last update of a worker.
    pub(super) fn last_update(&self, id: &WorkerId) -> Option<WorkerUpdate> {
        let view = self.session.view();
        view.workers.get(id).map(|last| (**last).clone())
    }

    pub(super) fn cycle(&self, id: &WorkerId) -> Option<Arc<WorkerCycle>> {
        lock(&self.busy).get(id).cloned()
    }

    /// Claims a new worker.
    pub(super) fn claim_new(self: &Arc<Self>, id: WorkerId) -> Result<WorkerClaim, WorkerError> {
        let limit = self.session.config.max_worker_depth;
        if self.session.depth() >= limit {
            return Err(WorkerError::TooDeep { limit });
        }
        let mut busy = self.lock_busy()?;
        let place = self.reserve_slot(&busy)?;
        Ok(self.claim(&mut busy, id, 1, Some(place)))
    }

    /// Claims a waiting worker and returns its last update: for another cycle, or to end it, which does not count
    /// towards the limit.
    pub(super) fn claim_waiting(
        self: &Arc<Self>,
        id: &WorkerId,
        for_cycle: bool,
    ) -> Result<(WorkerClaim, WorkerUpdate), WorkerError> {
        let mut busy = self.lock_busy()?;
        let last = self.waiting_worker(&busy, id)?;
        let place = for_cycle.then(|| self.reserve_slot(&busy)).transpose()?;
        let number = last.cycle.saturating_add(u64::from(for_cycle));
        let claim = self.claim(&mut busy, id.clone(), number, place);
        Ok((claim, last))
    }

    /// Locks the claimed workers; fails when the turn is over.
    fn lock_busy(&self) -> Result<MutexGuard<'_, BusyWorkers>, WorkerError> {
        let busy = lock(&self.busy);
        if self.stop.is_cancelled() {
            return Err(WorkerError::TurnOver);
        }
        Ok(busy)
    }

    /// Returns the last update of a worker that waits and is not claimed.
    fn waiting_worker(
        &self,
        busy: &BusyWorkers,
        id: &WorkerId,
    ) -> Result<WorkerUpdate, WorkerError> {
        let last = self.last_update(id);
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

    /// Reserves one of the running workers allowed for the session and below the root session.
    fn reserve_slot(&self, busy: &BusyWorkers) -> Result<OwnedSemaphorePermit, WorkerError> {
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

    /// Writes events in the session, after everything its agent emitted before. Writes all or none; fails
    /// once the turn is over.
    pub(super) async fn write(&self, events: Vec<AgentEvent>) -> Result<(), AgentError> {
        let (reply, written) = oneshot::channel();
        let events = events.into_iter().map(TurnItem::Event);
        let items = events.chain([TurnItem::Flush(reply)]).collect();
        self.pipe.push_all(items).await?;
        written.await.map_err(|_| AgentError::Cancelled)
    }
}

/// The exclusive right to act on a worker. Released on drop.
pub(super) struct WorkerClaim {
    pub(super) crew: Arc<WorkerCrew>,
    pub(super) id: WorkerId,
    pub(super) cycle: Arc<WorkerCycle>,
    done: watch::Sender<Option<WorkerReport>>,
    place: Mutex<Option<OwnedSemaphorePermit>>,
}

impl WorkerClaim {
    /// Releases the worker and sends the report to all waiters.
    pub(super) fn finish(self, report: WorkerReport) {
        self.release();
        self.done.send_replace(Some(report));
    }

    fn release(&self) {
        // Before the worker itself: a notified waiter may start another worker at once.
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
    /// Returns the report of a cycle whose end was not observed.
    pub(super) fn for_lost_cycle() -> Self {
        let error = "the turn ended before this worker did";
        Self::without_text(WorkerStatus::Cancelled, Some(error.to_owned()))
    }

    /// Returns the report of a cycle that left a worker in this state, with the error if there was one.
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
