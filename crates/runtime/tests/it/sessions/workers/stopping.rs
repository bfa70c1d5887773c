//! When something ends, every worker below it has stopped, not only received a cancel.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use harn_journal::{
    JournalError, JsonlStore, OpenedLog, SessionLog, SessionMeta, Store, StoreListing,
};
use harn_model::{AgentEvent, SessionId, StopReason, WorkerStatus};
use harn_runtime::{READ_ONLY_MODE, TurnContext, WorkerError};
use tokio::sync::{Notify, mpsc};

use super::*;

/// Counts the agents that are running: one for each live future.
#[derive(Clone, Default)]
struct AtWork(Arc<AtomicUsize>);

impl AtWork {
    fn begin(&self) -> Busy {
        self.0.fetch_add(1, Ordering::SeqCst);
        Busy(self.0.clone())
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

struct Busy(Arc<AtomicUsize>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Returns an agent that starts a worker which ignores a cancel; `reached` is notified when that worker runs.
fn deep_agent(at_work: &AtWork, reached: &Arc<Notify>) -> Arc<dyn Agent> {
    let (at_work, reached) = (at_work.clone(), reached.clone());
    agent(move |cx: TurnContext| {
        let (at_work, reached) = (at_work.clone(), reached.clone());
        async move {
            let _busy = at_work.begin();
            if cx.prompt_text() == "deep" {
                reached.notify_one();
                return std::future::pending().await;
            }
            let below = cx
                .worker("below")
                .task("deep")
                .agent(deep_agent(&at_work, &reached));
            below.start().await?;
            // Returns when it is cancelled, unlike its worker.
            cx.cancelled().await;
            Ok(StopReason::EndTurn)
        }
    })
}

#[tokio::test(start_paused = true)]
async fn ended_turn_has_no_running_worker_at_any_depth() {
    for cancelled in [false, true] {
        let (at_work, reached) = (AtWork::default(), Arc::new(Notify::new()));
        let (below, rung) = (at_work.clone(), reached.clone());
        let ready = Arc::new(Notify::new());
        let is_ready = ready.clone();
        let world = World::new();
        let hub = world.hub(agent(move |cx: TurnContext| {
            let (below, rung, ready) = (below.clone(), rung.clone(), is_ready.clone());
            async move {
                let worker = cx.worker("w").task("t").agent(deep_agent(&below, &rung));
                worker.start().await?;
                rung.notified().await;
                ready.notify_one();
                if cancelled {
                    cx.cancelled().await;
                }
                Ok(StopReason::EndTurn)
            }
        }));
        let session = world.session(&hub).await;
        let turn = prompt(&session, "go").await;
        if cancelled {
            ready.notified().await;
            assert_eq!(at_work.count(), 2);
            session.cancel(turn.clone()).await;
        }
        let events = whole_turn(&session, &turn).await;
        assert_eq!(at_work.count(), 0);
        // Their sessions are closed too.
        assert!(hub.live_session(&"session-2".into()).is_none());
        assert!(hub.live_session(&"session-3".into()).is_none());
        let why = match cancelled {
            false => "the turn ended before this worker did",
            true => "the turn was cancelled",
        };
        assert!(
            format_events(&events).contains(&format!("worker-1 WorkerCancelled 1 {why}\n")),
            "{}",
            format_events(&events)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn cancelled_worker_has_stopped_with_all_workers_below_it() {
    let (at_work, reached) = (AtWork::default(), Arc::new(Notify::new()));
    run_one_turn(move |cx: TurnContext| {
        let (at_work, reached) = (at_work.clone(), reached.clone());
        async move {
            let worker = cx
                .worker("w")
                .task("t")
                .agent(deep_agent(&at_work, &reached));
            let worker = worker.start().await?;
            reached.notified().await;
            assert_eq!(at_work.count(), 2);
            worker.cancel().await?;
            assert_eq!(at_work.count(), 0);
            assert_eq!(
                worker.wait_until_finished().await.status,
                WorkerStatus::Cancelled
            );
            Ok(StopReason::EndTurn)
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn session_accepts_requests_while_its_workers_stop() {
    let world = World::new();
    let returning = Arc::new(Notify::new());
    let returns = returning.clone();
    let hub = world.hub(agent(move |cx: TurnContext| {
        let returns = returns.clone();
        async move {
            cx.worker("w")
                .task("t")
                .agent(stuck_agent())
                .start()
                .await?;
            returns.notify_one();
            Ok(StopReason::EndTurn)
        }
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    returning.notified().await;
    // Long enough for the agent to return, too short for the worker to be given up.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let set = session.set_mode(READ_ONLY_MODE).await.unwrap();
    let ended = whole_turn(&session, &turn).await;
    assert!(set < ended.last().unwrap().seq);
    // A cancel at this point still cancels this turn.
    let turn = prompt(&session, "again").await;
    returning.notified().await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    session.cancel(turn.clone()).await;
    let log = format_events(&whole_turn(&session, &turn).await);
    assert!(
        log.ends_with("turn Stopped { stop_reason: Cancelled }\n"),
        "{log}"
    );
}

/// A store that blocks the creation of a worker's session until `open` is set.
struct Slow {
    inner: JsonlStore,
    entered: Arc<Notify>,
    open: Arc<AtomicBool>,
}

impl Store for Slow {
    fn create(&self, meta: SessionMeta) -> Result<Box<dyn SessionLog>, JournalError> {
        if meta.worker.is_some() {
            self.entered.notify_one();
            while !self.open.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        self.inner.create(meta)
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

#[tokio::test]
async fn worker_start_that_outlives_its_turn_fails_and_leaves_nothing() {
    let world = World::new();
    let (entered, open) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
    let store = Slow {
        inner: JsonlStore::new(world.state()),
        entered: entered.clone(),
        open: open.clone(),
    };
    let (tell, mut late) = mpsc::channel(1);
    let lead = agent(move |cx: TurnContext| {
        let (entered, tell) = (entered.clone(), tell.clone());
        async move {
            let beside = cx.clone();
            tokio::spawn(async move {
                let started = beside.worker("w").task("t").start().await;
                tell.send(started.map(drop)).await
            });
            entered.notified().await;
            Ok(StopReason::EndTurn)
        }
    });
    let hub = world.hub_with(lead, |config| config.store = Arc::new(store));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let events = whole_turn(&session, &turn).await;
    assert_eq!(steps(&events, None), [""; 0]);
    // The start is too late: it returns an error and removes its session.
    open.store(true, Ordering::SeqCst);
    let told = late.recv().await.unwrap();
    assert!(matches!(told, Err(WorkerError::TurnOver)), "{told:?}");
    assert!(!world.state().join("threads/session-2").exists());
    assert!(session.view().workers.is_empty());
    assert!(matches!(
        events.last().unwrap().event,
        AgentEvent::TurnEnded(_)
    ));
}

#[tokio::test]
async fn worker_cancelled_before_it_starts_never_runs() {
    let world = World::new();
    let (entered, open) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
    let store = Slow {
        inner: JsonlStore::new(world.state()),
        entered: entered.clone(),
        open: open.clone(),
    };
    let begun = AtWork::default();
    let count = begun.clone();
    let (may_cancel, is_inside) = (Arc::new(Notify::new()), entered.clone());
    let inside = may_cancel.clone();
    let lead = agent(move |cx: TurnContext| {
        let (open, count) = (open.clone(), count.clone());
        let (entered, inside) = (is_inside.clone(), inside.clone());
        async move {
            let child = agent(move |_| {
                std::mem::forget(count.begin());
                async { Ok(StopReason::EndTurn) }
            });
            let start = cx.worker("w").task("t").agent(child).start();
            let (started, ()) = tokio::join!(start, async {
                entered.notified().await;
                inside.notify_one();
                cx.cancelled().await;
                open.store(true, Ordering::SeqCst);
            });
            let report = started?.wait_until_finished().await;
            assert_eq!(report.status, WorkerStatus::Cancelled);
            Ok(StopReason::EndTurn)
        }
    });
    let hub = world.hub_with(lead, |config| config.store = Arc::new(store));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    may_cancel.notified().await;
    session.cancel(turn.clone()).await;
    let events = whole_turn(&session, &turn).await;
    assert_eq!(steps(&events, None), ["WorkerSpawned", "WorkerCancelled"]);
    assert_eq!(begun.count(), 0);
}
