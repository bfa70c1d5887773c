//! Turns from prompt to end: text, thoughts, tools, failures, cancels.

use std::{sync::Arc, time::Duration};

use harn_model::{AgentEvent, Artifact, ErrorCategory, StopReason, ToolContent, ToolKind};
use harn_runtime::{AgentError, ToolOutput};
use harn_testkit::{FakeClock, ScriptedAgent, TestHub};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::golden_threads::check_transcript;

#[tokio::test]
async fn turn_streams_its_text_in_order() {
    let clock = FakeClock::new();
    let agents = clock.clone();
    let agent = ScriptedAgent::new(move |cx| {
        let clock = agents.clone();
        async move {
            cx.say("The parser is in ").await?;
            // Writes the events before the clock advances.
            cx.flush().await?;
            clock.advance(Duration::from_millis(3));
            cx.say("`src/parse.rs`.").await?;
            Ok(StopReason::EndTurn)
        }
    });
    let test = TestHub::builder(agent).clock(clock).build();
    let mut client = test.connect_threads();
    let thread = client.create().await;
    let input = json!([{"type": "text", "text": "Where is the parser?"}]);
    let params = json!({"threadId": thread, "input": input});
    let id = client.send_request("turn.start", params).await;
    let begun = client.expect("turn.started").await;
    let turn = client.expect_response(&id).await["turnId"].clone();
    let started = begun["time"].as_u64().unwrap();
    let running = json!({"turnId": turn, "threadId": thread, "status": "running",
        "time": {"started": started}});
    assert_eq!(begun["turn"], running);
    let said = client.expect_item("user_message").await;
    assert_eq!(said["turnId"], turn);
    assert_eq!(said["data"]["parts"][0]["text"], "Where is the parser?");
    client.expect("item.completed").await;
    let told = client.read_until_turn_ends().await;
    let text: String = told
        .iter()
        .filter_map(|params| params["delta"].as_str())
        .collect();
    assert_eq!(text, "The parser is in `src/parse.rs`.");
    let [.., completed, end] = &told[..] else {
        panic!("{told:?}");
    };
    assert_eq!(completed["data"]["text"], text);
    assert_eq!(end["status"], "completed");
    let time = json!({"started": started, "completed": started + 3});
    let over = json!({"turnId": turn, "threadId": thread, "status": "completed", "time": time});
    assert_eq!(end["turn"], over);
    // The fetched history has the same turns.
    let got = client
        .request("thread.get", json!({"threadId": thread}))
        .await;
    let told: Vec<_> = got["events"].as_array().unwrap().iter().collect();
    let turns: Vec<_> = told
        .iter()
        .map(|it| &it["turn"])
        .filter(|it| !it.is_null())
        .collect();
    assert_eq!(turns, [&running, &over]);
    client.close().await;
    check_transcript("turn", test.recorder());
}

#[tokio::test]
async fn artifact_does_not_end_a_message() {
    let agent = ScriptedAgent::new(|cx| async move {
        cx.think("Where is ").await?;
        cx.think("the parser?").await?;
        cx.say("I drew it.").await?;
        cx.emit(AgentEvent::Artifact(Box::new(Artifact {
            artifact_id: "chart-1".to_owned(),
            kind: "vega-lite".to_owned(),
            title: Some("Calls".to_owned()),
            mime_type: "application/json".to_owned(),
            spec: json!({"mark": "bar"}),
            fallback: "parse 3, lex 4".to_owned(),
            size_bytes: 14,
            provenance: Value::Null,
            metadata: Value::Null,
        })))
        .await?;
        cx.say(" Look.").await?;
        Ok(StopReason::EndTurn)
    });
    let test = TestHub::new(agent);
    let mut client = test.connect_threads();
    let thread = client.create().await;
    client.start_turn(&thread, "Draw it").await;
    let thought = client.expect_item("assistant_message").await;
    assert_eq!(thought["data"]["reasoning"], true);
    let told = client.read_until_turn_ends().await;
    let done: Vec<_> = told
        .iter()
        .filter(|params| params["notification"] == "item.completed")
        .collect();
    // An artifact does not end a message.
    assert_eq!(done[0]["data"]["text"], "Where is the parser?");
    assert_eq!(done[1]["type"], "artifact");
    assert_eq!(done[2]["data"]["text"], "I drew it. Look.");
    client.close().await;
    check_transcript("thought", test.recorder());
}

