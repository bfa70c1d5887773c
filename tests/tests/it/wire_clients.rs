//! Several clients on one session, and one client that opens it twice: each receives the messages it should.

use std::{collections::BTreeSet, sync::Arc};

use harn_model::{StopReason, ToolKind};
use harn_runtime::AgentError;
use harn_testkit::{MessageFromAgent, ScriptedAgent, StrictClient, TestHub};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// Returns an agent that asks, waits for the signal to continue, and reports the answer.
fn asking_agent(go_on: &Arc<Notify>) -> ScriptedAgent {
    let go_on = go_on.clone();
    ScriptedAgent::new(move |cx| {
        let go_on = go_on.clone();
        async move {
            let asked = cx.tool("write_file").kind(ToolKind::Edit).ask().await;
            go_on.notified().await;
            match asked {
                Ok(write) => write.complete(()).await?,
                Err(AgentError::Denied { .. }) => cx.say("Then not.").await?,
                Err(other) => return Err(other),
            }
            Ok(StopReason::EndTurn)
        }
    })
}

async fn open(client: &mut StrictClient, test: &TestHub) -> Value {
    let params = json!({"cwd": test.workspace(), "mcpServers": []});
    client.request("session/new", params).await["sessionId"].take()
}

fn load_params(session: &Value, test: &TestHub) -> Value {
    json!({"sessionId": session, "cwd": test.workspace(), "mcpServers": []})
}

/// Sends a prompt and reads up to the question; returns the ids of both.
async fn prompt_until_question(client: &mut StrictClient, session: &Value) -> (Value, Value) {
    let blocks = json!([{"type": "text", "text": "Write"}]);
    let params = json!({"sessionId": session, "prompt": blocks});
    let id = client.send_request("session/prompt", params).await;
    client.expect_update_of("tool_call").await;
    let (ask, _) = client.expect_request("session/request_permission").await;
    (id, ask)
}

fn selected_outcome(option: &str) -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}

/// Reads until everything in `wanted` was received, in any order: the withdrawal of a request and the updates
/// beside it are not ordered. Returns the ids of the withdrawn requests.
async fn read_all(client: &mut StrictClient, wanted: &[&str]) -> Vec<Value> {
    let mut wanted: BTreeSet<_> = wanted.iter().map(|&word| word.to_owned()).collect();
    let mut withdrawn = Vec::new();
    while !wanted.is_empty() {
        let word = match client.next().await {
            MessageFromAgent::Notification { method, params } if method == "$/cancel_request" => {
                withdrawn.push(params["requestId"].clone());
                method
            }
            MessageFromAgent::Notification { params, .. } => {
                let update = &params["update"];
                let status = update["status"].as_str();
                status
                    .or(update["sessionUpdate"].as_str())
                    .unwrap()
                    .to_owned()
            }
            other => panic!("{other:?} while waiting for {wanted:?}"),
        };
        assert!(wanted.remove(&word), "{word} was not wanted");
    }
    withdrawn
}

#[tokio::test]
async fn only_the_controller_is_asked() {
    let go_on = Arc::new(Notify::new());
    let test = TestHub::new(asking_agent(&go_on));
    let mut first = test.connect();
    let session = open(&mut first, &test).await;
    let (prompt, ask) = prompt_until_question(&mut first, &session).await;

    let mut second = test.connect();
    let load = second
        .send_request("session/load", load_params(&session, &test))
        .await;
    let (replayed, _) = second.collect_updates_until(&load).await;
    let kinds: Vec<_> = replayed.iter().map(|u| &u["sessionUpdate"]).collect();
    assert_eq!(kinds, ["user_message_chunk", "tool_call"]);

    first.respond(&ask, selected_outcome("allow_once")).await;
    go_on.notify_one();
    let (updates, result) = first.collect_updates_until(&prompt).await;
    let said: Vec<_> = updates
        .iter()
        .filter_map(|u| u["status"].as_str())
        .collect();
    assert_eq!(said, ["in_progress", "completed"]);
    assert_eq!(result["stopReason"], "end_turn");
    // The observer received no question, and has no prompt that could be answered.
    let watched = ["in_progress", "completed", "session_info_update"];
    assert!(read_all(&mut second, &watched).await.is_empty());
    first.close().await;
    second.close().await;
}

