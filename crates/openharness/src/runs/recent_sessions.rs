//! The sessions with recent runs, so that the next run starts without reading the disk. The least recently
//! used ones are dropped, and closed if no other client uses them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use harn_model::{Principal, SessionId};
use harn_runtime::{Controller, Hub, JournalError, NewSession, SessionError};
use tokio::sync::watch;

use super::session_runs::SessionRuns;
use crate::error::OpenHarnessError;

/// The sessions with recent runs.
pub(super) struct RecentSessions {
    /// The most sessions to keep; more are kept while they are in use.
    most: usize,
    kept: Arc<Mutex<RecentSessionTable>>,
}

#[derive(Default)]
struct RecentSessionTable {
    lines: HashMap<SessionId, (Arc<SessionRuns>, u64)>,
    uses: u64,
    /// The sessions that are being closed. A request for one waits, so that no run starts in it meanwhile.
    closing: HashMap<SessionId, watch::Receiver<()>>,
}

/// One in this many sessions is dropped at a time, so that the search for the oldest is rare.
const AT_A_TIME: usize = 16;

impl RecentSessions {
    pub(super) fn with_limit(most: usize) -> Self {
        Self {
            most,
            kept: Arc::default(),
        }
    }

    /// Opens the session with this id, or creates it.
    pub(super) async fn open_or_create(
        &self,
        hub: &Hub,
        id: &SessionId,
        new: NewSession,
    ) -> Result<Arc<SessionRuns>, OpenHarnessError> {
        if let Some(line) = self.find(hub, id) {
            return Ok(line);
        }
        self.wait_until_closed(id).await;
        let session = hub.open_or_create(id, new).await;
        session
            .map(|session| self.keep(hub, session))
            .map_err(|error| map_open_error(&error))
    }

    /// Opens the session with this id, if it exists and belongs to the principal.
    pub(super) async fn open(
        &self,
        hub: &Hub,
        id: &SessionId,
    ) -> Result<Option<Arc<SessionRuns>>, OpenHarnessError> {
        if let Some(line) = self.find(hub, id) {
            return Ok(Some(line));
        }
        self.wait_until_closed(id).await;
        match hub.open(id, None).await {
            Ok(session) => Ok(Some(self.keep(hub, session))),
            Err(SessionError::NotFound(_) | SessionError::Journal(JournalError::InvalidId)) => {
                Ok(None)
            }
            Err(error) => Err(map_open_error(&error)),
        }
    }

    /// Creates a session for a single request.
    pub(super) async fn create(
        &self,
        hub: &Hub,
        new: NewSession,
    ) -> Result<Arc<SessionRuns>, OpenHarnessError> {
        let session = hub.create(new).await;
        session
            .map(|session| self.keep(hub, session))
            .map_err(|error| map_open_error(&error))
    }

    /// Returns the kept session if it is still open. A session of another principal is not found.
    fn find(&self, hub: &Hub, id: &SessionId) -> Option<Arc<SessionRuns>> {
        let open = hub.live_session(id)?;
        let mut kept = self.lock_table();
        kept.uses += 1;
        let uses = kept.uses;
        let (line, used) = kept.lines.get_mut(id)?;
        *used = uses;
        line.session().is_same(&open).then(|| line.clone())
    }

    /// Waits until a session is closed, if it is being closed.
    async fn wait_until_closed(&self, id: &SessionId) {
        let closing = self.lock_table().closing.get(id).cloned();
        if let Some(mut closing) = closing {
            // Nothing is ever sent; the sender is dropped.
            let _ = closing.changed().await;
        }
    }

    fn keep(&self, hub: &Hub, session: Controller) -> Arc<SessionRuns> {
        let id = session.id().clone();
        let mut kept = self.lock_table();
        kept.uses += 1;
        let uses = kept.uses;
        // Another request may have been faster.
        let same = |(line, _): &&mut (Arc<SessionRuns>, u64)| line.session().is_same(&session);
        let line = match kept.lines.get_mut(&id).filter(same) {
            Some((line, used)) => {
                *used = uses;
                line.clone()
            }
            None => {
                let line = Arc::new(SessionRuns::new(session));
                kept.lines.insert(id, (line.clone(), uses));
                line
            }
        };
        let oldest = kept.remove_oldest(self.most);
        drop(kept);
        for line in oldest {
            tokio::spawn(close(hub.clone(), line, self.kept.clone()));
        }
        line
    }

    fn lock_table(&self) -> MutexGuard<'_, RecentSessionTable> {
        lock(&self.kept)
    }
}

