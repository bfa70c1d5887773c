//! The end of a turn, a session or the process: no worker outlives it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use expect_test::expect;
use harn_journal::{JsonlStore, SessionMeta, Store};
use harn_model::{
    AgentEvent, ContentBlock, Envelope, Seq, SessionId, StopReason, TurnOutcome, TurnStarted,
    WorkerEvent, WorkerMetadata, WorkerStatus, WorkerUpdate,
};
use harn_runtime::{AgentError, TurnContext, WorkerError};
use tokio::sync::Notify;

use super::*;

/// Returns the id of the session in which a worker of `session` runs.
fn worker_session_id(session: &Controller) -> SessionId {
    let workers = session.view().workers;
    let (_, last) = workers.iter().next().unwrap();
    last.metadata.child_run_id.clone().unwrap()
}

fn is_spawned(e: &Envelope) -> bool {
    matches!(&e.event, AgentEvent::WorkerUpdate(u) if u.event == WorkerEvent::WorkerSpawned)
}

/// Returns the outcome of the only turn of a session.
fn stored_outcome(world: &World, session: &SessionId) -> Option<TurnOutcome> {
    let (_, events) = JsonlStore::new(world.state()).read(session).unwrap();
    events.into_iter().find_map(|e| match e.event {
        AgentEvent::TurnEnded(ended) => Some(ended.outcome),
        _ => None,
    })
}

