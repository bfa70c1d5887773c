//! Workers in the update stream of their parent session.

use std::sync::Arc;

use harn_acp::AcpConfig;
use harn_model::{StopReason, ToolKind};
use harn_runtime::{Agent, TurnContext};
use harn_testkit::{MessageFromAgent, ScriptedAgent, TestHub};
use harn_tests::{check_transcript, initialize_params};
use serde_json::{Value, json};

use crate::golden::{existing_session_params, initialize, open, prompt};

/// An agent that starts a worker and triggers it once.
fn retriggering_agent() -> ScriptedAgent {
    ScriptedAgent::new(async |cx: TurnContext| {
        let done: Arc<dyn Agent> = Arc::new(ScriptedAgent::new(async |_| Ok(StopReason::EndTurn)));
        let worker = cx.worker("docs").task("Check the docs").agent(done);
        let worker = worker.retriggerable().start().await?;
        worker.wait_until_finished().await;
        worker.trigger("Check the tests").await?;
        worker.wait_until_finished().await;
        Ok(StopReason::EndTurn)
    })
}

/// Returns the worker updates of a turn of [`retriggering_agent`]; checks that a replay has the same.
async fn worker_updates(config: AcpConfig) -> (TestHub, Vec<Value>) {
    let test = TestHub::builder(retriggering_agent()).acp(config).build();
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;
    let id = prompt(&mut client, &session, "go").await;
    let (live, _) = client.collect_updates_until(&id).await;
    let params = existing_session_params(&session, &test.workspace());
    let id = client.send_request("session/load", params).await;
    let (replayed, _) = client.collect_updates_until(&id).await;
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
        let snapshot = test.log_path(&"session-2".into());
        assert_eq!(metadata["snapshot_path"], snapshot.to_str().unwrap());
        assert!(snapshot.is_file());
    }
}

/// An agent with a worker that reads a file and then asks to write it.
fn agent_with_writing_worker() -> ScriptedAgent {
    ScriptedAgent::new(async |cx: TurnContext| {
        let writer: Arc<dyn Agent> = Arc::new(ScriptedAgent::new(async |cx: TurnContext| {
            let read = cx.tool("read_file").kind(ToolKind::Read).path("a.txt");
            read.start().await?.complete(()).await?;
            let write = cx.tool("write_file").kind(ToolKind::Edit).path("a.txt");
            write.ask().await?.complete(()).await?;
            Ok(StopReason::EndTurn)
        }));
        let worker = cx.worker("writer").task("Write it").agent(writer);
        worker.start().await?.wait_until_finished().await;
        Ok(StopReason::EndTurn)
    })
}

/// Plays a turn of [`agent_with_writing_worker`] for a client with this `_meta.harn`, and checks that a call is
/// announced before its permission request. Returns the updates of the worker's calls; a replay has the same.
async fn play_and_collect_calls(name: &str, harn: Value) -> Vec<Value> {
    let test = TestHub::new(agent_with_writing_worker());
    let mut client = test.connect();
    let wishes = harn.as_object().unwrap();
    client
        .request("initialize", initialize_params(wishes))
        .await;
    let session = open(&mut client, &test).await;
    let turn = prompt(&mut client, &session, "go").await;
    let mut live = Vec::new();
    loop {
        match client.next().await {
            MessageFromAgent::Notification { params, .. } => live.push(params),
            MessageFromAgent::Request { id, params, .. } => {
                let asked = &params["toolCall"]["toolCallId"];
                assert_eq!(asked, "worker-1/call-2");
                let announced = |it: &Value| {
                    let update = &it["update"];
                    update["sessionUpdate"] == "tool_call" && update["toolCallId"] == *asked
                };
                assert!(live.iter().any(announced), "asked about a call nobody saw");
                let answer = json!({"outcome": {"outcome": "selected", "optionId": "allow_once"}});
                client.respond(&id, answer).await;
            }
            MessageFromAgent::Response { id, .. } => {
                assert_eq!(id, turn);
                break;
            }
        }
    }
    let params = existing_session_params(&session, &test.workspace());
    let load = client.send_request("session/load", params).await;
    let mut replayed = Vec::new();
    loop {
        match client.next().await {
            MessageFromAgent::Notification { params, .. } => replayed.push(params),
            MessageFromAgent::Request { method, .. } => panic!("a replay asked {method}"),
            MessageFromAgent::Response { id, .. } => {
                assert_eq!(id, load);
                break;
            }
        }
    }
    client.close().await;
    check_transcript(name, test.recorder());
    // For a plain client, each cycle of a worker is a call too; its id has no slash.
    let of_tools = |lines: Vec<Value>| -> Vec<Value> {
        let tool = |it: &Value| {
            let kind = it["update"]["sessionUpdate"].as_str();
            let id = it["update"]["toolCallId"].as_str().unwrap_or_default();
            kind.is_some_and(|kind| kind.starts_with("tool_call")) && id.contains('/')
        };
        lines.into_iter().filter(tool).collect()
    };
    let live = of_tools(live);
    // The same lines, including the event ids if the client has them.
    assert_eq!(live, of_tools(replayed));
    live
}

fn call_statuses(lines: &[Value]) -> Vec<String> {
    let word = |it: &Value| {
        let (id, status) = (&it["update"]["toolCallId"], &it["update"]["status"]);
        let worker = &it["update"]["_meta"]["harn"]["workerId"];
        assert_eq!(worker, "worker-1");
        format!("{} {}", id.as_str().unwrap(), status.as_str().unwrap())
    };
    lines.iter().map(word).collect()
}

#[tokio::test]
async fn a_host_observes_every_call_of_a_worker() {
    let lines = play_and_collect_calls(
        "workers-calls",
        json!({"profile": "harn", "eventIds": true}),
    )
    .await;
    assert_eq!(
        call_statuses(&lines),
        [
            "worker-1/call-1 in_progress",
            "worker-1/call-1 completed",
            "worker-1/call-2 pending",
            "worker-1/call-2 in_progress",
            "worker-1/call-2 completed",
        ]
    );
    assert!(
        lines
            .iter()
            .all(|it| it["_meta"]["harn"]["eventId"].is_string())
    );
}

#[tokio::test]
async fn a_client_without_worker_calls_sees_those_it_is_asked_about() {
    let asked = [
        "worker-1/call-2 pending",
        "worker-1/call-2 in_progress",
        "worker-1/call-2 completed",
    ];
    let off = json!({"profile": "harn", "workerCalls": false});
    assert_eq!(
        call_statuses(&play_and_collect_calls("workers-calls-off", off).await),
        asked
    );
    let plain = json!({"profile": "acp", "eventIds": true});
    assert_eq!(
        call_statuses(&play_and_collect_calls("workers-calls-plain", plain).await),
        asked
    );
}
