//! A temporary state folder for each test, and helpers to fill it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use harn_journal::{JsonlStore, META_VERSION, SessionLog, SessionMeta, Store};
use harn_model::{AgentEvent, Envelope, Seq, SessionView};
use tempfile::TempDir;

/// The id of the session that most tests use.
pub(crate) const ID: &str = "s1";

pub(crate) struct Workspace {
    pub(crate) state: TempDir,
    pub(crate) store: JsonlStore,
}

impl Workspace {
    pub(crate) fn new() -> Self {
        let state = tempfile::tempdir().unwrap();
        let store = JsonlStore::new(state.path());
        Self { state, store }
    }

    /// Creates the closed session [`ID`] with these events.
    pub(crate) fn with_events(events: &[Envelope]) -> Self {
        let workspace = Self::new();
        workspace.create().append(events).unwrap();
        workspace
    }

    /// Creates the closed session [`ID`] with this text as its log.
    pub(crate) fn with_text(text: &[u8]) -> Self {
        let workspace = Self::with_events(&[]);
        fs::write(workspace.events(), text).unwrap();
        workspace
    }

    pub(crate) fn create(&self) -> Box<dyn SessionLog> {
        self.store.create(meta(ID)).unwrap()
    }

    pub(crate) fn folder(&self) -> PathBuf {
        folder(self.state.path(), ID)
    }

    pub(crate) fn events(&self) -> PathBuf {
        self.folder().join("events.jsonl")
    }

    pub(crate) fn text(&self) -> Vec<u8> {
        fs::read(self.events()).unwrap()
    }
}

pub(crate) fn folder(state: &Path, id: &str) -> PathBuf {
    state.join("threads").join(id)
}

pub(crate) fn meta(id: &str) -> SessionMeta {
    SessionMeta {
        v: META_VERSION,
        thread_id: id.into(),
        title: String::new(),
        directory: "/home/ada/engine".into(),
        additional_directories: Vec::new(),
        created: 1_700_000_000_000,
        parent: None,
        worker: None,
        principal: None,
        failed: false,
        archived: false,
    }
}

/// Wraps events in envelopes of one turn, numbered from `from`.
pub(crate) fn envelopes(from: u64, events: impl IntoIterator<Item = AgentEvent>) -> Vec<Envelope> {
    (from..)
        .zip(events)
        .map(|(seq, event)| Envelope {
            seq: Seq(seq),
            at: 1_700_000_000_000 + seq,
            turn: Some("turn-1".into()),
            event,
        })
        .collect()
}

/// Returns the events `from` to `to`, both included: `word 7 `.
pub(crate) fn word_events(from: u64, to: u64) -> Vec<Envelope> {
    envelopes(
        from,
        (from..=to).map(|n| AgentEvent::message(format!("word {n} "))),
    )
}

pub(crate) fn fold(events: &[Envelope]) -> SessionView {
    let mut view = SessionView::default();
    for event in events {
        view.apply(event);
    }
    view
}