fn lock(kept: &Mutex<RecentSessionTable>) -> MutexGuard<'_, RecentSessionTable> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A session to close, and the sender to drop when it is closed.
type ClosingSession = (Controller, watch::Sender<()>);

impl RecentSessionTable {
    /// Removes the least recently used sessions if there are too many.
    fn remove_oldest(&mut self, most: usize) -> Vec<ClosingSession> {
        if self.lines.len() <= most {
            return Vec::new();
        }
        // Every user of a session has a reference to it.
        let idle = self.lines.iter();
        let idle = idle.filter(|(_, (line, _))| Arc::strong_count(line) == 1);
        let mut idle: Vec<_> = idle.map(|(id, (_, used))| (*used, id.clone())).collect();
        idle.sort_unstable();
        let oldest = idle.into_iter().take(most.div_ceil(AT_A_TIME));
        let leave = |(_, id): (u64, SessionId)| {
            let (line, _) = self.lines.remove(&id)?;
            let (left, closing) = watch::channel(());
            self.closing.insert(id, closing);
            Some((line.session().clone(), left))
        };
        oldest.filter_map(leave).collect()
    }
}

/// Closes a session that no client uses, because each open session has an open file.
async fn close(hub: Hub, (session, left): ClosingSession, kept: Arc<Mutex<RecentSessionTable>>) {
    let state = session.live_state();
    let used = state.active_prompt || state.controller.is_some() || state.clients > 0;
    if !used {
        let owner = session.meta().principal.clone();
        let owner = owner.map_or_else(Principal::owner, Principal::new);
        hub.for_principal(owner).close(session.id()).await;
    }
    lock(&kept).closing.remove(session.id());
    drop(left);
}

fn map_open_error(error: &SessionError) -> OpenHarnessError {
    match error {
        SessionError::Journal(JournalError::Locked(_)) => OpenHarnessError::InUse,
        SessionError::ShuttingDown => OpenHarnessError::Ending,
        SessionError::NotFound(_)
        | SessionError::WrongCwd { .. }
        | SessionError::BadCwd
        | SessionError::BadCursor
        | SessionError::Journal(_) => {
            tracing::warn!(%error, "a session could not be opened");
            OpenHarnessError::Unavailable
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use harn_runtime::{NoHost, SeatClaim};
    use harn_testkit::{ScriptedAgent, TestHub};

    use super::*;

    #[tokio::test]
    async fn least_recently_used_sessions_of_any_principal_are_closed() {
        let test = TestHub::new(ScriptedAgent::silent());
        let lines = RecentSessions::with_limit(3);
        let open = async |owner: &str, id: &str| {
            let hub = test.hub().for_principal(Principal::new(owner.to_owned()));
            let new = NewSession {
                cwd: test.workspace(),
                additional_directories: Vec::new(),
            };
            lines.open_or_create(&hub, &id.into(), new).await.unwrap()
        };
        let is_open = |owner: &str, id: &str| {
            let hub = test.hub().for_principal(Principal::new(owner.to_owned()));
            hub.live_session(&id.into()).is_some()
        };
        open("ada", "a").await;
        let used = open("ada", "b").await;
        let watched = open("ada", "c").await.session().clone();
        let _editor = watched.take_seat("editor", Arc::new(NoHost), SeatClaim::IfFree);
        open("bob", "d").await;
        let closed = async {
            while is_open("ada", "a") {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), closed)
            .await
            .unwrap();
        open("bob", "e").await;
        open("bob", "f").await;
        // A session in use stays open, and so does one that another client uses.
        assert!(is_open("ada", "b") && is_open("ada", "c"));
        assert!(Arc::ptr_eq(&used, &open("ada", "b").await));
        // It can be opened again.
        open("ada", "a").await;
        assert!(is_open("ada", "a"));
    }

    #[tokio::test]
    async fn session_of_another_principal_is_not_found() {
        let test = TestHub::new(ScriptedAgent::silent());
        let (ada, eve) = (Principal::new("ada"), Principal::new("eve"));
        let (ada, eve) = (test.hub().for_principal(ada), test.hub().for_principal(eve));
        let lines = RecentSessions::with_limit(3);
        let new = NewSession {
            cwd: test.workspace(),
            additional_directories: Vec::new(),
        };
        let line = lines.create(&ada, new).await.unwrap();
        let id = line.session().id();
        assert!(lines.open(&eve, id).await.unwrap().is_none());
        assert!(lines.open(&ada, id).await.unwrap().is_some());
        assert!(lines.open(&ada, &"../..".into()).await.unwrap().is_none());
    }
}
