//! A hub for the targets that need one: an agent that repeats its prompt and asks before it writes, and a
//! journal in memory.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use harn_journal::{
    JournalError, LogReader, LogSyncer, MetaChange, OpenedLog, ReadCursor, SessionLog, SessionMeta,
    Store, StoreListing,
};
use harn_model::{Envelope, SessionId, StopReason, Timestamp, ToolKind};
use harn_runtime::{
    Agent, AgentError, Clock, Hub, HubConfig, IdKind, IdSource, NoDisk, NoHost, TurnContext,
    async_trait,
};

/// Creates a new, empty hub.
#[must_use]
pub fn hub() -> Hub {
    Hub::new(HubConfig::new(
        Arc::new(Parrot),
        Arc::new(Memory),
        Arc::new(Still),
        Arc::new(Counted::default()),
        Arc::new(NoHost),
        Arc::new(NoDisk),
    ))
}

/// Returns the working directory of its sessions.
#[must_use]
pub fn directory() -> PathBuf {
    std::env::temp_dir()
}

struct Parrot;

#[async_trait]
impl Agent for Parrot {
    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        let words = cx.prompt_text();
        if words.starts_with('w') {
            let write = cx.tool("write").kind(ToolKind::Edit).path(&words);
            write.ask().await?.complete(()).await?;
        }
        cx.say(words).await?;
        Ok(StopReason::EndTurn)
    }
}

/// A clock that never advances.
struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        1_767_225_600_000
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

/// An id source that counts, so that an input can guess ids.
#[derive(Default)]
struct Counted(AtomicU64);

impl IdSource for Counted {
    fn mint(&self, kind: IdKind) -> String {
        let number = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        match kind {
            IdKind::Session => format!("s{number}"),
            IdKind::Ask => format!("a{number}"),
            _ => format!("i{number}"),
        }
    }
}

/// Stores the events of a session for as long as its log is open, for a client that returns to it. A closed
/// session is gone.
struct Memory;

impl Store for Memory {
    fn create(&self, _: SessionMeta) -> Result<Box<dyn SessionLog>, JournalError> {
        Ok(Box::new(MemoryLog::default()))
    }

    fn open(&self, id: &SessionId) -> Result<OpenedLog, JournalError> {
        Err(JournalError::NotFound(id.clone()))
    }

    fn read(&self, id: &SessionId) -> Result<(SessionMeta, Vec<Envelope>), JournalError> {
        Err(JournalError::NotFound(id.clone()))
    }

    fn list(&self) -> Result<StoreListing, JournalError> {
        Ok(StoreListing::default())
    }

    fn delete(&self, _: &SessionId) -> Result<(), JournalError> {
        Ok(())
    }
}

#[derive(Clone, Default)]
struct MemoryLog(Arc<Mutex<Vec<Envelope>>>);

impl MemoryLog {
    fn events(&self) -> MutexGuard<'_, Vec<Envelope>> {
        self.0.lock().expect("whole batches")
    }
}

impl SessionLog for MemoryLog {
    fn append(&mut self, events: &[Envelope]) -> Result<(), JournalError> {
        self.events().extend_from_slice(events);
        Ok(())
    }

    fn syncer(&self) -> LogSyncer {
        Box::new(|| Ok(()))
    }

    fn reader(&self) -> Arc<dyn LogReader> {
        Arc::new(self.clone())
    }

    fn amend(&mut self, _: MetaChange) -> Result<(), JournalError> {
        Ok(())
    }
}

impl LogReader for MemoryLog {
    fn read(&self, cursor: &mut ReadCursor, _: usize) -> Result<Vec<Envelope>, JournalError> {
        let events = self.events();
        let next: Vec<_> = events
            .iter()
            .filter(|it| it.seq > cursor.after)
            .cloned()
            .collect();
        cursor.after = next.last().map_or(cursor.after, |it| it.seq);
        Ok(next)
    }
}
