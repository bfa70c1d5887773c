//! A hub around a scenario: a store in memory, a stopped clock, counted ids.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use harn_engines::ScriptAgent;
use harn_journal::{
    JournalError, JsonlStore, LogReader, LogSyncer, MetaChange, OpenedLog, ReadCursor, SessionLog,
    SessionMeta, Store, StoreListing,
};
use harn_model::{AgentEvent, ContentBlock, Envelope, Seq, SessionId, Timestamp, TurnId};
use harn_runtime::{
    Clock, Controller, Hub, HubConfig, IdKind, IdSource, NewSession, NoHost, Subscription,
};
use tempfile::TempDir;

/// A session that plays a scenario.
pub(crate) struct Rig {
    pub(crate) hub: Hub,
    pub(crate) session: Controller,
    events: Subscription,
}

impl Rig {
    pub(crate) async fn new(scenario: &str) -> Self {
        let agent = match ScriptAgent::parse("test.yaml", scenario) {
            Ok(agent) => agent,
            Err(error) => panic!("{error}"),
        };
        Self::from_agent(agent).await
    }

    pub(crate) async fn from_agent(agent: ScriptAgent) -> Self {
        let store = Arc::new(MemoryStore::default());
        Self::create_session(agent, store, Arc::default()).await
    }

    async fn create_session(
        agent: ScriptAgent,
        store: Arc<dyn Store>,
        ids: Arc<CountedIds>,
    ) -> Self {
        let hub = hub(agent, store, ids);
        let new = NewSession {
            cwd: "/".into(),
            additional_directories: Vec::new(),
        };
        let session = hub.create(new).await.expect("a session in memory");
        let events = session.subscribe(Seq::ZERO);
        Self {
            hub,
            session,
            events,
        }
    }

    pub(crate) async fn prompt(&self, text: &str) -> TurnId {
        let prompt = vec![ContentBlock::text(text)];
        let turn = self.session.prompt(prompt, |_| ()).await;
        turn.expect("a prompt that is taken")
    }

    /// Collects the events up to one that `last` accepts.
    pub(crate) async fn collect_until(
        &mut self,
        last: impl Fn(&AgentEvent) -> bool,
    ) -> Vec<AgentEvent> {
        let mut seen = Vec::new();
        loop {
            let delivery = self.events.next().await.expect("a session that goes on");
            seen.extend(delivery.events().iter().map(|e| e.event.clone()));
            if delivery.events().iter().any(|e| last(&e.event)) {
                return seen;
            }
        }
    }

    /// Returns the rest of the turn, one line per event.
    pub(crate) async fn finish_turn(&mut self) -> String {
        let rest = self
            .collect_until(|e| matches!(e, AgentEvent::TurnEnded(_)))
            .await;
        lines(&rest)
    }

    /// Plays a whole turn and returns it, one line per event.
    pub(crate) async fn play_turn(&mut self, prompt: &str) -> String {
        self.prompt(prompt).await;
        self.finish_turn().await
    }
}

/// A store on disk, so that workers have sessions and a restart finds them.
pub(crate) struct Kept {
    folder: TempDir,
    ids: Arc<CountedIds>,
}

impl Kept {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            ids: Arc::default(),
        }
    }

    /// Creates a session that plays a scenario.
    pub(crate) async fn rig(&self, scenario: &str) -> Rig {
        let (agent, store) = self.parts(scenario);
        Rig::create_session(agent, store, self.ids.clone()).await
    }

    /// Opens the session of a rig again, as another process would.
    pub(crate) async fn restart(&self, rig: Rig, scenario: &str) -> Rig {
        let id = rig.session.id().clone();
        rig.hub.shutdown().await;
        let (agent, store) = self.parts(scenario);
        let hub = hub(agent, store, self.ids.clone());
        let session = hub.open(&id, None).await.expect("a session that was kept");
        let events = session.subscribe_from_now();
        Rig {
            hub,
            session,
            events,
        }
    }

    fn parts(&self, scenario: &str) -> (ScriptAgent, Arc<dyn Store>) {
        let agent = ScriptAgent::parse("test.yaml", scenario);
        let agent = agent.unwrap_or_else(|error| panic!("{error}"));
        (agent, Arc::new(JsonlStore::new(self.folder.path())))
    }
}

fn hub(agent: ScriptAgent, store: Arc<dyn Store>, ids: Arc<CountedIds>) -> Hub {
    Hub::new(HubConfig::new(
        Arc::new(agent),
        store,
        Arc::new(StillClock),
        ids,
        Arc::new(NoHost),
        Arc::new(harn_tools::DiskProbe),
    ))
}

pub(crate) fn lines(events: &[AgentEvent]) -> String {
    let line = |event| serde_json::to_string(event).expect("an event is JSON") + "\n";
    events.iter().map(line).collect()
}

struct StillClock;

impl Clock for StillClock {
    fn now(&self) -> Timestamp {
        1_000
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

#[derive(Default)]
struct CountedIds {
    counts: Mutex<HashMap<IdKind, u32>>,
}

impl IdSource for CountedIds {
    fn mint(&self, kind: IdKind) -> String {
        let mut counts = self.counts.lock().expect("no panic while counting");
        let count = counts.entry(kind).or_default();
        *count += 1;
        let word = match kind {
            IdKind::Session => "session",
            IdKind::Turn => "turn",
            IdKind::Message => "message",
            IdKind::ToolCall => "call",
            IdKind::Ask => "ask",
            IdKind::Worker => "worker",
            IdKind::Handoff => "handoff",
            IdKind::Reminder => "reminder",
            IdKind::Control => "control",
        };
        format!("{word}-{count}")
    }
}

/// A store for the events of one session.
#[derive(Clone, Default)]
struct MemoryStore {
    events: Arc<Mutex<Vec<Envelope>>>,
}

impl Store for MemoryStore {
    fn create(&self, _: SessionMeta) -> Result<Box<dyn SessionLog>, JournalError> {
        Ok(Box::new(self.clone()))
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

    fn delete(&self, id: &SessionId) -> Result<(), JournalError> {
        Err(JournalError::NotFound(id.clone()))
    }
}

impl SessionLog for MemoryStore {
    fn append(&mut self, events: &[Envelope]) -> Result<(), JournalError> {
        self.events
            .lock()
            .expect("whole batches")
            .extend_from_slice(events);
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

impl LogReader for MemoryStore {
    fn read(&self, cursor: &mut ReadCursor, _: usize) -> Result<Vec<Envelope>, JournalError> {
        let events = self.events.lock().expect("whole batches");
        let next = events.iter().filter(|e| e.seq > cursor.after).take(1_000);
        let next: Vec<_> = next.cloned().collect();
        cursor.after = next.last().map_or(cursor.after, |e| e.seq);
        Ok(next)
    }
}
