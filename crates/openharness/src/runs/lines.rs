//! The sessions that had runs of late, so that the next one begins without a look at the disk. Those that had
//! none for longest are let go of, and closed where nobody else is on them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use harn_model::SessionId;
use harn_runtime::{Controller, Hub, JournalError, NewSession, SessionError};

use super::line::Line;
use crate::error::Fault;

/// The sessions that had runs of late.
#[derive(Default)]
pub(super) struct Lines {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    lines: HashMap<SessionId, (Arc<Line>, u64)>,
    /// Counts the uses.
    uses: u64,
}

/// As many are kept, unless more than that are at work.
const MOST: usize = 1024;
/// As many are let go of at a time, so that looking for the oldest is rare.
const AT_A_TIME: usize = 64;

impl Lines {
    /// The session of this name, created if there is none.
    pub(super) async fn open_or_create(
        &self,
        hub: &Hub,
        id: &SessionId,
        new: NewSession,
    ) -> Result<Arc<Line>, Fault> {
        match self.find(hub, id) {
            Some(line) => Ok(line),
            None => {
                let session = hub.open_or_create(id, new).await;
                session
                    .map(|session| self.keep(hub, session))
                    .map_err(|error| unopened(&error))
            }
        }
    }

    /// The session of this name, if there is one and it is the principal's own.
    pub(super) async fn open(&self, hub: &Hub, id: &SessionId) -> Result<Option<Arc<Line>>, Fault> {
        if let Some(line) = self.find(hub, id) {
            return Ok(Some(line));
        }
        match hub.open(id, None).await {
            Ok(session) => Ok(Some(self.keep(hub, session))),
            Err(SessionError::NotFound(_) | SessionError::Journal(JournalError::InvalidId)) => {
                Ok(None)
            }
            Err(error) => Err(unopened(&error)),
        }
    }

    /// A session that nothing else belongs to.
    pub(super) async fn create(&self, hub: &Hub, new: NewSession) -> Result<Arc<Line>, Fault> {
        let session = hub.create(new).await;
        session
            .map(|session| self.keep(hub, session))
            .map_err(|error| unopened(&error))
    }

    /// The line, if its session is still open. One of another principal is not found.
    fn find(&self, hub: &Hub, id: &SessionId) -> Option<Arc<Line>> {
        let open = hub.live(id)?;
        let mut kept = self.kept();
        kept.uses += 1;
        let uses = kept.uses;
        let (line, used) = kept.lines.get_mut(id)?;
        *used = uses;
        line.session().is_same(&open).then(|| line.clone())
    }

    fn keep(&self, hub: &Hub, session: Controller) -> Arc<Line> {
        let id = session.id().clone();
        let mut kept = self.kept();
        kept.uses += 1;
        let uses = kept.uses;
        // Somebody else may have been faster.
        let same = |(line, _): &&mut (Arc<Line>, u64)| line.session().is_same(&session);
        let line = match kept.lines.get_mut(&id).filter(same) {
            Some((line, used)) => {
                *used = uses;
                line.clone()
            }
            None => {
                let line = Arc::new(Line::new(session));
                kept.lines.insert(id, (line.clone(), uses));
                line
            }
        };
        let oldest = kept.crowded_out();
        drop(kept);
        if !oldest.is_empty() {
            tokio::spawn(close(hub.clone(), oldest));
        }
        line
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Takes out those that were not used for longest, where there are too many.
    fn crowded_out(&mut self) -> Vec<Arc<Line>> {
        if self.lines.len() <= MOST {
            return Vec::new();
        }
        // Whoever is at work with a line has it.
        let idle = self.lines.iter();
        let idle = idle.filter(|(_, (line, _))| Arc::strong_count(line) == 1);
        let mut idle: Vec<_> = idle.map(|(id, (_, used))| (*used, id.clone())).collect();
        idle.sort_unstable();
        let oldest = idle.into_iter().take(AT_A_TIME);
        let out = oldest.filter_map(|(_, id)| self.lines.remove(&id));
        out.map(|(line, _)| line).collect()
    }
}

/// Closes sessions that nobody is on: each holds a file.
async fn close(hub: Hub, lines: Vec<Arc<Line>>) {
    for line in lines {
        let state = line.session().live_state();
        let used = state.active_prompt || state.controller.is_some() || state.clients > 0;
        if !used {
            hub.close(line.session().id()).await;
        }
    }
}

fn unopened(error: &SessionError) -> Fault {
    match error {
        SessionError::Journal(JournalError::Locked(_)) => Fault::InUse,
        SessionError::ShuttingDown => Fault::Ending,
        SessionError::NotFound(_)
        | SessionError::WrongCwd { .. }
        | SessionError::BadCwd
        | SessionError::BadCursor
        | SessionError::Journal(_) => {
            tracing::warn!(%error, "a session could not be opened");
            Fault::Unavailable
        }
    }
}
