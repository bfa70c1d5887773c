//! Threads after a restart, after a crash, and while another process has them open.

use std::{fs, time::Duration};

use harn_model::{StopReason, ToolContent, ToolKind};
use harn_testkit::{FakeClock, ScriptedAgent, TestHub};
use serde_json::{Value, json};

use crate::golden_threads::check_transcript;

/// A hub whose agent sends texts and runs a tool with output; on the prompt `stay` it waits for a cancel.
fn working_hub() -> TestHub {
    let clock = FakeClock::new();
    let agents = clock.clone();
    let agent = ScriptedAgent::new(move |cx| {
        let clock = agents.clone();
        async move {
            cx.think("Tests?").await?;
            cx.say("Let me ").await?;
            cx.say("look.").await?;
            let tests = cx.tool("run_tests").kind(ToolKind::Search).start().await?;
            // Writes the events before the clock advances.
            cx.flush().await?;
            clock.advance(Duration::from_millis(5));
            tests.show(vec![ToolContent::text("one")]).await?;
            tests.complete("one\ntwo".to_owned()).await?;
            cx.say("Both pass.").await?;
            if cx.prompt_text() == "stay" {
                cx.cancelled().await;
            }
            Ok(StopReason::EndTurn)
        }
    });
    TestHub::builder(agent).clock(clock).build()
}

fn notification_names(events: &Value) -> Vec<&str> {
    let events = events.as_array().unwrap().iter();
    events
        .map(|event| event["notification"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn history_is_the_same_after_a_restart() {
    let mut test = working_hub();
    let mut client = test.connect_threads();
    let thread = client.create().await;
    client.start_turn(&thread, "Run the tests").await;
    client.read_until_turn_ends().await;
    let get = json!({"threadId": thread});
    let before = client.request("thread.get", get.clone()).await;
    client.close().await;

    test.restart().await;
    test.recorder().record_note("the server is started again");
    let mut client = test.connect_threads();
    let after = client.request("thread.get", get).await;
    assert_eq!(after, before, "the same history, whoever tells it");
    assert_eq!(
        notification_names(&after["events"]),
        [
            "thread.created",
            "turn.started",
            "item.started",
            "item.completed",
            "item.started",
            "item.delta",
            "item.completed",
            "item.started",
            "item.delta",
            "item.completed",
            "item.started",
            "item.delta",
            "item.delta",
            "item.completed",
            "item.started",
            "item.delta",
            "item.completed",
            "turn.completed",
        ]
    );
    let times = after["events"].as_array().unwrap().iter();
    let times: Vec<_> = times.map(|event| event["timestamp"].as_u64()).collect();
    assert!(times.is_sorted_by(|a, b| a < b), "{times:?}");
    // The thread continues from there.
    client.start_turn(&thread, "And again").await;
    client.read_until_turn_ends().await;
    client.close().await;
    check_transcript("restart-and-get", test.recorder());
}

/// The server finds ended turns in the log, also when the cancel is the first request for the thread.
#[tokio::test]
async fn turns_that_ended_before_a_restart_are_known() {
    let mut test = working_hub();
    let mut client = test.connect_threads();
    let thread = client.create().await;
    let turn = client.start_turn(&thread, "Run the tests").await;
    client.read_until_turn_ends().await;
    client.close().await;

    test.restart().await;
    let mut client = test.connect_threads();
    let ended = json!({"threadId": thread, "turnId": turn});
    let done = client.request("turn.cancel", ended).await;
    assert_eq!(done, json!({"ok": true}));
    client.close().await;

    test.restart().await;
    let mut client = test.connect_threads();
    let unknown = json!({"threadId": thread, "turnId": "turn-99"});
    let error = client.request_error("turn.cancel", unknown).await;
    assert_eq!(error["code"], -32003);
    client.close().await;
}

/// The log ends in the middle of a turn, with an incomplete line.
#[tokio::test]
async fn crash_ends_the_open_turn_with_an_error() {
    let mut test = working_hub();
    let mut client = test.connect_threads();
    let thread = client.create().await;
    client.start_turn(&thread, "Run the tests").await;
    client.read_until_turn_ends().await;
    client.close().await;
    test.hub().shutdown().await;
    let log = test.log_path(&thread.as_str().into());
    let text = fs::read_to_string(&log).unwrap();
    let at = text.find(r#""type":"tool_call_update""#).unwrap();
    fs::write(&log, &text[..at]).unwrap();

    test.restart().await;
    test.recorder()
        .record_note("the process was killed while the tool ran, and is started again");
    let mut client = test.connect_threads();
    let get = json!({"threadId": thread});
    let got = client.request("thread.get", get).await;
    let events = got["events"].as_array().unwrap();
    let [.., tool, end] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(tool["type"], "tool_exec");
    assert!(
        tool["data"]["error"]
            .as_str()
            .unwrap()
            .starts_with("interrupted")
    );
    assert_eq!(
        (&end["notification"], &end["status"]),
        (&json!("turn.error"), &json!("error"))
    );
    client.start_turn(&thread, "Once more").await;
    client.read_until_turn_ends().await;
    client.close().await;
    check_transcript("crash-and-get", test.recorder());
}

/// The stream continues after a history that is fetched during a turn, without gap or repetition.
#[tokio::test]
async fn stream_continues_after_a_history_fetched_during_a_turn() {
    let test = working_hub();
    let mut client = test.connect_threads();
    let thread = client.create().await;
    client.start_turn(&thread, "stay").await;
    loop {
        let params = match client.next().await {
            harn_testkit::MessageFromAgent::Notification { params, .. } => params,
            other => panic!("{other:?}"),
        };
        if params["delta"] == "Both pass." {
            break;
        }
    }
    let mut other = test.connect_threads();
    let get = json!({"threadId": thread});
    let mine = client.request("thread.get", get.clone()).await;
    let theirs = other.request("thread.get", get).await;
    assert_eq!(mine, theirs);
    let last = mine["events"].as_array().unwrap().last().unwrap();
    assert_eq!(last["delta"], "Both pass.");
    client
        .request("turn.cancel", json!({"threadId": thread}))
        .await;
    let told = client.read_until_turn_ends().await;
    assert_eq!(told[0]["itemId"], last["itemId"]);
    assert_eq!(told[1]["status"], "cancelled");
    // The client that fetched the history receives the stream too.
    assert_eq!(other.read_until_turn_ends().await, told);
    other.close().await;
    client.close().await;
}

#[tokio::test]
async fn thread_open_in_another_process_is_rejected() {
    let test = working_hub();
    let mut client = test.connect_threads();
    let thread = client.create().await;
    let beside = test.start_second();
    let mut other = beside.connect_threads();
    let get = json!({"threadId": thread});
    let error = other.request_error("thread.get", get).await;
    assert_eq!(error["code"], -32603);
    assert_eq!(
        error["message"],
        "the thread is open in another process; stop that process first"
    );
    other.close().await;
    client.close().await;
}
