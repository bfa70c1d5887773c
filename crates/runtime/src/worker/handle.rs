//! An agent's handle to a worker that it started.

use std::sync::{Arc, Mutex};

use harn_model::{
    HandoffArtifact, SessionId, StopReason, WorkerEvent, WorkerId, WorkerStatus, WorkerUpdate,
};

use super::{
    WorkerCrew,
    active_workers::{WorkerClaim, WorkerCycle},
    cycle::{self, CycleEnd, CycleRun},
};
use crate::{Agent, WorkerError, session::lock};

/// A delegated worker. Cheap to clone. Dropping it changes nothing: a running worker continues until it is
/// done or the turn ends, and a waiting one can be [found](crate::TurnContext::find_worker) again.
#[derive(Clone)]
pub struct Worker {
    crew: Arc<WorkerCrew>,
    id: WorkerId,
    session: SessionId,
    agent: Option<Arc<dyn Agent>>,
    /// The last cycle that this handle started or found running.
    seen: Arc<Mutex<Option<Arc<WorkerCycle>>>>,
}

/// The result of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerReport {
    /// The state it left the worker in.
    pub status: WorkerStatus,
    /// The text of the worker's messages in the cycle, separated by blank lines.
    pub text: String,
    /// Whether the start of a long text is missing.
    pub truncated: bool,
    /// Why its agent stopped, if it did.
    pub stop_reason: Option<StopReason>,
    /// The error message, if it failed.
    pub error: Option<String>,
}

impl WorkerReport {
    /// Whether the cycle ended successfully.
    pub fn is_ok(&self) -> bool {
        match self.status {
            WorkerStatus::Completed | WorkerStatus::AwaitingInput | WorkerStatus::Stopped => true,
            WorkerStatus::Running
            | WorkerStatus::Progressed
            | WorkerStatus::Failed
            | WorkerStatus::Cancelled => false,
        }
    }
}

impl Worker {
    pub(super) fn new(
        crew: Arc<WorkerCrew>,
        id: WorkerId,
        session: SessionId,
        agent: Option<Arc<dyn Agent>>,
    ) -> Self {
        Self {
            crew,
            id,
            session,
            agent,
            seen: Arc::default(),
        }
    }

    pub(crate) fn find(crew: Arc<WorkerCrew>, id: &WorkerId) -> Result<Self, WorkerError> {
        let last = crew.last_update(id);
        let session = last.and_then(|last| last.metadata.child_run_id);
        // A worker without a session was announced by the agent itself, so there is no handle to it.
        let session = session.ok_or_else(|| WorkerError::Unknown(id.clone()))?;
        let seen = crew.cycle(id);
        let worker = Self::new(crew, id.clone(), session, None);
        *lock(&worker.seen) = seen;
        Ok(worker)
    }

    /// Returns its id.
    pub fn id(&self) -> &WorkerId {
        &self.id
    }

    /// Returns the id of the session it works in.
    pub fn session_id(&self) -> &SessionId {
        &self.session
    }

    /// Sets the agent for the next triggers. A worker that was found instead of started uses the agent that
    /// serves all sessions by default.
    #[must_use]
    pub fn agent(mut self, agent: Arc<dyn Agent>) -> Self {
        self.agent = Some(agent);
        self
    }

    /// Waits until the running cycle is over. If none runs, returns how the last one ended, without its text
    /// unless this handle saw it.
    pub async fn wait_until_finished(&self) -> WorkerReport {
        let running = self.crew.cycle(&self.id);
        if let Some(cycle) = &running
            && let Some(report) = cycle.wait_until_over().await
        {
            return report;
        }
        let seen = lock(&self.seen).clone();
        let last = self.crew.last_update(&self.id);
        // Another handle may have started later cycles.
        if let (Some(seen), Some(last)) = (seen, &last)
            && seen.number >= last.cycle
            && let Some(report) = seen.wait_until_over().await
        {
            return report;
        }
        last.map_or_else(WorkerReport::for_lost_cycle, |last| {
            WorkerReport::without_text(last.event.status(), last.metadata.error)
        })
    }

