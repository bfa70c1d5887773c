//! The session that a client gets: the one it names, a new one, or its last one.
//!
//! A client of the draft knows no session ids: it connects, and expects its conversation on every connect. So a
//! principal that names no session returns to the last session that it got that way in the same directory.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use harn_model::{Principal, SessionId};
use harn_runtime::{Controller, Hub, JournalError, NewSession, SessionError};

/// Remembers across restarts which session a principal last got without naming it, in each directory. Both methods
/// may use the disk, and are called outside of the async threads.
pub trait SessionMemory: Send + Sync + 'static {
    /// Returns the session that was remembered last.
    fn last_session(&self, principal: &Principal, directory: &Path) -> Option<SessionId>;

    /// Remembers a session. A failure is logged, and the next process creates a new session.
    fn remember(&self, principal: &Principal, directory: &Path, session: &SessionId);
}

/// A memory that remembers nothing across restarts.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSessionMemory;

impl SessionMemory for NoSessionMemory {
    fn last_session(&self, _: &Principal, _: &Path) -> Option<SessionId> {
        None
    }

    fn remember(&self, _: &Principal, _: &Path, _: &SessionId) {}
}

/// The session that a request chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum SessionChoice {
    /// No choice: the last session that its principal got this way.
    #[default]
    Last,
    /// `session=new`.
    New,
    /// `session=ID`.
    Named(SessionId),
}

impl SessionChoice {
    /// Parses the `session` value of a request.
    pub(crate) fn parse(text: &str) -> Self {
        match text {
            "new" => Self::New,
            id => Self::Named(id.into()),
        }
    }
}

/// The number of entries above which unused ones are dropped.
const MOST_KNOWN: usize = 1024;

type LastSessionKey = (Principal, PathBuf);
/// Locked by the request that finds or creates the session, so that concurrent requests get the same one.
type LastSessionSlot = Arc<tokio::sync::Mutex<Option<SessionId>>>;

/// The sessions of clients that name none. A session that this process assigned takes precedence over the memory,
/// which another process with sessions of its own may have written.
pub(crate) struct LastSessions {
    memory: Arc<dyn SessionMemory>,
    known: Mutex<HashMap<LastSessionKey, LastSessionSlot>>,
}

impl LastSessions {
    pub(crate) fn new(memory: Arc<dyn SessionMemory>) -> Self {
        Self {
            memory,
            known: Mutex::default(),
        }
    }

    /// Opens the chosen session. `cwd` is the working directory of a new one.
    pub(crate) async fn open(
        &self,
        hub: &Hub,
        choice: &SessionChoice,
        cwd: PathBuf,
    ) -> Result<Controller, SessionError> {
        match choice {
            SessionChoice::Named(id) => hub.open(id, None).await,
            SessionChoice::New => create(hub, cwd).await,
            SessionChoice::Last => self.open_last(hub, cwd).await,
        }
    }

    async fn open_last(&self, hub: &Hub, cwd: PathBuf) -> Result<Controller, SessionError> {
        let principal = hub.principal();
        let place = self.slot((principal.clone(), cwd.clone()));
        let mut known = place.lock().await;
        let last = match known.clone() {
            Some(id) => Some(id),
            None => {
                let (principal, cwd) = (principal.clone(), cwd.clone());
                self.query_memory(move |memory| memory.last_session(&principal, &cwd))
                    .await
                    .flatten()
            }
        };
        if let Some(id) = last {
            match hub.open(&id, Some(&cwd)).await {
                // A worker's session belongs to its parent session, whatever the memory returns, and an archived
                // session is put away.
                Ok(session) if session.meta().worker.is_none() && !session.meta().archived => {
                    *known = Some(id);
                    return Ok(session);
                }
                Ok(_) => {}
                Err(error) if is_out_of_reach(&error) => {
                    tracing::debug!(session = %id, %error, "could not reopen the last session");
                }
                Err(error) => return Err(error),
            }
        }
        let session = create(hub, cwd.clone()).await?;
        let (principal, id) = (principal.clone(), session.id().clone());
        *known = Some(id.clone());
        self.query_memory(move |memory| memory.remember(&principal, &cwd, &id))
            .await;
        Ok(session)
    }

    async fn query_memory<R: Send + 'static>(
        &self,
        question: impl FnOnce(&dyn SessionMemory) -> R + Send + 'static,
    ) -> Option<R> {
        let memory = self.memory.clone();
        // A memory that panics returns nothing.
        tokio::task::spawn_blocking(move || question(&*memory))
            .await
            .ok()
    }

    fn slot(&self, key: LastSessionKey) -> LastSessionSlot {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_KNOWN && !known.contains_key(&key) {
            // Drops entries that no request uses; the memory still has them.
            known.retain(|_, place| Arc::strong_count(place) > 1);
        }
        known.entry(key).or_default().clone()
    }
}

async fn create(hub: &Hub, cwd: PathBuf) -> Result<Controller, SessionError> {
    let new = NewSession {
        cwd,
        additional_directories: Vec::new(),
    };
    hub.create(new).await
}

/// Whether a session cannot be opened, now or ever, while others can.
fn is_out_of_reach(error: &SessionError) -> bool {
    match error {
        SessionError::NotFound(_) | SessionError::WrongCwd { .. } => true,
        SessionError::Journal(error) => match error {
            JournalError::NotFound(_)
            | JournalError::InvalidId
            | JournalError::Locked(_)
            | JournalError::Corrupt { .. } => true,
            JournalError::Exists(_) | JournalError::Io { .. } => false,
        },
        SessionError::BadCwd | SessionError::BadCursor | SessionError::ShuttingDown => false,
    }
}