#[tokio::test]
async fn loading_again_during_a_turn_repeats_the_question_and_keeps_the_prompt() {
    let go_on = Arc::new(Notify::new());
    let test = TestHub::new(asking_agent(&go_on));
    let mut client = test.connect();
    let session = open(&mut client, &test).await;
    let (prompt, ask) = prompt_until_question(&mut client, &session).await;
    let load = client
        .send_request("session/load", load_params(&session, &test))
        .await;
    // The old question is withdrawn; the whole replay precedes the response, and the question follows it.
    let (mut replayed, mut withdrawn) = (Vec::new(), None);
    loop {
        match client.next().await {
            MessageFromAgent::Notification { method, params } if method == "$/cancel_request" => {
                withdrawn = Some(params["requestId"].clone());
            }
            MessageFromAgent::Notification { params, .. } => {
                replayed.push(params["update"].clone())
            }
            MessageFromAgent::Response { id, result: Ok(_) } if id == load => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(withdrawn, Some(ask.clone()));
    let kinds: Vec<_> = replayed.iter().map(|u| &u["sessionUpdate"]).collect();
    assert_eq!(kinds, ["user_message_chunk", "tool_call"]);
    let (again, _) = client.expect_request("session/request_permission").await;
    client
        .respond(&ask, json!({"outcome": {"outcome": "cancelled"}}))
        .await;
    client
        .respond(&again, selected_outcome("reject_once"))
        .await;
    go_on.notify_one();
    let (updates, result) = client.collect_updates_until(&prompt).await;
    assert_eq!(updates[0]["status"], "failed");
    assert_eq!(updates[1]["content"]["text"], "Then not.");
    assert_eq!(result["stopReason"], "end_turn");
    client.close().await;
}

/// A question belongs to the session: the next client that opens the session receives it, even without a
/// replay.
#[tokio::test]
async fn client_that_resumes_receives_the_open_question() {
    let go_on = Arc::new(Notify::new());
    let test = TestHub::new(asking_agent(&go_on));
    let mut first = test.connect();
    let session = open(&mut first, &test).await;
    prompt_until_question(&mut first, &session).await;
    // The client that received the question leaves without an answer.
    first.vanish();
    let mut second = test.connect();
    let params = load_params(&session, &test);
    second.request("session/resume", params).await;
    second.expect_update_of("tool_call").await;
    let (ask, params) = second.expect_request("session/request_permission").await;
    assert_eq!(params["toolCall"]["toolCallId"], "call-1");
    second.respond(&ask, selected_outcome("allow_once")).await;
    go_on.notify_one();
    let watched = ["in_progress", "completed", "session_info_update"];
    assert!(read_all(&mut second, &watched).await.is_empty());
    second.close().await;
}

#[tokio::test]
async fn question_of_a_client_that_leaves_moves_to_another_client() {
    let go_on = Arc::new(Notify::new());
    let test = TestHub::new(asking_agent(&go_on));
    let mut first = test.connect();
    let session = open(&mut first, &test).await;
    prompt_until_question(&mut first, &session).await;
    let mut second = test.connect();
    let load = second
        .send_request("session/load", load_params(&session, &test))
        .await;
    second.collect_updates_until(&load).await;
    // The input ends and its connection closes: the question moves to the remaining client.
    first.hang_up().await;
    let (ask, _) = second.expect_request("session/request_permission").await;
    second.respond(&ask, selected_outcome("allow_once")).await;
    go_on.notify_one();
    let watched = ["in_progress", "completed", "session_info_update"];
    assert!(read_all(&mut second, &watched).await.is_empty());
    second.close().await;
}
