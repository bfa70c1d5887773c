//! Behaviour without transcripts: other front-ends on the same threads, closed threads, bursts.

use std::{collections::HashMap, sync::Arc};

use harn_acp::AcpConfig;
use harn_model::StopReason;
use harn_testkit::{MessageFromAgent, Recorder, ScriptedAgent, StrictClient, TestHub};
use harn_tests::initialize_params;
use serde_json::{Map, json};
use tokio::sync::Notify;

fn echo_agent() -> ScriptedAgent {
    ScriptedAgent::new(|cx| async move {
        cx.say(cx.prompt_text()).await?;
        Ok(StopReason::EndTurn)
    })
}

/// A session that an editor controls is a thread: other clients can fetch and follow it, and it is busy while
/// the editor's turn runs.
#[tokio::test]
async fn client_follows_a_thread_that_an_editor_controls() {
    let go = Arc::new(Notify::new());
    let told = go.clone();
    let agent = ScriptedAgent::new(move |cx| {
        let go = told.clone();
        async move {
            cx.say("one").await?;
            go.notified().await;
            cx.say("two").await?;
            Ok(StopReason::EndTurn)
        }
    });
    let test = TestHub::new(agent);
    let hub = test.hub().clone();
    let mut editor = StrictClient::in_memory(hub, AcpConfig::default(), Recorder::default());
    editor
        .request("initialize", initialize_params(&Map::new()))
        .await;
    let params = json!({"cwd": test.workspace(), "mcpServers": []});
    let session = editor.request("session/new", params).await["sessionId"].take();
    let blocks = json!([{"type": "text", "text": "Count"}]);
    let params = json!({"sessionId": session, "prompt": blocks});
    let prompt = editor.send_request("session/prompt", params).await;
    editor.expect_update_of("agent_message_chunk").await;

    let mut client = test.connect_threads();
    let get = json!({"threadId": session});
    let got = client.request("thread.get", get.clone()).await;
    let last = got["events"].as_array().unwrap().last().unwrap();
    assert_eq!(last["delta"], "one");
    let input = json!([{"type": "text", "text": "And me"}]);
    let start = json!({"threadId": session, "input": input});
    let busy = client.request_error("turn.start", start.clone()).await;
    assert_eq!(busy["code"], -32002);
    go.notify_one();
    let told = client.read_until_turn_ends().await;
    // The stream continues after the fetched history.
    assert_eq!(told[0]["itemId"], last["itemId"]);
    assert_eq!(told[0]["delta"], "two");
    assert_eq!(told[1]["data"]["text"], "onetwo");
    editor.collect_updates_until(&prompt).await;
    // The error states that the editor controls the session.
    let error = client.request_error("turn.start", start.clone()).await;
    assert_eq!(error["code"], -32603);
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("controls the session")
    );
    editor.close().await;
    go.notify_one();
    let id = client.send_request("turn.start", start).await;
    client.expect("turn.started").await;
    client.expect_response(&id).await;
    client.read_until_turn_ends().await;
    client.close().await;
}

/// A closed thread opens with the next request for it.
#[tokio::test]
async fn closed_thread_opens_with_the_next_request() {
    let test = TestHub::new(echo_agent());
    let mut client = test.connect_threads();
    let thread = client.create().await;
    client.start_turn(&thread, "one").await;
    client.read_until_turn_ends().await;
    test.hub().close(&thread.as_str().into()).await;
    client.start_turn(&thread, "two").await;
    let told = client.read_until_turn_ends().await;
    assert_eq!(told[1]["delta"], "two");
    let cancel = json!({"threadId": thread});
    test.hub().close(&thread.as_str().into()).await;
    let idle = client.request("turn.cancel", cancel).await;
    assert_eq!(idle, json!({"ok": true}));
    client.close().await;
}

