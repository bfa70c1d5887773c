//! The lifecycle events of a worker: their order, their fields, and requests that are refused without an event.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use expect_test::expect;
use harn_model::{HandoffArtifact, Seq, StopReason, WorkerEvent, WorkerStatus};
use harn_runtime::{AgentError, SessionError, TurnContext, WorkerError};
use tokio::sync::{Barrier, Notify};

use super::*;

#[tokio::test]
async fn completed_worker_reports_all_its_fields() {
    let (_world, _hub, session, events) = run_one_turn(async |cx: TurnContext| {
        cx.say("before").await?;
        let worker = cx
            .worker("reader")
            .task("read it all")
            .agent(echo_agent("read"));
        let worker = worker.mode("delegated_stage").start().await?;
        // The event is written when the call returns.
        let state = cx.workers();
        assert_eq!(state[0].event, WorkerEvent::WorkerSpawned);
        let report = worker.wait_until_finished().await;
        assert_eq!(report.status, WorkerStatus::Completed);
        assert_eq!(report.text, "read: read it all");
        assert_eq!(report.stop_reason, Some(StopReason::EndTurn));
        assert_eq!((report.truncated, report.error), (false, None));
        cx.say("after").await?;
        Ok(StopReason::EndTurn)
    })
    .await;
    expect![[r#"
        turn started
        said before
        worker-1 WorkerSpawned 1
        worker-1 WorkerCompleted 1
        said after
        turn Stopped { stop_reason: EndTurn }
    "#]]
    .assert_eq(&format_events(&events));
    let updates = updates(&events);
    let text = serde_json::to_string_pretty(&updates[1]).unwrap();
    expect![[r#"
        {
          "worker_id": "worker-1",
          "worker_name": "reader",
          "worker_task": "read it all",
          "worker_mode": "delegated_stage",
          "event": "WorkerCompleted",
          "cycle": 1,
          "metadata": {
            "task": "read it all",
            "mode": "delegated_stage",
            "started_at": "2026-09-21T14:13:20.004Z",
            "finished_at": "2026-09-21T14:13:20.008Z",
            "awaiting_started_at": null,
            "child_run_id": "session-2",
            "child_run_path": "threads/session-2",
            "snapshot_path": "threads/session-2/events.jsonl",
            "audit": {
              "session_id": "session-2",
              "parent_session_id": "session-1",
              "run_id": "turn-1",
              "worker_id": "worker-1",
              "execution_kind": "worker",
              "mutation_scope": "apply_workspace",
              "approval_policy": null
            },
            "error": null
          },
          "audit": {
            "session_id": "session-2",
            "parent_session_id": "session-1",
            "run_id": "turn-1",
            "worker_id": "worker-1",
            "execution_kind": "worker",
            "mutation_scope": "apply_workspace",
            "approval_policy": null
          }
        }"#]]
    .assert_eq(&text);
    assert_eq!(updates[0].metadata.finished_at, None);
    assert_eq!(
        updates[0].metadata.started_at,
        updates[1].metadata.started_at
    );
    assert_eq!(session.view().workers.len(), 1);
}

#[tokio::test]
async fn retriggerable_worker_waits_runs_again_and_hands_over() {
    let (_world, _hub, _session, events) = run_one_turn(async |cx: TurnContext| {
        let worker = start_waiting_worker(&cx, echo_agent("ok")).await?;
        worker.trigger("second").await?;
        assert_eq!(worker.wait_until_finished().await.text, "ok: second");
        let handoff = HandoffArtifact {
            reason: "enough".to_owned(),
            ..HandoffArtifact::default()
        };
        worker.stop(handoff).await?;
        assert_eq!(cx.workers()[0].event, WorkerEvent::WorkerStopped);
        Ok(StopReason::EndTurn)
    })
    .await;
    expect![[r#"
        turn started
        worker-1 WorkerSpawned 1
        worker-1 WorkerWaitingForInput 1
        worker-1 WorkerProgressed 1
        worker-1 WorkerSpawned 2
        worker-1 WorkerWaitingForInput 2
        handoff handoff-1 second
        worker-1 WorkerStopped 2
        turn Stopped { stop_reason: EndTurn }
    "#]]
    .assert_eq(&format_events(&events));
    let waits: Vec<_> = updates(&events)
        .iter()
        .map(|u| u.metadata.awaiting_started_at.is_some())
        .collect();
    assert_eq!(waits, [false, true, false, false, true, true]);
    let updates = updates(&events);
    let (last, before) = (&updates[5].metadata, &updates[4].metadata);
    assert_eq!(last.awaiting_started_at, before.awaiting_started_at);
    assert!(last.finished_at.is_some());
    let tasks = updates.iter().map(|u| (&*u.worker_task, &*u.metadata.task));
    let [first, second] = ["first", "second"].map(|task| (task, task));
    assert!(tasks.eq([first, first, second, second, second, second]));
}

#[tokio::test]
async fn failure_and_cancellation_end_a_retriggerable_worker() {
    let (_world, _hub, _session, events) = run_one_turn(async |cx: TurnContext| {
        let failing = agent(async |_| Err(AgentError::failed("no such luck")));
        let panicking = agent(async |_: TurnContext| panic!("a panic of the worker's agent"));
        let refusing = agent(async |_| Ok(StopReason::Refusal));
        for (broken, error) in [
            (failing, "no such luck"),
            (
                panicking,
                "the agent stopped unexpectedly; its log has the reason",
            ),
            (refusing, "the worker's agent refused the task"),
        ] {
            let worker = cx.worker("w").task("t").agent(broken).retriggerable();
            let report = worker.start().await?.wait_until_finished().await;
            assert_eq!(report.status, WorkerStatus::Failed);
            assert_eq!(report.error.as_deref(), Some(error));
        }
        let waits = start_waiting_worker(&cx, echo_agent("ok")).await?;
        waits.cancel().await?;
        let runs = cx
            .worker("w")
            .task("t")
            .agent(stuck_agent())
            .start()
            .await?;
        runs.cancel().await?;
        assert_eq!(
            runs.wait_until_finished().await.status,
            WorkerStatus::Cancelled
        );
        let stops = cx
            .worker("w")
            .task("t")
            .agent(stuck_agent())
            .start()
            .await?;
        stops.stop(HandoffArtifact::default()).await?;
        Ok(StopReason::EndTurn)
    })
    .await;
    expect![[r#"
        turn started
        worker-1 WorkerSpawned 1
        worker-1 WorkerFailed 1 no such luck
        worker-2 WorkerSpawned 1
        worker-2 WorkerFailed 1 the agent stopped unexpectedly; its log has the reason
        worker-3 WorkerSpawned 1
        worker-3 WorkerFailed 1 the worker's agent refused the task
        worker-4 WorkerSpawned 1
        worker-4 WorkerWaitingForInput 1
        worker-4 WorkerCancelled 1 the worker was cancelled
        worker-5 WorkerSpawned 1
        worker-5 WorkerCancelled 1 the worker was cancelled
        worker-6 WorkerSpawned 1
        handoff handoff-1 t
        worker-6 WorkerStopped 1
        turn Stopped { stop_reason: EndTurn }
    "#]]
    .assert_eq(&format_events(&events));
    let waited = |u: &harn_model::WorkerUpdate| u.metadata.awaiting_started_at.is_some();
    let ended: Vec<_> = updates(&events)
        .iter()
        .filter(|u| u.event.is_terminal())
        .map(waited)
        .collect();
    // Only the worker that ended while it waited has that time.
    assert_eq!(ended, [false, false, false, true, false, false]);
}

#[tokio::test]
async fn rejected_worker_request_returns_the_reason_and_writes_nothing() {
    let (world, _hub, _session, events) = run_one_turn(async |cx: TurnContext| {
        let unknown = cx.find_worker(&"nobody".into());
        assert!(matches!(unknown.err(), Some(WorkerError::Unknown(id)) if id.as_str() == "nobody"));
        for (name, task) in [(" ", "t"), ("w", "\n")] {
            let blank = cx.worker(name).task(task).start().await;
            assert!(matches!(blank.err(), Some(WorkerError::Blank(_))));
        }
        let nowhere = cx.worker("w").task("t").cwd("no/such/folder").start().await;
        assert!(matches!(
            nowhere.err(),
            Some(WorkerError::Session(SessionError::BadCwd))
        ));
        let gate = Arc::new(Notify::new());
        let held = gate.clone();
        let gated = agent(move |_| {
            let held = held.clone();
            async move {
                held.notified().await;
                Ok(StopReason::EndTurn)
            }
        });
        let worker = cx.worker("w").task("t").agent(gated).retriggerable();
        let worker = worker.start().await?;
        assert!(matches!(
            worker.trigger("x").await,
            Err(WorkerError::Running(_))
        ));
        gate.notify_one();
        worker.wait_until_finished().await;
        assert!(matches!(
            worker.trigger(" \n").await,
            Err(WorkerError::Blank("trigger"))
        ));
        worker.cancel().await?;
        for ended in [worker.trigger("x").await, worker.cancel().await] {
            let status = WorkerStatus::Cancelled;
            assert!(matches!(ended, Err(WorkerError::Ended { status: s, .. }) if s == status));
        }
        let once = cx
            .worker("w")
            .task("t")
            .agent(stuck_agent())
            .start()
            .await?;
        assert!(matches!(
            once.trigger("x").await,
            Err(WorkerError::NotRetriggerable(_))
        ));
        let error = once.trigger("x").await.unwrap_err();
        assert_eq!(
            AgentError::from(error).to_string(),
            "worker worker-3 was not started as retriggerable; start another one"
        );
        once.cancel().await?;
        Ok(StopReason::EndTurn)
    })
    .await;
    expect![[r#"
        turn started
        worker-2 WorkerSpawned 1
        worker-2 WorkerWaitingForInput 1
        worker-2 WorkerCancelled 1 the worker was cancelled
        worker-3 WorkerSpawned 1
        worker-3 WorkerCancelled 1 the worker was cancelled
        turn Stopped { stop_reason: EndTurn }
    "#]]
    .assert_eq(&format_events(&events));
    // A refused start leaves no session behind.
    let kept = std::fs::read_dir(world.state().join("threads")).unwrap();
    assert_eq!(kept.count(), 3);
}

#[tokio::test]
async fn cancel_that_races_with_the_end_writes_one_end() {
    for round in 0..40 {
        let (_world, _hub, _session, events) = run_one_turn(move |cx: TurnContext| async move {
            let racing = agent(move |_| async move {
                for _ in 0..round {
                    tokio::task::yield_now().await;
                }
                Ok(StopReason::EndTurn)
            });
            let worker = cx.worker("w").task("t").agent(racing).start().await?;
            let again = worker.clone();
            let (one, two) = tokio::join!(worker.cancel(), again.cancel());
            let status = worker.wait_until_finished().await.status;
            for result in [one, two] {
                match (result, status) {
                    (Ok(()), WorkerStatus::Cancelled) => {}
                    (Err(WorkerError::Ended { .. }), WorkerStatus::Completed) => {}
                    other => panic!("{other:?}"),
                }
            }
            Ok(StopReason::EndTurn)
        })
        .await;
        let steps = steps(&events, None);
        assert_eq!(steps.len(), 2, "{steps:?}");
    }
}

#[tokio::test]
async fn eight_workers_overlap_and_each_lifecycle_is_complete() {
    let meet = Arc::new(Barrier::new(8));
    let (_world, _hub, session, events) = run_one_turn(move |cx: TurnContext| {
        let meet = meet.clone();
        async move {
            let mut workers = Vec::new();
            for n in 0..8 {
                let meet = meet.clone();
                // No worker continues before all eight have started.
                let meeting = agent(move |cx: TurnContext| {
                    let meet = meet.clone();
                    async move {
                        meet.wait().await;
                        cx.say(cx.prompt_text()).await?;
                        Ok(StopReason::EndTurn)
                    }
                });
                let worker = cx.worker(format!("w{n}")).task(format!("task {n}"));
                workers.push(worker.agent(meeting).start().await?);
            }
            for (n, worker) in workers.iter().enumerate() {
                assert_eq!(worker.wait_until_finished().await.text, format!("task {n}"));
            }
            Ok(StopReason::EndTurn)
        }
    })
    .await;
    assert_eq!(session.view().workers.len(), 8);
    for id in session.view().workers.keys() {
        assert_eq!(
            steps(&events, Some(id)),
            ["WorkerSpawned", "WorkerCompleted"]
        );
    }
}

#[tokio::test]
async fn worker_limits_for_number_and_depth_are_enforced() {
    let deepest = Arc::new(AtomicUsize::new(0));
    let seen = deepest.clone();
    let world = World::new();
    let nesting = agent(move |cx: TurnContext| {
        let seen = seen.clone();
        async move {
            let depth: usize = cx.prompt_text().parse().unwrap();
            seen.fetch_max(depth, Ordering::SeqCst);
            let deeper = cx.worker("w").task((depth + 1).to_string()).start().await;
            match deeper {
                Ok(worker) => assert!(worker.wait_until_finished().await.is_ok()),
                Err(WorkerError::TooDeep { limit: 2 }) => assert_eq!(depth, 2),
                Err(other) => panic!("{other}"),
            }
            if depth == 0 {
                let mut workers = Vec::new();
                for _ in 0..3 {
                    workers.push(
                        cx.worker("w")
                            .task("t")
                            .agent(stuck_agent())
                            .start()
                            .await?,
                    );
                }
                let one_more = cx.worker("w").task("t").agent(stuck_agent()).start().await;
                assert!(matches!(
                    one_more.err(),
                    Some(WorkerError::TooMany { limit: 3 })
                ));
                workers[0].cancel().await?;
                cx.worker("w")
                    .task("t")
                    .agent(stuck_agent())
                    .start()
                    .await?;
            }
            Ok(StopReason::EndTurn)
        }
    });
    let hub = world.hub_with(nesting, |config| {
        config.max_worker_depth = 2;
        config.max_workers = 3;
    });
    let session = world.session(&hub).await;
    let turn = prompt(&session, "0").await;
    let events = collect_until(&mut session.subscribe(Seq::ZERO), is_end_of(&turn)).await;
    assert!(
        format_events(&events).ends_with("turn Stopped { stop_reason: EndTurn }\n"),
        "{}",
        format_events(&events)
    );
    assert_eq!(deepest.load(Ordering::SeqCst), 2);
}