    /// Starts another cycle of a waiting worker with this prompt.
    pub async fn trigger(&self, text: impl Into<String>) -> Result<(), WorkerError> {
        let prompt = text.into();
        let known = self.crew.last_update(&self.id);
        if known.is_some_and(|last| !last.retriggerable && !last.event.is_terminal()) {
            return Err(WorkerError::NotRetriggerable(self.id.clone()));
        }
        if prompt.trim().is_empty() {
            return Err(WorkerError::Blank("trigger"));
        }
        let (claim, last) = self.crew.claim_waiting(&self.id, true)?;
        let mut update = last.with_event(WorkerEvent::WorkerProgressed);
        update.metadata.error = None;
        update.worker_task.clone_from(&prompt);
        update.metadata.task.clone_from(&prompt);
        // Journals of earlier versions have the path of the parent session here.
        let own = self.crew.session.config.store.session_paths(&self.session);
        update.metadata.snapshot_path = own.map(|place| place.events);
        self.run(CycleRun {
            claim,
            session: self.session.clone(),
            new: None,
            update,
            prompt,
            agent: self.agent.clone(),
        })
        .await
    }

    /// Ends the worker with a summary of done and remaining work, which is written before its end. Cancels a
    /// running cycle.
    pub async fn stop(&self, handoff: HandoffArtifact) -> Result<(), WorkerError> {
        let stopped = || CycleEnd::Stopped(Box::new(handoff.clone()));
        self.end(stopped, WorkerStatus::Stopped).await
    }

    /// Ends the worker. Cancels a running cycle, which has stopped when this returns.
    pub async fn cancel(&self) -> Result<(), WorkerError> {
        let cancelled = || CycleEnd::Cancelled("the worker was cancelled");
        self.end(cancelled, WorkerStatus::Cancelled).await
    }

    /// Runs a cycle concurrently; returns when it has started or failed to start. It has its own task, so
    /// that a caller that stops waiting cannot leave a worker half started.
    pub(super) async fn run(&self, run: CycleRun) -> Result<(), WorkerError> {
        let cycle = run.claim.cycle.clone();
        run.spawn().await.unwrap_or(Err(WorkerError::TurnOver))?;
        *lock(&self.seen) = Some(cycle);
        Ok(())
    }

    async fn end(
        &self,
        how: impl Fn() -> CycleEnd,
        wanted: WorkerStatus,
    ) -> Result<(), WorkerError> {
        loop {
            if let Some(cycle) = self.crew.cycle(&self.id) {
                cycle.end(how());
                let report = cycle.wait_until_over().await;
                if report.is_some_and(|report| report.status == wanted) {
                    return Ok(());
                }
                // The cycle ended first: the worker may wait now, or have ended otherwise.
            }
            match self.crew.claim_waiting(&self.id, false) {
                Ok((claim, last)) => return self.end_waiting(claim, last, how()).await,
                // Another caller claimed the worker in between, and may have released it by now.
                Err(WorkerError::Running(_)) if self.is_held() => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn is_held(&self) -> bool {
        let last = self.crew.last_update(&self.id);
        self.crew.cycle(&self.id).is_some() || last.is_none_or(|last| !last.event.is_running())
    }

    /// Ends a waiting worker. Runs in its own task, so that the claim stays until the events are written.
    async fn end_waiting(
        &self,
        claim: WorkerClaim,
        last: WorkerUpdate,
        how: CycleEnd,
    ) -> Result<(), WorkerError> {
        let written = tokio::spawn(async move {
            let (events, report) = cycle::end_events(&claim.crew, &last, how);
            let written = claim.crew.write(events).await;
            match written {
                Ok(()) => claim.finish(report),
                Err(_) => drop(claim),
            }
            written
        });
        match written.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(WorkerError::TurnOver),
        }
    }
}
