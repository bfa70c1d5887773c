//! Everything at once, on several threads: nothing hangs, and every written lifecycle is valid.

use std::{collections::BTreeMap, time::Duration};

use harn_journal::{JsonlStore, Store};
use harn_model::{
    AgentEvent, Decision, HandoffArtifact, Seq, SessionView, StopReason, ToolKind, WorkerEvent,
};
use harn_runtime::TurnContext;

use super::*;

/// Returns an agent that starts four workers, each of which starts four that ask, and ends some in various ways.
fn busy_agent() -> Arc<dyn Agent> {
    agent(async |cx: TurnContext| {
        let text = cx.prompt_text();
        if text == "leaf" {
            let tool = cx.tool("write_file").kind(ToolKind::Edit).ask().await?;
            tool.complete(()).await?;
            return Ok(StopReason::EndTurn);
        }
        let below = if text == "go" { "branch" } else { "leaf" };
        let mut workers = Vec::new();
        for n in 0..4 {
            let worker = cx
                .worker(format!("{below} {n}"))
                .task(below)
                .retriggerable();
            workers.push(worker.start().await?);
        }
        let mut ends = tokio::task::JoinSet::new();
        for (n, worker) in workers.into_iter().enumerate() {
            ends.spawn(async move {
                // Each operation may lose against the end of the worker or of the turn.
                let _ = match n {
                    0 => worker.cancel().await,
                    1 => worker.stop(HandoffArtifact::default()).await,
                    2 if worker.wait_until_finished().await.is_ok() => worker.trigger("leaf").await,
                    _ => Ok(()),
                };
                worker.wait_until_finished().await;
            });
        }
        while ends.join_next().await.is_some() {}
        Ok(StopReason::EndTurn)
    })
}

/// Allows every question until the session ends.
async fn allow_all(session: Controller) {
    let mut from = session.subscribe(Seq::ZERO);
    while let Ok(delivery) = from.next().await {
        for e in delivery.events() {
            if let AgentEvent::PermissionAsked(ask) = &e.event {
                let option_id = "allow_once".to_owned();
                let decision = Decision::Allowed {
                    option_id,
                    args: None,
                };
                session.answer(ask.ask_id.clone(), decision).await;
            }
        }
    }
}

/// Checks each worker's steps: spawned first, only valid transitions, and not running at the end.
fn check_lives(events: &[Envelope]) {
    let mut lives: BTreeMap<_, Vec<WorkerEvent>> = BTreeMap::new();
    for update in updates(events) {
        lives
            .entry(update.worker_id)
            .or_default()
            .push(update.event);
    }
    for (id, life) in lives {
        use WorkerEvent::{WorkerProgressed, WorkerSpawned, WorkerWaitingForInput};
        assert_eq!(life[0], WorkerSpawned, "{id}: {life:?}");
        for pair in life.windows(2) {
            let legal = match pair[0] {
                WorkerSpawned => !matches!(pair[1], WorkerSpawned | WorkerProgressed),
                WorkerProgressed => pair[1] == WorkerSpawned,
                WorkerWaitingForInput => pair[1] == WorkerProgressed || pair[1].is_terminal(),
                _ => false,
            };
            assert!(legal, "{id}: {life:?}");
        }
        assert!(!life[life.len() - 1].is_running(), "{id}: {life:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_workers_ask_end_and_are_cancelled_at_once() {
    let world = World::new();
    let hub = world.hub(busy_agent());
    let whole = async {
        for round in 0..6u64 {
            let session = world.session(&hub).await;
            let answers = tokio::spawn(allow_all(session.clone()));
            let turn = prompt(&session, "go").await;
            if round % 2 == 1 {
                let seen = Seq(6 * round);
                let mut from = session.subscribe(Seq::ZERO);
                collect_until(&mut from, move |e| e.seq >= seen).await;
                session.cancel(turn.clone()).await;
            }
            let events = whole_turn(&session, &turn).await;
            let last = &events[events.len() - 1];
            assert!(
                !format_events(std::slice::from_ref(last)).contains("Failed"),
                "{last:?}"
            );
            hub.close(session.id()).await;
            answers.await.unwrap();
        }
        hub.shutdown().await;
    };
    tokio::time::timeout(Duration::from_secs(120), whole)
        .await
        .expect("something hangs");
    // Every session, at every depth, is settled and unlocked.
    let store = JsonlStore::new(world.state());
    let mut sessions = 0;
    for folder in std::fs::read_dir(world.state().join("threads")).unwrap() {
        let id = folder.unwrap().file_name().into_string().unwrap();
        let (_, events) = store.read(&id.as_str().into()).unwrap();
        check_lives(&events);
        let mut view = SessionView::default();
        events.iter().for_each(|e| view.apply(e));
        assert!(view.open_turn.is_none(), "{id}");
        assert!(store.open(&id.as_str().into()).is_ok());
        sessions += 1;
    }
    assert!(sessions > 30, "{sessions}");
}
