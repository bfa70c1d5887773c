//! Sessions of workers: created with the worker, reopened for its next cycle, closed with the parent session.

use std::sync::Arc;

use harn_model::SessionId;
use harn_policy::SessionRoots;

use super::{Hub, NewSession, SessionAgent, check_cwd, close_all, create_empty};
use crate::{Agent, Controller, SessionError, WorkerError, session::lock, worker::ParentLink};

impl Hub {
    /// Creates the session of a new worker.
    pub(crate) async fn create_child(
        &self,
        id: SessionId,
        new: NewSession,
        child_of: ParentLink,
        agent: Option<Arc<dyn Agent>>,
    ) -> Result<Controller, WorkerError> {
        let new = check_within_parent(child_of.parent.shared.roots(), new).await?;
        let mut meta = self.fresh_meta(id, new, Some(child_of.parent.id().clone()));
        meta.worker = Some(child_of.worker_id.clone());
        let role = self.worker_role(child_of, agent);
        Ok(self.create_as(meta, role, create_empty).await?)
    }

    /// Opens the session of a worker for another cycle. Closes it first if a client only views it; leaves it
    /// alone if a client runs a turn there.
    pub(crate) async fn open_child(
        &self,
        id: &SessionId,
        child_of: ParentLink,
        agent: Option<Arc<dyn Agent>>,
    ) -> Result<Controller, WorkerError> {
        // An agent may report anything about a worker, including a wrong session id.
        let unknown = || WorkerError::Unknown(child_of.worker_id.clone());
        if let Some(open) = self.live_session(id) {
            if !child_of.owns(open.meta()) {
                return Err(unknown());
            }
            if open.cancel_target().is_some() {
                return Err(WorkerError::SessionInUse(id.clone()));
            }
            open.close(false).await;
        }
        let child = self
            .open_as(id, None, self.worker_role(child_of.clone(), agent), None)
            .await?;
        // If another client opened it in between, it has no link to its worker.
        if child.shared.lineage.is_none() {
            return Err(WorkerError::SessionInUse(id.clone()));
        }
        if !child_of.owns(child.meta()) {
            child.close(false).await;
            return Err(unknown());
        }
        Ok(child)
    }

    /// Closes the sessions of a session's workers, at every depth.
    pub(super) async fn close_workers(&self, id: &SessionId) {
        close_all(self.workers_below(id).into_iter()).await;
    }

    /// Returns the sessions of a session's running workers, without those that a client only views.
    pub(crate) fn running_workers(&self, id: &SessionId) -> Vec<Controller> {
        let mut open = self.inner.open_sessions();
        open.retain(|session| {
            let child_of = session.shared.lineage.as_ref();
            child_of.is_some_and(|it| it.parent.id() == id)
        });
        open
    }

    /// Returns the open sessions of a session's workers, at every depth.
    pub(crate) fn workers_below(&self, id: &SessionId) -> Vec<Controller> {
        let live = lock(&self.inner.live);
        let open = live.iter().flat_map(|live| live.values());
        let mut workers: Vec<_> = open.filter_map(|cell| cell.get().cloned()).collect();
        drop(live);
        workers
            .retain(|session| session.meta().worker.is_some() && self.owns_session(session.meta()));
        let mut parents = vec![id.clone()];
        let mut below = Vec::new();
        while let Some(parent) = parents.pop() {
            let below_parent = |worker: &mut Controller| {
                worker.meta().parent.as_ref() == Some(&parent) || worker.shared.is_below(&parent)
            };
            for session in workers.extract_if(.., below_parent) {
                parents.push(session.id().clone());
                below.push(session);
            }
        }
        below
    }

    fn worker_role(&self, child_of: ParentLink, agent: Option<Arc<dyn Agent>>) -> SessionAgent {
        let own = self.own_role();
        let (agent, profile) = match agent {
            Some(agent) => (agent.clone(), Arc::new(agent.profile())),
            None => (own.agent, own.profile),
        };
        SessionAgent {
            agent,
            profile,
            lineage: Some(child_of),
        }
    }
}

/// Refuses a directory outside those of the parent session: a worker has no wider reach. Reads the disk, so
/// it runs on a blocking thread.
async fn check_within_parent(
    above: Arc<SessionRoots>,
    new: NewSession,
) -> Result<NewSession, WorkerError> {
    let checked = tokio::task::spawn_blocking(move || {
        check_cwd(&new.cwd)?;
        let real = new.cwd.canonicalize().map_err(|_| SessionError::BadCwd)?;
        let mut roots = above
            .dirs()
            .iter()
            .filter_map(|root| root.canonicalize().ok());
        match roots.any(|root| real.starts_with(root)) {
            // The canonical path: a link could point elsewhere later.
            true => Ok(NewSession { cwd: real, ..new }),
            false => Err(WorkerError::Outside(new.cwd)),
        }
    });
    // The check itself failed, so the directory is unknown.
    checked.await.unwrap_or(Err(SessionError::BadCwd.into()))
}
