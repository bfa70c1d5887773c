//! Creating, listing and fetching threads, and several threads at once.

use std::{sync::Arc, time::Duration};

use harn_model::{ConfigChoice, ConfigOption, StopReason};
use harn_testkit::{ScriptedAgent, TestHub};
use serde_json::json;
use tokio::sync::Notify;

use crate::golden_threads::check_transcript;

#[tokio::test]
async fn threads_are_created_listed_and_fetched() {
    let agent = ScriptedAgent::new(|cx| async move {
        cx.say("Hello.").await?;
        Ok(StopReason::EndTurn)
    });
    let test = TestHub::new(agent);
    std::fs::create_dir(test.workspace().join("sub")).unwrap();
    let mut client = test.connect_threads();
    let none = client.request("thread.list", json!(null)).await;
    assert_eq!(none, json!({"threads": []}));

    let params = json!({"title": "The parser", "directory": "sub"});
    let id = client.send_request("thread.create", params).await;
    let created = client.expect("thread.created").await;
    assert_eq!(created["title"], "The parser");
    let answer = client.expect_response(&id).await;
    let directory = answer["thread"]["directory"].as_str().unwrap();
    assert_eq!(directory, test.workspace().join("sub").to_str().unwrap());

    test.clock().advance(Duration::from_secs(1));
    let thread = client.create().await;
    client.start_turn(&thread, "Say hello").await;
    client.read_until_turn_ends().await;

    let listed = client.request("thread.list", json!({})).await;
    let titles: Vec<_> = listed["threads"]
        .as_array()
        .unwrap()
        .iter()
        .map(|thread| thread["title"].as_str().unwrap())
        .collect();
    assert_eq!(titles, ["Say hello", "The parser"]);

    let titled = json!({"threadId": created["threadId"]});
    let got = client.request("thread.get", titled).await;
    assert_eq!(got["events"][0]["title"], "The parser");
    let got = client
        .request("thread.get", json!({"threadId": thread}))
        .await;
    assert_eq!(got["thread"]["title"], "Say hello");
    // The title that `thread.created` had.
    assert_eq!(got["events"][0]["title"], "New thread");
    let unknown = json!({"threadId": "nobody"});
    let error = client.request_error("thread.get", unknown).await;
    assert_eq!(error["code"], -32001);
    client.close().await;
    check_transcript("create-list-get", test.recorder());
}

/// A busy thread does not block others.
#[tokio::test]
async fn busy_thread_does_not_block_another() {
    let go = Arc::new(Notify::new());
    let told = go.clone();
    let agent = ScriptedAgent::new(move |cx| {
        let go = told.clone();
        async move {
            cx.say("Here.").await?;
            if cx.prompt_text() == "wait" {
                go.notified().await;
            }
            Ok(StopReason::EndTurn)
        }
    });
    let test = TestHub::new(agent);
    let mut client = test.connect_threads();
    let slow = client.create().await;
    let quick = client.create().await;
    client.start_turn(&slow, "wait").await;
    client.expect_item("assistant_message").await;
    client.expect("item.delta").await;
    client.start_turn(&quick, "go on").await;
    let told = client.read_until_turn_ends().await;
    assert_eq!(told.last().unwrap()["threadId"], quick);
    go.notify_one();
    let told = client.read_until_turn_ends().await;
    assert_eq!(told.last().unwrap()["threadId"], slow);
    client.close().await;
    check_transcript("side-by-side", test.recorder());
}

/// `turn.start` can choose the options `model` and `agent`, if the agent has them.
#[tokio::test]
async fn turn_start_chooses_a_model() {
    let choice = |value: &str| ConfigChoice {
        value: value.to_owned(),
        name: value.to_uppercase(),
    };
    let model = ConfigOption {
        id: "model".to_owned(),
        name: "Model".to_owned(),
        description: "Which model answers".to_owned(),
        choices: vec![choice("small"), choice("large")],
        default: "small".to_owned(),
    };
    let agent = ScriptedAgent::new(|cx| async move {
        cx.say(cx.option("model").unwrap_or_default()).await?;
        Ok(StopReason::EndTurn)
    });
    let test = TestHub::new(agent.options(vec![model]));
    let mut client = test.connect_threads();
    let thread = client.create().await;
    let input = json!([{"type": "text", "text": "Which?"}]);
    let turn = |model: &str| {
        json!({
            "threadId": thread,
            "input": input,
            "model": {"providerID": "us", "modelID": model},
            // This agent has no such option, so the member is ignored.
            "agent": "code",
        })
    };
    let error = client.request_error("turn.start", turn("secret")).await;
    assert_eq!(
        error["message"],
        "model.modelID must be one of small, large"
    );
    let id = client.send_request("turn.start", turn("large")).await;
    client.expect("turn.started").await;
    client.expect_response(&id).await;
    let told = client.read_until_turn_ends().await;
    assert_eq!(told[3]["delta"], "large");
    client.close().await;
    check_transcript("settings", test.recorder());
}
