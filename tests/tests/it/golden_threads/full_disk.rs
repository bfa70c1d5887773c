//! A full disk: a turn that cannot be written ends with an error, and no notification that was sent is lost.

use std::{
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use harn_journal::{
    JournalError, LogReader, LogSyncer, MetaChange, OpenedLog, SessionLog, SessionMeta, Store,
    StoreListing,
};
use harn_model::{Envelope, SessionId, StopReason, ToolKind};
use harn_testkit::{ScriptedAgent, TestHub};
use serde_json::json;

/// A store whose disk can be filled.
struct Filling {
    inner: Arc<dyn Store>,
    full: Arc<AtomicBool>,
}

struct FillingLog {
    inner: Box<dyn SessionLog>,
    full: Arc<AtomicBool>,
}

impl Store for Filling {
    fn create(&self, meta: SessionMeta) -> Result<Box<dyn SessionLog>, JournalError> {
        let inner = self.inner.create(meta)?;
        let full = self.full.clone();
        Ok(Box::new(FillingLog { inner, full }))
    }

    fn open(&self, id: &SessionId) -> Result<OpenedLog, JournalError> {
        let mut opened = self.inner.open(id)?;
        let full = self.full.clone();
        let inner = opened.log;
        opened.log = Box::new(FillingLog { inner, full });
        Ok(opened)
    }

    fn read(&self, id: &SessionId) -> Result<(SessionMeta, Vec<Envelope>), JournalError> {
        self.inner.read(id)
    }

    fn list(&self) -> Result<StoreListing, JournalError> {
        self.inner.list()
    }

    fn delete(&self, id: &SessionId) -> Result<(), JournalError> {
        self.inner.delete(id)
    }
}

impl SessionLog for FillingLog {
    fn append(&mut self, events: &[Envelope]) -> Result<(), JournalError> {
        if self.full.load(Ordering::SeqCst) {
            return Err(JournalError::Io {
                path: PathBuf::from("events.jsonl"),
                source: io::ErrorKind::StorageFull.into(),
            });
        }
        self.inner.append(events)
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
async fn full_disk_fails_the_turn_and_keeps_sent_events() {
    let full = Arc::new(AtomicBool::new(false));
    let flag = full.clone();
    let agent = ScriptedAgent::new(move |cx| {
        let full = flag.clone();
        async move {
            cx.tool("look").kind(ToolKind::Search).start().await?;
            cx.say("before").await?;
            cx.flush().await?;
            full.store(true, Ordering::SeqCst);
            // This text is never sent.
            cx.say("after").await?;
            Ok(StopReason::EndTurn)
        }
    });
    let disk = full.clone();
    let test = TestHub::builder(agent).config(move |config| {
        config.store = Arc::new(Filling {
            inner: config.store.clone(),
            full: disk.clone(),
        });
    });
    let test = test.build();
    let mut client = test.connect_threads();
    let thread = client.create().await;
    client.start_turn(&thread, "Go").await;
    let told = client.read_until_turn_ends().await;
    let [.., message, tool, end] = &told[..] else {
        panic!("{told:?}");
    };
    assert_eq!(message["data"]["text"], "before");
    assert_eq!(tool["type"], "tool_exec");
    assert_eq!(end["status"], "error");
    let why = end["error"].as_str().unwrap();
    assert!(why.starts_with("events.jsonl: "), "{why}");

    // The disk is still full, so the request fails.
    let get = json!({"threadId": thread});
    let error = client.request_error("thread.get", get.clone()).await;
    assert_eq!(error["code"], -32603);
    full.store(false, Ordering::SeqCst);
    let got = client.request("thread.get", get).await;
    let events = got["events"].as_array().unwrap();
    let last = events.last().unwrap();
    assert_eq!(
        (&last["turnId"], &last["status"]),
        (&end["turnId"], &end["status"])
    );
    let said = events.iter().find(|it| it["data"]["text"].is_string());
    assert_eq!(said.unwrap()["data"]["text"], "before");

    // A turn that cannot be written at its start does not begin.
    full.store(true, Ordering::SeqCst);
    let input = json!([{"type": "text", "text": "Go"}]);
    let start = json!({"threadId": thread, "input": input});
    let error = client.request_error("turn.start", start).await;
    assert_eq!(error["code"], -32603);
    client.close().await;
}
