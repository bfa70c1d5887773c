//! A full disk: waiting requests receive an error, and no run starts twice afterwards.

use std::{
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use harn_journal::{
    JournalError, JsonlStore, LogReader, LogSyncer, MetaChange, OpenedLog, SessionLog, SessionMeta,
    Store, StoreListing,
};
use harn_model::{Envelope, SessionId};
use harn_testkit::openharness::{OpenHarnessShell, intent_request};
use tokio::time::timeout;

use crate::support::{Agent, PATIENCE};

struct Disk {
    inner: JsonlStore,
    full: Arc<AtomicBool>,
}

struct DiskLog {
    inner: Box<dyn SessionLog>,
    full: Arc<AtomicBool>,
}

impl Store for Disk {
    fn create(&self, meta: SessionMeta) -> Result<Box<dyn SessionLog>, JournalError> {
        let (inner, full) = (self.inner.create(meta)?, self.full.clone());
        Ok(Box::new(DiskLog { inner, full }))
    }

    fn open(&self, id: &SessionId) -> Result<OpenedLog, JournalError> {
        self.inner.open(id)
    }

    fn read(&self, id: &SessionId) -> Result<(SessionMeta, Vec<Envelope>), JournalError> {
        self.inner.read(id)
    }

    fn meta(&self, id: &SessionId) -> Result<SessionMeta, JournalError> {
        self.inner.meta(id)
    }

    fn list(&self) -> Result<StoreListing, JournalError> {
        self.inner.list()
    }

    fn delete(&self, id: &SessionId) -> Result<(), JournalError> {
        self.inner.delete(id)
    }
}

impl SessionLog for DiskLog {
    fn append(&mut self, events: &[Envelope]) -> Result<(), JournalError> {
        match self.full.load(Ordering::SeqCst) {
            false => self.inner.append(events),
            true => Err(JournalError::Io {
                path: PathBuf::from("events.jsonl"),
                source: io::ErrorKind::StorageFull.into(),
            }),
        }
    }

    fn syncer(&self) -> LogSyncer {
        self.inner.syncer()
    }

    fn reader(&self) -> Arc<dyn LogReader> {
        self.inner.reader()
    }

    fn amend(&mut self, change: MetaChange) -> Result<(), JournalError> {
        self.inner.amend(change)
    }
}

#[tokio::test]
async fn full_disk_is_reported_and_the_run_does_not_start_again() {
    let agent = Agent::new();
    let builder = agent.builder();
    let (state, full) = (
        builder.folder().join("state"),
        Arc::new(AtomicBool::new(false)),
    );
    let flag = full.clone();
    let hub = builder.config(move |config| {
        config.store = Arc::new(Disk {
            inner: JsonlStore::new(&state),
            full: flag.clone(),
        });
    });
    let hub = hub.build();
    let shell = OpenHarnessShell::new(&hub);
    let message = intent_request("req_1", "wait");
    let fill = async {
        agent.wait_for_turn().await;
        full.store(true, Ordering::SeqCst);
        agent.release_turn();
    };
    let both = async { tokio::join!(shell.post(&message), fill).0 };
    let lost = timeout(PATIENCE, both).await.unwrap();
    assert_eq!(lost.code(), "engine_unavailable");
    assert_eq!(lost.response()["error"]["retryable"], true);
    full.store(false, Ordering::SeqCst);
    let again = shell.post(&message).await;
    assert_eq!(again.state(), "interrupted");
    assert_eq!(again.text(), "Working.");
    assert_eq!(agent.turns(), 1);
    // The session continues.
    let next = shell.post(&intent_request("req_2", "hello")).await;
    assert_eq!(next.text(), "You said hello.");
}
