//! The decisions of `approval.respond`: once, always, reject.

use std::sync::Arc;

use harn_model::{StopReason, ToolKind};
use harn_runtime::{AgentError, TurnContext};
use harn_testkit::{MessageFromAgent, ScriptedAgent, TestHub, ThreadsClient};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::golden_threads::check_transcript;

async fn remove(cx: &TurnContext, path: &str) -> Result<(), AgentError> {
    let tool = cx.tool("remove").kind(ToolKind::Delete).path(path);
    let tool = tool.title(format!("Remove {path}")).start().await?;
    tool.complete("gone".to_owned()).await
}

/// An agent that removes the file in the prompt; `a+b` removes two at once, the second when the notifier fires.
fn removing_hub() -> (TestHub, Arc<Notify>) {
    let go = Arc::new(Notify::new());
    let told = go.clone();
    let agent = ScriptedAgent::new(move |cx| {
        let go = told.clone();
        async move {
            let prompt = cx.prompt_text();
            if let Some((one, other)) = prompt.split_once('+') {
                let second = async {
                    go.notified().await;
                    remove(&cx, other).await
                };
                let both = futures::join!(remove(&cx, one), second);
                both.0?;
                both.1?;
            } else {
                remove(&cx, &prompt).await?;
            }
            cx.say("Done.").await?;
            Ok(StopReason::EndTurn)
        }
    });
    (TestHub::new(agent), go)
}

/// Expects the announcement of a tool and its approval request; returns the id of the request.
async fn expect_approval_request(client: &mut ThreadsClient) -> Value {
    client.expect_item("tool_exec").await;
    let item = client.expect_item("approval").await;
    let mut asked = client.expect("approval.requested").await;
    assert_eq!(asked["itemId"], item["itemId"]);
    assert_eq!(asked["requestId"], item["data"]["requestId"]);
    asked["requestId"].take()
}

fn decision(request: &Value, decision: &str) -> Value {
    json!({"requestId": request, "decision": decision})
}

/// Sends a decision and expects its notification, then its response.
async fn send_decision(client: &mut ThreadsClient, request: &Value, word: &str) {
    let params = decision(request, word);
    let id = client.send_request("approval.respond", params).await;
    let completed = client.expect("item.completed").await;
    assert_eq!(completed["data"]["reply"], word);
    let answer = client.expect_response(&id).await;
    assert_eq!(answer, json!({"ok": true}));
}

#[tokio::test]
async fn once_allows_one_call() {
    let (test, _) = removing_hub();
    let mut client = test.connect_threads();
    let thread = client.create().await;
    client.start_turn(&thread, "a.txt").await;
    let request = expect_approval_request(&mut client).await;
    // A history that is fetched now contains the request.
    let got = client
        .request("thread.get", json!({"threadId": thread}))
        .await;
    let last = got["events"].as_array().unwrap().last().unwrap();
    assert_eq!(last["notification"], "approval.requested");
    send_decision(&mut client, &request, "once").await;
    let told = client.read_until_turn_ends().await;
    assert_eq!(told[1]["data"]["output"], "gone");
    // The request is settled, and the next call needs a decision again.
    let late = decision(&request, "once");
    let error = client.request_error("approval.respond", late).await;
    assert_eq!(error["code"], -32004);
    client.start_turn(&thread, "a.txt").await;
    let request = expect_approval_request(&mut client).await;
    send_decision(&mut client, &request, "once").await;
    client.read_until_turn_ends().await;
    client.close().await;
    check_transcript("approval-once", test.recorder());
}

/// `always` also settles an open request about the same call, and the next one.
#[tokio::test]
async fn always_settles_open_and_later_requests() {
    let (test, go) = removing_hub();
    let mut client = test.connect_threads();
    let thread = client.create().await;
    client.start_turn(&thread, "a.txt+a.txt").await;
    let one = expect_approval_request(&mut client).await;
    go.notify_one();
    let other = expect_approval_request(&mut client).await;
    // Two requests about the same call.
    assert_ne!(one, other);
    send_decision(&mut client, &other, "always").await;
    let told = client.read_until_turn_ends().await;
    assert_eq!(told[0]["data"]["reply"], "always");
    client.start_turn(&thread, "a.txt").await;
    let told = client.read_until_turn_ends().await;
    assert!(
        told.iter()
            .all(|it| it["notification"] != "approval.requested")
    );
    client.close().await;
    check_transcript("approval-always", test.recorder());
}

/// A rejection settles all open requests of the thread.
#[tokio::test]
async fn reject_settles_all_open_requests() {
    let (test, go) = removing_hub();
    let mut client = test.connect_threads();
    let thread = client.create().await;
    client.start_turn(&thread, "a.txt+b.txt").await;
    let one = expect_approval_request(&mut client).await;
    go.notify_one();
    let other = expect_approval_request(&mut client).await;
    assert_ne!(one, other);
    send_decision(&mut client, &one, "reject").await;
    let told = client.read_until_turn_ends().await;
    let other = told.iter().find(|it| it["type"] == "approval").unwrap();
    assert_eq!(other["data"]["reply"], "reject");
    let errors = told.iter().filter(|it| it["data"]["error"].is_string());
    assert_eq!(errors.count(), 2);
    // A rejected call does not fail the turn.
    assert_eq!(told.last().unwrap()["status"], "completed");
    client.close().await;
    check_transcript("approval-reject", test.recorder());
}

/// A cancel settles the open request; an answer that arrives after the cancel is rejected.
#[tokio::test]
async fn decision_after_a_cancel_is_rejected() {
    let (test, _) = removing_hub();
    let mut client = test.connect_threads();
    let thread = client.create().await;
    client.start_turn(&thread, "a.txt").await;
    let request = expect_approval_request(&mut client).await;
    let cancel = json!({"threadId": thread});
    let cancel = client.send_request("turn.cancel", cancel).await;
    let late = decision(&request, "once");
    let late = client.send_request("approval.respond", late).await;
    client.expect_response(&cancel).await;
    let mut seen = Vec::new();
    while seen.len() < 2 {
        match client.next().await {
            MessageFromAgent::Response { id, result } => {
                assert_eq!(id, late);
                assert_eq!(result.unwrap_err()["code"], -32004);
                seen.push("answer");
            }
            MessageFromAgent::Notification { method, params } => {
                if params["type"] == "approval" {
                    assert_eq!(params["data"]["reply"], "reject");
                }
                if method == "turn.error" {
                    assert_eq!(params["status"], "cancelled");
                    seen.push("end");
                }
            }
            MessageFromAgent::Request { .. } => panic!("nothing is asked"),
        }
    }
    client.close().await;
}