#[tokio::test]
async fn tool_output_streams_as_deltas() {
    let agent = ScriptedAgent::new(|cx| async move {
        let tests = cx
            .tool("run_tests")
            .kind(ToolKind::Search)
            .title("Run the tests")
            .input(json!({"filter": "parse"}))
            .start()
            .await?;
        for shown in ["one", "one\ntwo", "three"] {
            tests.show(vec![ToolContent::text(shown)]).await?;
        }
        tests.complete("three\nfour".to_owned()).await?;
        let count = cx.tool("count").kind(ToolKind::Search).start().await?;
        let counted = ToolOutput {
            raw: Some(json!({"tests": 4})),
            ..ToolOutput::default()
        };
        count.complete(counted).await?;
        let read = cx.tool("read_file").kind(ToolKind::Read).start().await?;
        read.fail("no such file", ErrorCategory::ToolError).await?;
        cx.say("4 tests pass.").await?;
        Ok(StopReason::EndTurn)
    });
    let test = TestHub::new(agent);
    let mut client = test.connect_threads();
    let thread = client.create().await;
    client.start_turn(&thread, "Run the tests").await;
    let tool = client.expect_item("tool_exec").await;
    assert_eq!(tool["data"]["status"], "pending");
    let told = client.read_until_turn_ends().await;
    let log: Vec<_> = told
        .iter()
        .filter(|params| params["type"] == "tool_log")
        .map(|params| params["delta"].as_str().unwrap())
        .collect();
    // A text that replaces another one has no delta.
    assert_eq!(log, ["one", "\ntwo"]);
    let ends: Vec<_> = told
        .iter()
        .filter(|params| params["type"] == "tool_exec")
        .map(|params| &params["data"])
        .collect();
    assert_eq!(ends[0]["output"], "three\nfour");
    assert_eq!(ends[1]["output"], r#"{"tests":4}"#);
    assert_eq!(ends[2]["error"], "no such file");
    client.close().await;
    check_transcript("tool", test.recorder());
}

#[tokio::test]
async fn failed_turn_reports_an_error_and_refused_turn_completes() {
    let agent = ScriptedAgent::new(|cx| async move {
        match cx.prompt_text().as_str() {
            "refuse" => Ok(StopReason::Refusal),
            _ => {
                cx.say("Let me look").await?;
                cx.tool("look").kind(ToolKind::Search).start().await?;
                Err(AgentError::failed("the model is not reachable"))
            }
        }
    });
    let test = TestHub::new(agent);
    let mut client = test.connect_threads();
    let thread = client.create().await;
    client.start_turn(&thread, "fail").await;
    let told = client.read_until_turn_ends().await;
    let end = told.last().unwrap();
    assert_eq!(
        (&end["status"], &end["error"]),
        (&json!("error"), &json!("the model is not reachable"))
    );
    client.start_turn(&thread, "refuse").await;
    let told = client.read_until_turn_ends().await;
    let end = told.last().unwrap();
    assert_eq!(
        (&end["status"], &end["stopReason"]),
        (&json!("completed"), &json!("refusal"))
    );
    client.close().await;
    check_transcript("failed-turn", test.recorder());
}

#[tokio::test]
async fn cancel_stops_only_the_turn_that_it_names() {
    let agent = ScriptedAgent::new(|cx| async move {
        cx.say("Working").await?;
        cx.tool("look").kind(ToolKind::Search).start().await?;
        cx.cancelled().await;
        Ok(StopReason::EndTurn)
    });
    let test = TestHub::new(agent);
    let mut client = test.connect_threads();
    let thread = client.create().await;
    let cancel = json!({"threadId": thread});
    let idle = client.request("turn.cancel", cancel.clone()).await;
    assert_eq!(idle, json!({"ok": true}));

    let turn = client.start_turn(&thread, "Go").await;
    client.expect_item("assistant_message").await;
    client.expect("item.delta").await;
    client.expect("item.completed").await;
    client.expect_item("tool_exec").await;
    // An unknown turn id does not cancel the running turn.
    let strange = json!({"threadId": thread, "turnId": "turn-99"});
    let error = client.request_error("turn.cancel", strange).await;
    assert_eq!(error["code"], -32003);
    let this = json!({"threadId": thread, "turnId": turn});
    let done = client.request("turn.cancel", this.clone()).await;
    assert_eq!(done, json!({"ok": true}));
    let told = client.read_until_turn_ends().await;
    assert_eq!(told[0]["data"]["error"], "the turn was cancelled");
    assert_eq!(told[1]["status"], "cancelled");
    assert_eq!(told[1]["turn"]["status"], "cancelled");
    // Cancelling a turn that is over succeeds.
    let done = client.request("turn.cancel", this.clone()).await;
    assert_eq!(done, json!({"ok": true}));

    // A late cancel does not stop the next turn.
    let next = client.start_turn(&thread, "Go").await;
    client.expect_item("assistant_message").await;
    client.expect("item.delta").await;
    client.expect("item.completed").await;
    client.expect_item("tool_exec").await;
    client.request("turn.cancel", this).await;
    let got = client.request("thread.get", cancel.clone()).await;
    let last = got["events"].as_array().unwrap().last().unwrap();
    assert_eq!(last["notification"], "item.started", "the turn still runs");
    client.request("turn.cancel", cancel).await;
    let told = client.read_until_turn_ends().await;
    assert_eq!(told[1]["turnId"], next.as_str());
    let unknown = json!({"threadId": "nobody"});
    let error = client.request_error("turn.cancel", unknown).await;
    assert_eq!(error["code"], -32001);
    client.close().await;
    check_transcript("cancel", test.recorder());
}

#[tokio::test]
async fn second_turn_is_rejected_while_one_runs() {
    let go = Arc::new(Notify::new());
    let told = go.clone();
    let agent = ScriptedAgent::new(move |cx| {
        let go = told.clone();
        async move {
            cx.say("Working").await?;
            go.notified().await;
            Ok(StopReason::EndTurn)
        }
    });
    let test = TestHub::new(agent);
    let mut client = test.connect_threads();
    let thread = client.create().await;
    client.start_turn(&thread, "one").await;
    client.expect_item("assistant_message").await;
    client.expect("item.delta").await;
    let input = json!([{"type": "text", "text": "two"}]);
    let second = json!({"threadId": thread, "input": input});
    let busy = client.request_error("turn.start", second).await;
    assert_eq!(busy["code"], -32002);
    go.notify_one();
    client.read_until_turn_ends().await;
    go.notify_one();
    client.start_turn(&thread, "two").await;
    client.read_until_turn_ends().await;
    client.close().await;
    check_transcript("busy", test.recorder());
}

#[tokio::test]
async fn files_are_links() {
    let agent = ScriptedAgent::new(|cx| async move {
        cx.say(cx.prompt_text()).await?;
        Ok(StopReason::EndTurn)
    });
    let test = TestHub::new(agent);
    let mut client = test.connect_threads();
    let thread = client.create().await;
    let input = json!([
        {"type": "text", "text": "Look at this"},
        {"type": "file", "url": "file:///workspace/a.rs", "filename": "a.rs", "mime": "text/x-rust"},
    ]);
    let params = json!({"threadId": thread, "input": input});
    let id = client.send_request("turn.start", params).await;
    client.expect("turn.started").await;
    client.expect_response(&id).await;
    let said = client.expect_item("user_message").await;
    assert_eq!(said["data"]["parts"], input);
    client.expect("item.completed").await;
    let told = client.read_until_turn_ends().await;
    let text = "Look at this\nfile:///workspace/a.rs";
    assert_eq!(told[2]["data"]["text"], text);
    client.close().await;
    check_transcript("file-input", test.recorder());
}

/// An agent may ask a person any question; this wire has messages for approvals only.
#[tokio::test]
async fn questions_are_sent_as_text() {
    let agent = ScriptedAgent::new(|cx| async move {
        let answer = cx.question("Which colour?").choices(["red", "blue"]).ask();
        match answer.await {
            Err(AgentError::Unanswered { .. }) => Ok(StopReason::EndTurn),
            other => panic!("{other:?}"),
        }
    });
    let test = TestHub::new(agent);
    let mut client = test.connect_threads();
    let thread = client.create().await;
    client.start_turn(&thread, "Paint it").await;
    let told = client.read_until_turn_ends().await;
    assert_eq!(told[1]["delta"], "Which colour?\n- red\n- blue");
    client.close().await;
    check_transcript("question", test.recorder());
}
