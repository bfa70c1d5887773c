//! A killed process and a full disk: no published event is lost.

use std::{
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use expect_test::expect;
use harn_journal::{
    JournalError, JsonlStore, LogReader, LogSyncer, MetaChange, OpenedLog, SessionLog, SessionMeta,
    Store, StoreListing,
};
use harn_model::{
    AgentEvent, Envelope, PermissionAsked, SessionId, StopReason, ToolCall, ToolCallStatus,
    TurnStarted,
};
use harn_runtime::SessionEnd;

use crate::support::*;

/// Writes the journal of a process that was killed during a turn; returns the session id.
fn write_killed_journal(world: &World) -> SessionId {
    let meta = SessionMeta {
        v: 1,
        thread_id: SessionId::new("killed"),
        title: String::new(),
        directory: world.state().to_owned(),
        additional_directories: Vec::new(),
        created: 1,
        parent: None,
        worker: None,
        principal: None,
        failed: false,
        archived: false,
    };
    let mut log = JsonlStore::new(world.state()).create(meta).unwrap();
    let mut call = ToolCall::new("t1", "run_tests");
    call.status = ToolCallStatus::InProgress;
    let waiting = ToolCall::new("t2", "write_file");
    let ask = PermissionAsked::new("q1".into(), waiting, Vec::new());
    let started = TurnStarted {
        message_id: "m1".into(),
        prompt: vec![harn_model::ContentBlock::text("go")],
        live_session: None,
    };
    let events = [
        AgentEvent::TurnStarted(Box::new(started)),
        AgentEvent::message("working"),
        AgentEvent::ToolCall(Box::new(call)),
        AgentEvent::ToolCall(Box::new(ToolCall::new("t2", "write_file"))),
        AgentEvent::PermissionAsked(Box::new(ask)),
    ];
    let events = events.into_iter().zip(1u64..).map(|(event, seq)| Envelope {
        seq: harn_model::Seq(seq),
        at: seq,
        turn: Some("turn-x".into()),
        event,
    });
    log.append(&events.collect::<Vec<_>>()).unwrap();
    SessionId::new("killed")
}

#[tokio::test]
async fn recovery_closes_an_interrupted_turn_once_and_runs_nothing() {
    let world = World::new();
    let id = write_killed_journal(&world);
    let ran = Arc::new(AtomicBool::new(false));
    let flag = ran.clone();
    let sleeper = move || {
        let flag = flag.clone();
        agent(move |_| {
            flag.store(true, Ordering::SeqCst);
            async { Ok(StopReason::EndTurn) }
        })
    };
    for _ in 0..2 {
        let hub = world.hub(sleeper());
        let session = hub.open(&id, None).await.unwrap();
        assert!(session.view().open_turn.is_none());
        let mut from = session.subscribe(harn_model::Seq::ZERO);
        let seen = collect_until(&mut from, |e| matches!(e.event, AgentEvent::Recovered(_))).await;
        expect![[r#"
            1 turn_started m1
            2 agent_message_chunk working
            3 tool_call t1 in_progress
            4 tool_call t2 pending
            5 permission_asked
            6 permission_resolved cancelled
            7 tool_call_update t1 failed interrupted: the agent stopped before this tool ended; it may have had effects run_tests
            8 tool_call_update t2 failed interrupted: the agent stopped before this tool ended; it may have had effects write_file
            9 recovered
        "#]]
        .assert_eq(&format_short(&seen));
        hub.shutdown().await;
    }
    assert!(!ran.load(Ordering::SeqCst));
}

/// A store that rejects writes while `full` is set.
pub struct Filling {
    pub inner: Arc<dyn Store>,
    pub full: Arc<AtomicBool>,
}

struct FillingLog {
    inner: Box<dyn SessionLog>,
    full: Arc<AtomicBool>,
}

impl Store for Filling {
    fn create(&self, meta: SessionMeta) -> Result<Box<dyn SessionLog>, JournalError> {
        let inner = self.inner.create(meta)?;
        Ok(Box::new(FillingLog {
            inner,
            full: self.full.clone(),
        }))
    }

    fn open(&self, id: &SessionId) -> Result<OpenedLog, JournalError> {
        self.inner.open(id)
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
async fn full_disk_ends_the_session_and_loses_no_published_event() {
    let world = World::new();
    let full = Arc::new(AtomicBool::new(false));
    let (store, flag) = (
        Filling {
            inner: Arc::new(JsonlStore::new(world.state())),
            full: full.clone(),
        },
        full.clone(),
    );
    let talker = agent(move |cx| {
        let full = flag.clone();
        async move {
            cx.say("before").await?;
            cx.flush().await?;
            full.store(true, Ordering::SeqCst);
            // Both calls are rejected or dropped with the session; the text is never published.
            let _ = cx.say("after").await;
            let _ = cx.flush().await;
            Ok(StopReason::EndTurn)
        }
    });
    let hub = world.hub_with(talker.clone(), |config| config.store = Arc::new(store));
    let session = world.session(&hub).await;
    let id = session.id().clone();
    let mut from = session.subscribe(harn_model::Seq::ZERO);
    prompt(&session, "go").await;
    let mut published = Vec::new();
    let end = loop {
        match from.next().await {
            Ok(delivery) => published.extend_from_slice(delivery.events()),
            Err(end) => break end,
        }
    };
    let SessionEnd::Failed(reason) = end else {
        panic!("{end:?}");
    };
    assert!(reason.contains("events.jsonl"), "{reason}");
    assert_eq!(published.len(), 2, "{}", format_short(&published));
    // With free space again, the session opens with the published events and a settled turn.
    full.store(false, Ordering::SeqCst);
    let session = hub.open(&id, None).await.unwrap();
    assert!(session.view().open_turn.is_none());
    let mut from = session.subscribe(harn_model::Seq::ZERO);
    let seen = collect_until(&mut from, |e| matches!(e.event, AgentEvent::Recovered(_))).await;
    assert_eq!(seen[..2], published[..]);
}
