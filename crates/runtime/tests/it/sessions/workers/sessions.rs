//! The sessions of workers: hidden from listings, reopened for a trigger, deleted with the session they belong
//! to, and served by its host.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

use harn_journal::{JsonlStore, Store};
use harn_model::{AgentEvent, SessionId, StopReason, WorkerEvent};
use harn_runtime::{
    CommandExit, CommandSink, CommandSpec, HostError, HostOffers, HostPort, RootedPath,
    SessionError, SessionFilter, TurnContext, WorkerError, async_trait,
};
use serde_json::Value;
use tokio::sync::Notify;

use super::*;

/// Starts a retriggerable worker for the prompt `go` and triggers it for any other; the worker repeats its task.
fn triggering_agent() -> Arc<dyn Agent> {
    agent(async |cx: TurnContext| {
        let text = cx.prompt_text();
        if let Some(heard) = text.strip_prefix("task: ") {
            cx.say(format!("heard {heard}")).await?;
            return Ok(StopReason::EndTurn);
        }
        let worker = if text == "go" {
            let worker = cx.worker("w").task("task: begin").retriggerable();
            worker.start().await?
        } else {
            let worker = cx.find_worker(&cx.workers()[0].worker_id)?;
            worker.trigger(format!("task: {text}")).await?;
            worker
        };
        cx.say(worker.wait_until_finished().await.text).await?;
        Ok(StopReason::EndTurn)
    })
}

