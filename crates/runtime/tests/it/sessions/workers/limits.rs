//! The limits of a worker: its directories, its sessions, and the number of workers at once.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

use harn_model::{
    AgentEvent, ContentBlock, StopReason, ToolKind, WorkerEvent, WorkerMetadata, WorkerStatus,
};
use harn_runtime::{
    ASK_MODE, NewSession, READ_ONLY_MODE, SessionError, TurnContext, WorkerBuilder, WorkerError,
};
use tokio::sync::Notify;

use super::*;

#[tokio::test]
async fn worker_must_stay_within_the_directories_of_the_session() {
    let world = World::new();
    let outside = tempfile::tempdir().unwrap();
    let further = tempfile::tempdir().unwrap();
    let own = world.state().join("own");
    std::fs::create_dir_all(own.join("sub")).unwrap();
    std::fs::write(own.join("file"), "").unwrap();
    std::os::unix::fs::symlink(outside.path(), own.join("out")).unwrap();
    std::os::unix::fs::symlink(own.join("sub"), own.join("in")).unwrap();
    let refused: Vec<PathBuf> = vec![
        "/".into(),
        "..".into(),
        "sub/../..".into(),
        "out".into(),
        outside.path().to_owned(),
    ];
    let allowed: Vec<PathBuf> = vec![
        "sub".into(),
        "in".into(),
        "sub/..".into(),
        further.path().to_owned(),
    ];
    let hub = world.hub(agent(move |cx: TurnContext| {
        let (refused, allowed) = (refused.clone(), allowed.clone());
        async move {
            let at = |cwd: PathBuf| cx.worker("w").task("t").agent(echo_agent("ok")).cwd(cwd);
            for cwd in refused {
                let error = at(cwd.clone()).start().await.err().unwrap();
                assert!(matches!(error, WorkerError::Outside(_)), "{cwd:?}: {error}");
                let told = error.to_string();
                assert!(
                    told.contains("outside the directories of the session"),
                    "{told}"
                );
            }
            for none in ["missing", "file"] {
                let error = at(none.into()).start().await.err();
                let bad = Some(WorkerError::Session(SessionError::BadCwd));
                assert_eq!(format!("{error:?}"), format!("{bad:?}"));
            }
            for cwd in allowed {
                assert!(at(cwd).start().await?.wait_until_finished().await.is_ok());
            }
            Ok(StopReason::EndTurn)
        }
    }));
    let session = hub.create(NewSession {
        cwd: own.clone(),
        additional_directories: vec![further.path().to_owned()],
    });
    let session = session.await.unwrap();
    let turn = prompt(&session, "go").await;
    let log = format_events(&whole_turn(&session, &turn).await);
    assert!(!log.contains("Failed"), "{log}");
    assert_eq!(session.view().workers.len(), 4);
}

/// Emits an event that claims that a worker waits in this session.
async fn emit_claim(cx: &TurnContext, worker: &str, session: &str) -> Result<(), AgentError> {
    cx.emit(AgentEvent::WorkerUpdate(Box::new(WorkerUpdate {
        worker_id: worker.into(),
        worker_name: "w".to_owned(),
        worker_task: "t".to_owned(),
        worker_mode: "sub_agent".to_owned(),
        event: WorkerEvent::WorkerWaitingForInput,
        cycle: 1,
        retriggerable: true,
        metadata: WorkerMetadata {
            child_run_id: Some(session.into()),
            ..WorkerMetadata::default()
        },
        audit: None,
    })))
    .await?;
    cx.flush().await
}

#[tokio::test]
async fn claimed_worker_cannot_use_a_foreign_session() {
    let world = World::new();
    let hub = world.hub(agent(async |cx: TurnContext| {
        if cx.prompt_text() == "go" {
            // Claims about another session, about another worker's session, and about workers with a known
            // session.
            let own = start_waiting_worker(&cx, echo_agent("ok")).await?;
            let own_session = own.session_id().clone();
            emit_claim(&cx, "w-invented", "session-1").await?;
            emit_claim(&cx, "w-stolen", own_session.as_str()).await?;
            for invented in ["w-invented", "w-stolen"] {
                let worker = cx.find_worker(&invented.into())?;
                let refused = worker.trigger("do it").await;
                assert!(
                    matches!(refused, Err(WorkerError::Unknown(_))),
                    "{refused:?}"
                );
            }
            let once = cx
                .worker("w")
                .task("t")
                .agent(echo_agent("ok"))
                .start()
                .await?;
            emit_claim(&cx, once.id().as_str(), "session-1").await?;
            let found = cx.find_worker(once.id())?;
            assert_eq!(found.session_id(), once.session_id());
            emit_claim(&cx, own.id().as_str(), "session-1").await?;
            own.trigger("again").await?;
            assert!(own.wait_until_finished().await.is_ok());
        }
        Ok(StopReason::EndTurn)
    }));
    for live in [true, false] {
        let other = match hub.open(&"session-1".into(), None).await {
            Ok(other) => other,
            Err(_) => world.session(&hub).await,
        };
        assert_eq!(other.id().as_str(), "session-1");
        let mut from = other.subscribe_from_now();
        if !live {
            hub.close(other.id()).await;
        }
        let session = world.session(&hub).await;
        let turn = prompt(&session, "go").await;
        let log = format_events(&whole_turn(&session, &turn).await);
        assert!(!log.contains("Failed"), "{log}");
        if live {
            // The other session is still open and works.
            let turn = prompt(&other, "hello").await;
            collect_until(&mut from, is_end_of(&turn)).await;
        } else {
            assert!(hub.live_session(&"session-1".into()).is_none());
        }
    }
}