#[tokio::test(start_paused = true)]
async fn cancelled_turn_stops_workers_that_never_return() {
    let world = World::new();
    let hub = world.hub(agent(async |cx: TurnContext| {
        let worker = cx
            .worker("w")
            .task("t")
            .agent(stuck_agent())
            .start()
            .await?;
        let report = worker.wait_until_finished().await;
        assert_eq!(report.status, WorkerStatus::Cancelled);
        assert!(cx.is_cancelled());
        Ok(StopReason::EndTurn)
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    collect_until(&mut session.subscribe(Seq::ZERO), is_spawned).await;
    let child = worker_session_id(&session);
    session.cancel(turn.clone()).await;
    let events = whole_turn(&session, &turn).await;
    expect![[r#"
        turn started
        worker-1 WorkerSpawned 1
        worker-1 WorkerCancelled 1 the turn was cancelled
        turn Stopped { stop_reason: Cancelled }
    "#]]
    .assert_eq(&format_events(&events));
    assert!(hub.live_session(&child).is_none());
    let cancelled = TurnOutcome::stopped(StopReason::Cancelled);
    assert_eq!(stored_outcome(&world, &child), Some(cancelled));
}

#[tokio::test(start_paused = true)]
async fn ended_turn_cancels_its_workers() {
    for given_up in [false, true] {
        let world = World::new();
        let hub = world.hub(agent(move |cx: TurnContext| async move {
            let worker = cx
                .worker("w")
                .task("t")
                .agent(stuck_agent())
                .retriggerable();
            worker.start().await?;
            if given_up {
                std::future::pending::<()>().await;
            }
            Ok(StopReason::EndTurn)
        }));
        let session = world.session(&hub).await;
        let turn = prompt(&session, "go").await;
        if given_up {
            collect_until(&mut session.subscribe(Seq::ZERO), is_spawned).await;
            session.cancel(turn.clone()).await;
        }
        let events = whole_turn(&session, &turn).await;
        assert_eq!(steps(&events, None), ["WorkerSpawned", "WorkerCancelled"]);
        let last = events.last().unwrap();
        assert!(matches!(last.event, AgentEvent::TurnEnded(_)), "{last:?}");
        assert!(hub.live_session(&worker_session_id(&session)).is_none());
    }
}

#[tokio::test]
async fn worker_handle_is_rejected_after_its_turn() {
    let kept = Arc::new(std::sync::Mutex::new(None));
    let keep = kept.clone();
    let (_world, _hub, session, _) = run_one_turn(move |cx: TurnContext| {
        let keep = keep.clone();
        async move {
            let worker = start_waiting_worker(&cx, echo_agent("ok")).await?;
            *keep.lock().unwrap() = Some((worker, cx));
            Ok(StopReason::EndTurn)
        }
    })
    .await;
    let (worker, cx) = kept.lock().unwrap().take().unwrap();
    for late in [worker.trigger("again").await, worker.cancel().await] {
        assert!(matches!(late, Err(WorkerError::TurnOver)), "{late:?}");
    }
    let late = cx.worker("w").task("t").start().await;
    assert!(matches!(late.err(), Some(WorkerError::TurnOver)));
    let last = session.view().workers.into_values().next().unwrap();
    assert_eq!(last.event, WorkerEvent::WorkerWaitingForInput);
}

#[tokio::test(start_paused = true)]
async fn close_and_shutdown_end_workers_at_every_depth_in_time() {
    for shutdown in [false, true] {
        let deep = Arc::new(Notify::new());
        let reached = deep.clone();
        let world = World::new();
        let hub = world.hub(agent(move |cx: TurnContext| {
            let reached = reached.clone();
            async move {
                if cx.prompt_text() == "deep" {
                    reached.notify_one();
                    return std::future::pending().await;
                }
                let deeper = match cx.prompt_text().as_str() {
                    "go" => "middle",
                    _ => "deep",
                };
                cx.worker(deeper).task(deeper).start().await?;
                std::future::pending().await
            }
        }));
        let session = world.session(&hub).await;
        prompt(&session, "go").await;
        deep.notified().await;
        let middle = worker_session_id(&session);
        let below = worker_session_id(&hub.live_session(&middle).unwrap());
        assert!(hub.live_session(&below).is_some());
        let before = tokio::time::Instant::now();
        if shutdown {
            hub.shutdown().await;
        } else {
            hub.close(session.id()).await;
        }
        assert!(before.elapsed() <= Duration::from_secs(2));
        let cancelled = TurnOutcome::stopped(StopReason::Cancelled);
        for id in [session.id(), &middle, &below] {
            assert_eq!(stored_outcome(&world, id), Some(cancelled.clone()));
            // The journal is unlocked.
            assert!(JsonlStore::new(world.state()).open(id).is_ok());
        }
    }
}

#[tokio::test]
async fn recovery_fails_a_running_worker_and_keeps_a_waiting_one() {
    let world = World::new();
    let ran = Arc::new(AtomicUsize::new(0));
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
    let store = JsonlStore::new(world.state());
    let child = |id: &str, worker: &str| SessionMeta {
        thread_id: SessionId::new(id),
        parent: Some("killed".into()),
        worker: Some(worker.into()),
        ..meta.clone()
    };
    let step = |id: &str, session: &str, event, cycle| {
        AgentEvent::WorkerUpdate(Box::new(WorkerUpdate {
            worker_id: id.into(),
            worker_name: id.to_owned(),
            worker_task: "t".to_owned(),
            worker_mode: "sub_agent".to_owned(),
            event,
            cycle,
            retriggerable: true,
            metadata: WorkerMetadata {
                child_run_id: Some(session.into()),
                started_at: Some("2026-01-01T00:00:00.000Z".to_owned()),
                ..WorkerMetadata::default()
            },
            audit: None,
        }))
    };
    let started = || {
        AgentEvent::TurnStarted(Box::new(TurnStarted {
            message_id: "m1".into(),
            prompt: vec![ContentBlock::text("t")],
            live_session: None,
        }))
    };
    let write = |meta: SessionMeta, events: Vec<AgentEvent>| {
        let events = events.into_iter().zip(1u64..).map(|(event, seq)| Envelope {
            seq: Seq(seq),
            at: seq,
            turn: Some("turn-x".into()),
            event,
        });
        let mut log = store.create(meta).unwrap();
        log.append(&events.collect::<Vec<_>>()).unwrap();
    };
    write(
        meta.clone(),
        vec![
            started(),
            step("waits", "c1", WorkerEvent::WorkerSpawned, 1),
            step("waits", "c1", WorkerEvent::WorkerWaitingForInput, 1),
            step("runs", "c2", WorkerEvent::WorkerSpawned, 1),
        ],
    );
    write(child("c1", "waits"), vec![]);
    write(
        child("c2", "runs"),
        vec![started(), AgentEvent::message("half")],
    );

    let count = ran.clone();
    let hub = world.hub(agent(move |cx: TurnContext| {
        let count = count.clone();
        async move {
            count.fetch_add(1, Ordering::SeqCst);
            if cx.prompt_text() == "go" {
                let ended = cx.find_worker(&"runs".into())?.trigger("x").await;
                assert!(matches!(ended, Err(WorkerError::Ended { .. })), "{ended:?}");
                let waits = cx.find_worker(&"waits".into())?;
                assert_eq!(
                    waits.wait_until_finished().await.status,
                    WorkerStatus::AwaitingInput
                );
                waits.trigger("once more").await?;
                assert!(waits.wait_until_finished().await.is_ok());
            }
            Ok::<_, AgentError>(StopReason::EndTurn)
        }
    }));
    let session = hub.open(&"killed".into(), None).await.unwrap();
    let recovered = collect_until(&mut session.subscribe(Seq::ZERO), |e| {
        matches!(e.event, AgentEvent::Recovered(_))
    })
    .await;
    expect![[r#"
        turn started
        waits WorkerSpawned 1
        waits WorkerWaitingForInput 1
        runs WorkerSpawned 1
        runs WorkerFailed 1 interrupted: the agent stopped before this worker ended; it may have had effects
    "#]]
    .assert_eq(&format_events(&recovered));
    let runs = &session.view().workers[&harn_model::WorkerId::from("runs")];
    assert!(runs.metadata.finished_at.is_some());
    // The restart ran no agent.
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    let turn = prompt(&session, "go").await;
    let events = whole_turn(&session, &turn).await;
    assert!(
        !format_events(&events).contains("Failed {"),
        "{}",
        format_events(&events)
    );
    assert_eq!(ran.load(Ordering::SeqCst), 2);
    // The session of the interrupted worker opens with a settled turn.
    let half = hub.open(&"c2".into(), None).await.unwrap();
    assert!(half.view().open_turn.is_none());
}