fn threads(world: &World) -> Vec<String> {
    let folders = std::fs::read_dir(world.state().join("threads")).unwrap();
    let mut names: Vec<_> = folders
        .map(|f| f.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn worker_is_triggered_in_a_later_turn_and_after_a_restart() {
    let world = World::new();
    let mut hub = world.hub(triggering_agent());
    let session = world.session(&hub).await;
    let id = session.id().clone();
    let turn = prompt(&session, "go").await;
    whole_turn(&session, &turn).await;
    let child = SessionId::new("session-2");
    // The worker's session is closed between cycles.
    assert!(hub.live_session(&child).is_none());
    let turn = prompt(&session, "later").await;
    whole_turn(&session, &turn).await;
    hub.shutdown().await;

    hub = world.hub(triggering_agent());
    let session = hub.open(&id, None).await.unwrap();
    let last = session.view().workers.into_values().next().unwrap();
    assert_eq!(
        (last.event, last.cycle),
        (WorkerEvent::WorkerWaitingForInput, 2)
    );
    // Ids start again in this process, so only new events are read.
    let mut from = session.subscribe(session.last_seq());
    let turn = prompt(&session, "much later").await;
    let log = format_events(&collect_until(&mut from, is_end_of(&turn)).await);
    assert!(log.contains("said heard much later\n"), "{log}");
    assert!(log.contains("WorkerWaitingForInput 3\n"), "{log}");
    // One session has all three turns.
    let (meta, events) = JsonlStore::new(world.state()).read(&child).unwrap();
    assert_eq!(meta.parent, Some(id));
    assert_eq!(meta.worker, Some("worker-1".into()));
    let turns = events
        .iter()
        .filter(|e| matches!(e.event, AgentEvent::TurnEnded(_)));
    assert_eq!(turns.count(), 3);
    assert_eq!(threads(&world).len(), 2);
}

#[tokio::test]
async fn worker_session_is_hidden_openable_and_deleted_with_its_parent() {
    let world = World::new();
    let hub = world.hub(triggering_agent());
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    whole_turn(&session, &turn).await;
    let child = SessionId::new("session-2");
    let listed = hub
        .list(SessionFilter::default(), None)
        .await
        .unwrap()
        .sessions;
    let listed: Vec<_> = listed
        .iter()
        .map(|s| s.summary.meta.thread_id.as_str())
        .collect();
    assert_eq!(listed, ["session-1"]);
    let opened = hub.open(&child, None).await.unwrap();
    assert_eq!(opened.view().ended_turns, 1);

    hub.delete(session.id()).await.unwrap();
    assert_eq!(threads(&world), [""; 0]);
    let gone = hub.open(&child, None).await;
    assert!(matches!(gone.err(), Some(SessionError::NotFound(_))));
}

#[tokio::test(start_paused = true)]
async fn deleting_a_running_session_removes_everything_below_it() {
    let world = World::new();
    let deep = Arc::new(Notify::new());
    let reached = deep.clone();
    let hub = world.hub(agent(move |cx: TurnContext| {
        let reached = reached.clone();
        async move {
            if cx.prompt_text() == "go" {
                cx.worker("middle").task("middle").start().await?;
            } else if cx.prompt_text() == "middle" {
                cx.worker("deep").task("deep").start().await?;
            } else {
                reached.notify_one();
            }
            std::future::pending().await
        }
    }));
    let session = world.session(&hub).await;
    prompt(&session, "go").await;
    deep.notified().await;
    assert_eq!(threads(&world).len(), 3);
    hub.delete(session.id()).await.unwrap();
    assert_eq!(threads(&world), [""; 0]);
}

#[tokio::test]
async fn trigger_needs_a_worker_session_without_a_running_turn() {
    let world = World::new();
    let gate = Arc::new(Notify::new());
    let held = gate.clone();
    let hub = world.hub(agent(move |cx: TurnContext| {
        let held = held.clone();
        async move {
            match cx.prompt_text().as_str() {
                "go" => drop(start_waiting_worker(&cx, echo_agent("ok")).await?),
                "by hand" => held.notified().await,
                _ => {
                    let worker = cx
                        .find_worker(&"worker-1".into())?
                        .agent(echo_agent("again"));
                    match worker.trigger("t").await {
                        Ok(()) => cx.say(worker.wait_until_finished().await.text).await?,
                        Err(error) => cx.say(error.to_string()).await?,
                    }
                }
            }
            Ok(StopReason::EndTurn)
        }
    }));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    whole_turn(&session, &turn).await;
    let child = hub.open(&"session-2".into(), None).await.unwrap();
    let mut from = child.subscribe_from_now();
    let by_hand = prompt(&child, "by hand").await;
    let turn = prompt(&session, "trigger").await;
    let log = format_events(&whole_turn(&session, &turn).await);
    assert!(
        log.contains("said session session-2 of the worker is in use"),
        "{log}"
    );
    assert_eq!(log.matches("WorkerProgressed").count(), 0, "{log}");
    gate.notify_one();
    collect_until(&mut from, is_end_of(&by_hand)).await;
    let turn = prompt(&session, "trigger").await;
    let log = format_events(&whole_turn(&session, &turn).await);
    assert!(log.contains("said again: t\n"), "{log}");
}

#[tokio::test]
async fn trigger_of_a_deleted_session_fails_and_the_worker_still_waits() {
    let (world, hub, session, _) = run_one_turn(async |cx: TurnContext| {
        if cx.prompt_text() == "go" {
            start_waiting_worker(&cx, echo_agent("ok")).await?;
        } else {
            let worker = cx.find_worker(&"worker-1".into())?;
            let gone = worker.trigger("t").await;
            assert!(matches!(
                gone,
                Err(WorkerError::Session(SessionError::NotFound(_)))
            ));
            assert!(worker.wait_until_finished().await.is_ok());
        }
        Ok(StopReason::EndTurn)
    })
    .await;
    hub.delete(&"session-2".into()).await.unwrap();
    let turn = prompt(&session, "trigger").await;
    let events = whole_turn(&session, &turn).await;
    assert!(
        !format_events(&events).contains("Failed"),
        "{}",
        format_events(&events)
    );
    assert_eq!(
        steps(&events, None),
        ["WorkerSpawned", "WorkerWaitingForInput"]
    );
    assert_eq!(threads(&world), ["session-1"]);
}

#[tokio::test]
async fn fork_marks_workers_as_cancelled() {
    let world = World::new();
    let hub = world.hub(triggering_agent());
    let session = world.session(&hub).await;
    let turn = prompt(&session, "go").await;
    whole_turn(&session, &turn).await;
    let fork = hub.fork(session.id(), world.new_session()).await.unwrap();
    let last = fork.view().workers.into_values().next().unwrap();
    assert_eq!(last.event, WorkerEvent::WorkerCancelled);
    assert!(last.metadata.finished_at.is_some() && last.metadata.error.is_some());
    // Deleting the fork does not affect the original's worker.
    hub.delete(fork.id()).await.unwrap();
    let turn = prompt(&session, "later").await;
    let log = format_events(&whole_turn(&session, &turn).await);
    assert!(log.contains("said heard later\n"), "{log}");
}

/// A host that offers to read files and records each request.
#[derive(Default)]
struct Remembering(Mutex<Vec<(SessionId, PathBuf)>>);

#[async_trait]
impl HostPort for Remembering {
    fn offers(&self) -> HostOffers {
        HostOffers {
            read_text: true,
            ..HostOffers::default()
        }
    }

    async fn read_text(&self, session: &SessionId, file: &RootedPath) -> Result<String, HostError> {
        let asked = (session.clone(), file.absolute());
        self.0.lock().unwrap().push(asked);
        Ok("from the client".to_owned())
    }

    async fn write_text(&self, _: &SessionId, _: &RootedPath, _: &str) -> Result<(), HostError> {
        Err(HostError::Unsupported("writing files"))
    }

    async fn run(
        &self,
        _: &SessionId,
        _: CommandSpec,
        _: &mut dyn CommandSink,
    ) -> Result<CommandExit, HostError> {
        Err(HostError::Unsupported("running commands"))
    }

    async fn call_tool(&self, _: &SessionId, _: &str, _: Value) -> Result<Value, HostError> {
        Err(HostError::Unsupported("tools"))
    }
}

#[tokio::test]
async fn worker_reads_client_files_under_the_parent_session_id() {
    let world = World::new();
    std::fs::create_dir(world.state().join("sub")).unwrap();
    let hub = world.hub(agent(async |cx: TurnContext| {
        if cx.prompt_text() == "go" {
            let worker = cx.worker("w").task("read").cwd("sub").start().await?;
            cx.say(worker.wait_until_finished().await.text).await?;
        } else {
            cx.say(cx.host().read_text("a.txt").await?).await?;
        }
        Ok(StopReason::EndTurn)
    }));
    let session = world.session(&hub).await;
    let host = Arc::new(Remembering::default());
    session.set_host(host.clone());
    let turn = prompt(&session, "go").await;
    let log = format_events(&whole_turn(&session, &turn).await);
    assert!(log.contains("said from the client\n"), "{log}");
    let asked = host.0.lock().unwrap().clone();
    let expected = (session.id().clone(), world.state().join("sub/a.txt"));
    assert_eq!(asked, [expected]);
}
