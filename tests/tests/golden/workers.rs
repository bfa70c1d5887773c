//! Workers as a host sees them on the stream of the session they work for.

use std::sync::Arc;

use harn_acp::AcpConfig;
use harn_model::StopReason;
use harn_runtime::{Agent, TurnContext};
use harn_testkit::{ScriptedAgent, TestHub};
use serde_json::Value;

use crate::{existing, meet, open, prompt};

/// Starts a worker, and triggers it once.
fn retriggering() -> ScriptedAgent {
    ScriptedAgent::new(async |cx: TurnContext| {
        let done: Arc<dyn Agent> = Arc::new(ScriptedAgent::new(async |_| Ok(StopReason::EndTurn)));
        let worker = cx.worker("docs").task("Check the docs").agent(done);
        let worker = worker.retriggerable().start().await?;
        worker.finished().await;
        worker.trigger("Check the tests").await?;
        worker.finished().await;
        Ok(StopReason::EndTurn)
    })
}

/// The worker updates of a turn of [`retriggering`], live and replayed.
async fn worker_updates(config: AcpConfig) -> (TestHub, Vec<Value>) {
    let test = TestHub::builder(retriggering()).acp(config).build();
    let mut client = test.connect();
    meet(&mut client).await;
    let session = open(&mut client, &test).await;
    let id = prompt(&mut client, &session, "go").await;
    let (live, _) = client.updates_until(&id).await;
    let params = existing(&session, &test.workspace());
    let id = client.send_request("session/load", params).await;
    let (replayed, _) = client.updates_until(&id).await;
    client.close().await;
    let updates = |updates: Vec<Value>| -> Vec<Value> {
        let updates = updates.into_iter();
        let of_worker = updates.filter(|update| update["sessionUpdate"] == "worker_update");
        of_worker
            .map(|update| update["_meta"]["harn"].clone())
            .collect()
    };
    let live = updates(live);
    assert_eq!(live, updates(replayed));
    assert_eq!(live.len(), 5);
    (test, live)
}

#[tokio::test]
async fn worker_task_is_the_task_of_the_last_trigger() {
    let (_test, updates) = worker_updates(AcpConfig::default()).await;
    let tasks: Vec<_> = updates.iter().map(|it| &it["workerTask"]).collect();
    let (first, second) = ("Check the docs", "Check the tests");
    assert_eq!(tasks, [first, first, second, second, second]);
    assert!(
        updates
            .iter()
            .all(|it| it["workerTask"] == it["metadata"]["task"])
    );
}

#[tokio::test]
async fn worker_paths_are_its_own_and_absolute_on_this_machine() {
    let (_test, updates) = worker_updates(AcpConfig::default()).await;
    for metadata in updates.iter().map(|update| &update["metadata"]) {
        assert_eq!(metadata["child_run_id"], "session-2");
        assert_eq!(metadata["child_run_path"], "threads/session-2");
        assert_eq!(metadata["snapshot_path"], "threads/session-2/events.jsonl");
    }
    let here = AcpConfig {
        on_this_machine: true,
        ..AcpConfig::default()
    };
    let (test, updates) = worker_updates(here).await;
    for metadata in updates.iter().map(|update| &update["metadata"]) {
        let folder = test.state_dir().join("threads/session-2");
        assert_eq!(metadata["child_run_path"], folder.to_str().unwrap());
        let snapshot = test.log_of(&"session-2".into());
        assert_eq!(metadata["snapshot_path"], snapshot.to_str().unwrap());
        assert!(snapshot.is_file());
    }
}
