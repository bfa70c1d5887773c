//! The state directory is replaced during a turn: the turn ends with an error on every wire, and clients that only
//! watch receive the end of the session too.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use harn_acp::AcpConfig;
use harn_model::StopReason;
use harn_testkit::{
    FakeClock, Recorder, ScriptedAgent, StrictClient, TestHub,
    openharness::{OpenHarnessShell, intent_request},
};
use harn_tests::initialize_params;
use serde_json::{Map, Value, json};

const WHY: &str = "the file was removed or replaced while the session was open";

/// A hub whose agent loses the state directory in each turn.
fn losing_hub() -> TestHub {
    let clock = FakeClock::new();
    let (passing, state) = (clock.clone(), Arc::new(OnceLock::<PathBuf>::new()));
    let lost = state.clone();
    let agent = ScriptedAgent::new(move |cx| {
        let (passing, lost) = (passing.clone(), lost.clone());
        async move {
            cx.say("before").await?;
            cx.flush().await?;
            let state = lost.get().unwrap();
            fs::rename(state, state.with_extension("old")).unwrap();
            fs::create_dir(state).unwrap();
            passing.advance(Duration::from_secs(1));
            // This text is never sent.
            cx.say("after").await?;
            Ok(StopReason::EndTurn)
        }
    });
    let builder = TestHub::builder(agent).clock(clock);
    state.set(builder.folder().join("state")).unwrap();
    builder.build()
}

async fn connect(test: &TestHub, profile: &str) -> StrictClient {
    let (hub, config) = (test.hub().clone(), AcpConfig::default());
    let mut client = StrictClient::in_memory(hub, config, Recorder::default());
    let wishes = [("eventIds", json!(true)), ("profile", json!(profile))];
    let wishes = wishes.map(|(key, value)| (key.to_owned(), value));
    let params = initialize_params(&Map::from_iter(wishes));
    client.request("initialize", params).await;
    client
}

/// Reads until an update with a text that names the reason.
async fn read_reason(client: &mut StrictClient) -> Value {
    loop {
        let params = match client.next().await {
            harn_testkit::MessageFromAgent::Notification { params, .. } => params,
            other => panic!("{other:?}"),
        };
        if params.to_string().contains(WHY) {
            return params;
        }
    }
}

#[tokio::test]
async fn acp_clients_receive_the_end_of_the_session() {
    let test = losing_hub();
    let mut editor = connect(&test, "harn").await;
    let new = json!({"cwd": test.workspace(), "mcpServers": []});
    let session = editor.request("session/new", new).await["sessionId"].take();
    let mut watchers = Vec::new();
    for profile in ["harn", "acp"] {
        let mut watcher = connect(&test, profile).await;
        let attach = json!({"sessionId": session, "clientId": profile});
        let id = watcher.send_request("session/attach", attach).await;
        watcher.collect_updates_until(&id).await;
        watchers.push(watcher);
    }
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "Go"}]});
    let id = editor.send_request("session/prompt", prompt).await;

    let closed = read_reason(&mut editor).await;
    assert_eq!(
        (&closed["kind"], &closed["status"]),
        (&json!("session_closed"), &json!("failed"))
    );
    assert_eq!(
        closed["_meta"],
        Value::Null,
        "an id of an event that is not stored"
    );
    let error = editor.expect_error(&id).await;
    assert_eq!(error["data"]["reason"], "journal_failed");
    assert!(error["message"].as_str().unwrap().contains(WHY), "{error}");
    let seen = read_reason(&mut watchers[0]).await;
    assert_eq!(seen, closed);
    let seen = read_reason(&mut watchers[1]).await;
    assert_eq!(seen["update"]["sessionUpdate"], "agent_thought_chunk");

    // What is in the place of the directory now has no such session.
    let load = json!({"sessionId": session, "cwd": test.workspace(), "mcpServers": []});
    let error = editor.request_error("session/load", load).await;
    assert_eq!(error["data"]["reason"], "unknown_session");
    for client in watchers.into_iter().chain([editor]) {
        client.vanish();
    }
}

#[tokio::test]
async fn turn_of_a_thread_ends_with_an_error() {
    let test = losing_hub();
    let mut client = test.connect_threads();
    let thread = client.create().await;
    client.start_turn(&thread, "Go").await;
    let told = client.read_until_turn_ends().await;
    let end = told.last().unwrap();
    assert_eq!(end["status"], "error");
    assert!(end["error"].as_str().unwrap().contains(WHY), "{end}");
    client.close().await;
}

#[tokio::test]
async fn document_shows_the_error() {
    let test = losing_hub();
    let server = test.serve_state();
    let mut page = server.connect("session=new").await;
    let mut watcher = server.connect(&format!("session={}", page.session())).await;
    page.submit("Go").await;
    for client in [&mut page, &mut watcher] {
        client.read_until_status("error").await;
        assert!(client.text("/error").contains(WHY), "{}", client.state());
        assert_eq!(client.text("/messages/1/content"), "before");
        client.read_close().await;
    }
}

#[tokio::test]
async fn shell_receives_an_error() {
    let test = losing_hub();
    let shell = OpenHarnessShell::new(&test);
    let lost = shell.post(&intent_request("req_1", "Go")).await;
    assert_eq!(lost.code(), "engine_unavailable");
}