/// More requests at once than the queue accepts: each gets a response, and a rejected one does not block the next.
#[tokio::test]
async fn every_request_of_a_burst_is_answered() {
    let test = TestHub::new(echo_agent());
    let mut client = test.connect_threads();
    let thread = client.create().await;
    let mut crowded = 0;
    for _ in 0..4 {
        for _ in 0..60 {
            let cancel = json!({"threadId": thread});
            client.send_request("turn.cancel", cancel).await;
        }
        for _ in 0..60 {
            match client.next().await {
                MessageFromAgent::Response {
                    result: Ok(done), ..
                } => assert_eq!(done, json!({"ok": true})),
                MessageFromAgent::Response {
                    result: Err(error), ..
                } => {
                    assert_eq!(error["code"], -32603);
                    crowded += 1;
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(crowded < 240);
    client.start_turn(&thread, "still here").await;
    client.read_until_turn_ends().await;
    client.close().await;
}

/// More threads than are opened at once, each with a turn: the client receives all of them, each in order.
#[tokio::test]
async fn many_threads_send_their_turns_in_order() {
    const THREADS: usize = 150;
    let test = TestHub::new(echo_agent());
    let mut client = test.connect_threads();
    for _ in 0..THREADS {
        client.send_request("thread.create", json!({})).await;
    }
    let mut threads = Vec::new();
    for _ in 0..2 * THREADS {
        if let MessageFromAgent::Notification { params, .. } = client.next().await {
            threads.push(params["threadId"].clone());
        }
    }
    assert_eq!(threads.len(), THREADS);
    for thread in &threads {
        let input = json!([{"type": "text", "text": thread}]);
        let start = json!({"threadId": thread, "input": input});
        client.send_request("turn.start", start).await;
    }
    let mut told: HashMap<String, Vec<String>> = HashMap::new();
    let mut answered = 0;
    while told.values().map(Vec::len).sum::<usize>() < THREADS * 7 || answered < THREADS {
        match client.next().await {
            MessageFromAgent::Notification { method, params } => {
                let item = &params["item"]["threadId"];
                let thread = params["threadId"].as_str().or(item.as_str()).unwrap();
                if method == "item.delta" {
                    assert_eq!(params["delta"], thread);
                }
                told.entry(thread.to_owned()).or_default().push(method);
            }
            MessageFromAgent::Response { result, .. } => {
                result.unwrap();
                answered += 1;
            }
            MessageFromAgent::Request { .. } => panic!("nothing is asked"),
        }
    }
    let order = [
        "turn.started",
        "item.started",
        "item.completed",
        "item.started",
        "item.delta",
        "item.completed",
        "turn.completed",
    ];
    assert!(told.values().all(|told| *told == order), "{told:?}");
    let listed = client.request("thread.list", json!({})).await;
    assert_eq!(listed["threads"].as_array().unwrap().len(), THREADS);
    client.close().await;
}

/// A prompt followed at once by its cancel: the client receives the start of the turn, and that it was cancelled.
#[tokio::test]
async fn cancel_right_after_the_start_ends_the_turn() {
    let agent = ScriptedAgent::new(|cx| async move {
        cx.cancelled().await;
        Ok(StopReason::EndTurn)
    });
    let test = TestHub::new(agent);
    let mut client = test.connect_threads();
    let thread = client.create().await;
    let input = json!([{"type": "text", "text": "Go"}]);
    let start = json!({"threadId": thread, "input": input});
    let start = client.send_request("turn.start", start).await;
    let cancel = json!({"threadId": thread});
    let cancel = client.send_request("turn.cancel", cancel).await;
    client.expect_response(&cancel).await;
    client.expect("turn.started").await;
    client.expect_response(&start).await;
    client.expect_item("user_message").await;
    client.expect("item.completed").await;
    let end = client.expect("turn.error").await;
    assert_eq!(end["status"], "cancelled");
    client.close().await;
}

/// A turn continues when its client disconnects; the client finds it again.
#[tokio::test]
async fn a_turn_outlives_its_client() {
    let go = Arc::new(Notify::new());
    let told = go.clone();
    let agent = ScriptedAgent::new(move |cx| {
        let go = told.clone();
        async move {
            cx.say("one").await?;
            go.notified().await;
            Ok(StopReason::EndTurn)
        }
    });
    let test = TestHub::new(agent);
    let mut client = test.connect_threads();
    let thread = client.create().await;
    client.start_turn(&thread, "Go").await;
    client.expect_item("assistant_message").await;
    client.expect("item.delta").await;
    client.close().await;
    let mut client = test.connect_threads();
    let got = client
        .request("thread.get", json!({"threadId": thread}))
        .await;
    let last = got["events"].as_array().unwrap().last().unwrap();
    assert_eq!(last["notification"], "item.delta");
    go.notify_one();
    let told = client.read_until_turn_ends().await;
    assert_eq!(told.last().unwrap()["status"], "completed");
    client.close().await;
}

/// A client that closes its input still gets the response to its last request, even if the turn has to start first.
#[tokio::test]
async fn last_request_before_a_disconnect_is_answered() {
    let test = TestHub::new(echo_agent());
    let mut client = test.connect_threads();
    let thread = client.create().await;
    let input = json!([{"type": "text", "text": "Go"}]);
    let start = json!({"threadId": thread, "input": input});
    client.send_request("turn.start", start).await;
    let rest = client.hang_up().await;
    let [
        MessageFromAgent::Notification { method, .. },
        MessageFromAgent::Response { result: Ok(_), .. },
        ..,
    ] = &rest[..]
    else {
        panic!("{rest:?}");
    };
    assert_eq!(method, "turn.started");
}