#[tokio::test]
async fn ending_a_waiting_worker_needs_no_free_slot() {
    let world = World::new();
    let lead = agent(async |cx: TurnContext| {
        let one = start_waiting_worker(&cx, echo_agent("ok")).await?;
        let two = start_waiting_worker(&cx, echo_agent("ok")).await?;
        let runs = cx
            .worker("w")
            .task("t")
            .agent(stuck_agent())
            .start()
            .await?;
        for full in [one.trigger("again").await, two.trigger("again").await] {
            assert!(
                matches!(full, Err(WorkerError::TooMany { limit: 1 })),
                "{full:?}"
            );
        }
        one.cancel().await?;
        two.stop(harn_model::HandoffArtifact::default()).await?;
        runs.cancel().await?;
        Ok(StopReason::EndTurn)
    });
    let hub = world.hub_with(lead, |config| config.max_workers = 1);
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let log = format_events(&whole_turn(&session, &turn).await);
    assert!(!log.contains("Failed"), "{log}");
}

#[tokio::test]
async fn all_workers_below_a_session_share_its_limit() {
    let world = World::new();
    let lead = agent(async |cx: TurnContext| {
        let worker = |task: &str| -> WorkerBuilder { cx.worker("w").task(task) };
        match cx.prompt_text().as_str() {
            "go" => {
                let below = worker("branch").start().await?;
                assert_eq!(
                    below.wait_until_finished().await.status,
                    WorkerStatus::Completed
                );
                // All slots are free again.
                for _ in 0..3 {
                    worker("t").agent(stuck_agent()).start().await?;
                }
                let full = worker("t").start().await.err();
                assert!(matches!(full, Some(WorkerError::TooMany { limit: 3 })));
            }
            "branch" => {
                worker("t").agent(stuck_agent()).start().await?;
                worker("t").agent(stuck_agent()).start().await?;
                let full = worker("t").start().await.err();
                assert!(matches!(full, Some(WorkerError::TooMany { limit: 3 })));
            }
            _ => {}
        }
        Ok(StopReason::EndTurn)
    });
    let hub = world.hub_with(lead, |config| config.max_workers_below = 3);
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    let log = format_events(&whole_turn(&session, &turn).await);
    assert!(!log.contains("Failed"), "{log}");
}

#[tokio::test]
async fn handle_reports_the_last_cycle_of_another_handle() {
    run_one_turn(async |cx: TurnContext| {
        let one = start_waiting_worker(&cx, echo_agent("ok")).await?;
        assert_eq!(one.wait_until_finished().await.text, "ok: first");
        let other = cx.find_worker(one.id())?.agent(echo_agent("other"));
        other.trigger("second").await?;
        assert_eq!(other.wait_until_finished().await.text, "other: second");
        // Every handle knows the status; only the handle that saw the cycle knows its text.
        assert_eq!(one.wait_until_finished().await.text, "");
        assert_eq!(
            one.wait_until_finished().await.status,
            WorkerStatus::AwaitingInput
        );
        let refused = one.trigger(" ").await;
        assert!(matches!(refused, Err(WorkerError::Blank(_))));
        assert_eq!(other.wait_until_finished().await.text, "other: second");
        Ok(StopReason::EndTurn)
    })
    .await;
}

#[tokio::test]
async fn audit_of_a_worker_follows_the_current_mode_above() {
    let world = World::new();
    let (ready, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let audits = Arc::new(Mutex::new(Vec::new()));
    let (is_ready, may_go, seen) = (ready.clone(), go.clone(), audits.clone());
    let leaf = agent(move |cx: TurnContext| {
        let (ready, go) = (is_ready.clone(), may_go.clone());
        async move {
            for n in 0..2 {
                ready.notify_one();
                go.notified().await;
                let tool = cx.tool(format!("t{n}")).kind(ToolKind::Read);
                tool.start().await?.complete(()).await?;
            }
            cx.flush().await?;
            Ok(StopReason::EndTurn)
        }
    });
    let hub = world.hub(agent(move |cx: TurnContext| {
        let leaf = leaf.clone();
        async move {
            let worker = match cx.prompt_text().as_str() {
                "go" => cx.worker("middle").task("middle"),
                _ => cx.worker("leaf").task("leaf").agent(leaf),
            };
            assert!(worker.start().await?.wait_until_finished().await.is_ok());
            Ok(StopReason::EndTurn)
        }
    }));
    let session = world.session(&hub).await;
    session.set_mode(READ_ONLY_MODE).await.unwrap();
    let blocks = vec![ContentBlock::text("go")];
    let turn = session.prompt(blocks, |_| ()).await.unwrap();
    ready.notified().await;
    go.notify_one();
    ready.notified().await;
    // The session in the middle writes no event meanwhile.
    session.set_mode(ASK_MODE).await.unwrap();
    let leaf = hub.live_session(&"session-3".into()).unwrap();
    let mut from = leaf.subscribe(harn_model::Seq::ZERO);
    go.notify_one();
    whole_turn(&session, &turn).await;
    while let Ok(delivery) = from.next().await {
        for e in delivery.events() {
            if let AgentEvent::ToolCall(call) = &e.event {
                let audit = call.audit.as_deref().map(|audit| audit.run_id.clone());
                seen.lock().unwrap().push(audit);
            }
        }
    }
    assert_eq!(*audits.lock().unwrap(), [None, Some(Some(turn))]);
}
