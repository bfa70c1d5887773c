//! Sessions of workers: created for one, opened again for the next cycle, closed with the session they
//! work for.

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
        let new = within(child_of.parent.shared.roots(), new).await?;
        let mut meta = self.fresh_meta(id, new, Some(child_of.parent.id().clone()));
        meta.worker = Some(child_of.worker_id.clone());
        let role = self.role_of(child_of, agent);
        Ok(self.create_as(meta, role, create_empty).await?)
    }

    /// Opens the session of a worker for another cycle. Somebody who merely looks at it loses it; a turn
    /// that somebody runs there is left alone.
    pub(crate) async fn open_child(
        &self,
        id: &SessionId,
        child_of: ParentLink,
        agent: Option<Arc<dyn Agent>>,
    ) -> Result<Controller, WorkerError> {
        // An agent may have said anything of a worker, also which session is its own.
        let unknown = || WorkerError::Unknown(child_of.worker_id.clone());
        if let Some(open) = self.live(id) {
            if !child_of.owns(open.meta()) {
                return Err(unknown());
            }
            if open.cancel_target().is_some() {
                return Err(WorkerError::SessionInUse(id.clone()));
            }
            open.close(false).await;
        }
        let child = self
            .open_as(id, None, self.role_of(child_of.clone(), agent), None)
            .await?;
        // Opened by somebody else in between, it knows nothing of its worker.
        if child.shared.lineage.is_none() {
            return Err(WorkerError::SessionInUse(id.clone()));
        }
        if !child_of.owns(child.meta()) {
            child.close(false).await;
            return Err(unknown());
        }
        Ok(child)
    }

    /// Closes the sessions of a session's workers, and of theirs.
    pub(super) async fn close_workers(&self, id: &SessionId) {
        close_all(self.workers_below(id).into_iter()).await;
    }

    /// The sessions of a session's workers that are at work; not those that somebody merely looks at.
    pub(crate) fn workers_of(&self, id: &SessionId) -> Vec<Controller> {
        let mut open = self.inner.open_sessions();
        open.retain(|session| {
            let child_of = session.shared.lineage.as_ref();
            child_of.is_some_and(|it| it.parent.id() == id)
        });
        open
    }

    /// The sessions of a session's workers that are open, and of theirs.
    pub(crate) fn workers_below(&self, id: &SessionId) -> Vec<Controller> {
        let live = lock(&self.inner.live);
        let open = live.iter().flat_map(|live| live.values());
        let mut workers: Vec<_> = open.filter_map(|cell| cell.get().cloned()).collect();
        drop(live);
        workers.retain(|session| session.meta().worker.is_some() && self.sees(session.meta()));
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

    fn role_of(&self, child_of: ParentLink, agent: Option<Arc<dyn Agent>>) -> SessionAgent {
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

/// Refuses a directory that leads out of those of the session above: a worker may reach no further. Asked
/// of the disk, so not here, where nothing may wait.
async fn within(above: Arc<SessionRoots>, new: NewSession) -> Result<NewSession, WorkerError> {
    let checked = tokio::task::spawn_blocking(move || {
        check_cwd(&new.cwd)?;
        let real = new.cwd.canonicalize().map_err(|_| SessionError::BadCwd)?;
        let mut roots = above
            .dirs()
            .iter()
            .filter_map(|root| root.canonicalize().ok());
        match roots.any(|root| real.starts_with(root)) {
            // By its real name: a link could lead elsewhere later.
            true => Ok(NewSession { cwd: real, ..new }),
            false => Err(WorkerError::Outside(new.cwd)),
        }
    });
    // The look itself failed: nothing is known of the directory.
    checked.await.unwrap_or(Err(SessionError::BadCwd.into()))
}
