//! Two thousand sessions in one process over one connection: created, prompted, listed, closed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::support_stress::{PATIENCE, kind, text_prompt};
use anyhow::Result;
use harn_testkit::{MessageFromAgent, StrictClient};
use harn_tests::binary;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::process::Command;

const SESSIONS: usize = 2000;
const PROMPTED: usize = 50;
/// Requests under way at once; the pipes have room for more.
const WINDOW: usize = 100;

#[tokio::test]
async fn one_process_serves_two_thousand_sessions() -> Result<()> {
    let folder = TempDir::with_prefix("harn-many-")?;
    let scenario = folder.path().join("one.yaml");
    std::fs::write(&scenario, "{name: one, turns: [{steps: [{say: hello}]}]}")?;
    let mut command = Command::new(binary()?);
    command
        .args(["acp", "--engine"])
        .arg(format!("script:{}", scenario.display()))
        .arg("--state-dir")
        .arg(folder.path().join("state"));
    let mut client = StrictClient::spawn(command).with_patience(PATIENCE);
    let hello = harn_tests::initialize_params(&Map::new());
    client.request("initialize", hello).await;

    let new = json!({"cwd": folder.path(), "mcpServers": []});
    let made = request_all(&mut client, "session/new", vec![new; SESSIONS]).await;
    let id = |answer: &Value| answer["sessionId"].as_str().unwrap().to_owned();
    let ids: Vec<String> = made.iter().map(id).collect();
    let distinct: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(distinct.len(), SESSIONS);

    // The prompted sessions are spread over the whole list, with all sessions open.
    let step = SESSIONS / PROMPTED;
    let prompted: Vec<&String> = ids.iter().step_by(step).collect();
    let prompts = prompted.iter().map(|id| text_prompt(id, "Say hello"));
    let answers = request_all(&mut client, "session/prompt", prompts.collect()).await;
    assert_eq!(answers.len(), PROMPTED);
    assert!(answers.iter().all(|a| a["stopReason"] == "end_turn"));

    let listed = list(&mut client, json!({})).await;
    assert_eq!(listed.len(), SESSIONS);
    assert!(ids.iter().all(|id| listed.contains_key(id)));
    let titled = listed.values().filter(|row| row["title"] == "Say hello");
    assert_eq!(titled.count(), PROMPTED);
    let elsewhere = json!({"cwd": folder.path().join("elsewhere")});
    assert!(list(&mut client, elsewhere).await.is_empty());

    let closes: Vec<_> = ids.iter().map(|id| json!({"sessionId": id})).collect();
    request_all(&mut client, "session/close", closes).await;
    let refused = client
        .request_error("session/prompt", text_prompt(&ids[0], "Are you there?"))
        .await;
    assert_eq!(refused["data"]["reason"], "unknown_session");
    // Sessions that never had a prompt are no longer listed.
    let left = list(&mut client, json!({})).await;
    assert!(
        left.keys()
            .eq(prompted.iter().copied().collect::<BTreeSet<_>>())
    );

    // A closed session can be loaded, with its messages.
    let load = json!({"sessionId": prompted[1], "cwd": folder.path(), "mcpServers": []});
    let load = client.send_request("session/load", load).await;
    let (replayed, _) = client.collect_updates_until(&load).await;
    let kinds: Vec<_> = replayed.iter().map(kind).collect();
    let expected = [
        "user_message_chunk",
        "agent_message_chunk",
        "session_info_update",
    ];
    assert_eq!(kinds, expected);
    assert!(client.close().await.unwrap().success());
    Ok(())
}

/// Sends a request for each of the params, several at once; returns the results in the order of the params.
async fn request_all(client: &mut StrictClient, method: &str, params: Vec<Value>) -> Vec<Value> {
    let total = params.len();
    let mut params = params.into_iter().enumerate();
    let (mut waiting, mut answers) = (HashMap::new(), BTreeMap::new());
    while answers.len() < total {
        while waiting.len() < WINDOW
            && let Some((at, params)) = params.next()
        {
            let id = client.send_request(method, params).await;
            waiting.insert(id.as_u64().unwrap(), at);
        }
        match client.next().await {
            MessageFromAgent::Response { id, result } => {
                let at = waiting.remove(&id.as_u64().unwrap()).unwrap();
                answers.insert(at, result.unwrap());
            }
            MessageFromAgent::Notification { params, .. } if params["kind"] == "session_closed" => {
            }
            MessageFromAgent::Notification { method, .. } => assert_eq!(method, "session/update"),
            MessageFromAgent::Request { method, .. } => panic!("asked for {method}"),
        }
    }
    answers.into_values().collect()
}

/// Returns the rows of all pages of a listing, by session. Fails if a session is on two pages.
async fn list(client: &mut StrictClient, mut params: Value) -> BTreeMap<String, Value> {
    let mut rows = BTreeMap::new();
    loop {
        let mut page = client.request("session/list", params.clone()).await;
        let sessions = page["sessions"].as_array_mut().unwrap();
        assert!(sessions.len() <= 50, "a page of {}", sessions.len());
        for row in sessions.drain(..) {
            let id = row["sessionId"].as_str().unwrap().to_owned();
            assert!(rows.insert(id, row).is_none(), "listed twice");
        }
        match page["nextCursor"].take() {
            Value::Null => return rows,
            cursor => params["cursor"] = cursor,
        }
    }
}
