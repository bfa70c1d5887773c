//! Listing, closing, deleting and forking sessions.

use std::{
    fs::File,
    time::{Duration, SystemTime},
};

use harn_journal::{JsonlStore, META_VERSION, SessionMeta, Store};
use harn_model::{
    AgentEvent, ContentBlock, Envelope, Seq, SessionId, SessionInfo, StopReason, TurnStarted,
};
use harn_testkit::{FakeClock, ScriptedAgent, StrictClient, TestHub};
use harn_tests::{check_transcript, initialize_params};
use serde_json::{Map, Value, json};

use crate::golden::{existing_session_params, initialize, open, prompt, turn::working_hub};

/// Sets the time of a session's last change. The listing reads it from the file, which no fake clock controls.
fn set_changed_at(test: &TestHub, session: &str, seconds: u64) {
    let log = File::options()
        .append(true)
        .open(test.log_path(&SessionId::from(session)))
        .unwrap();
    let at = SystemTime::UNIX_EPOCH + Duration::from_millis(FakeClock::START);
    log.set_modified(at + Duration::from_secs(seconds)).unwrap();
}

#[tokio::test]
async fn list_shows_titles_and_filters_by_directory() {
    let test = working_hub();
    let mut client = test.connect();
    initialize(&mut client).await;
    let listed = client.request("session/list", json!({})).await;
    assert_eq!(listed["sessions"], json!([]));
    let titled = open(&mut client, &test).await;
    // Editors send attachments before the text of a prompt.
    let link = json!({"type": "resource_link", "uri": "file:///workspace/src/parse.rs", "name": "parse.rs"});
    let text = json!({"type": "text", "text": "Where is the parser?\nAnd the lexer?"});
    let params = json!({"sessionId": titled, "prompt": [link, text]});
    let id = client.send_request("session/prompt", params).await;
    client.collect_updates_until(&id).await;
    let other = test.workspace().join("other");
    std::fs::create_dir(&other).unwrap();
    let params =
        json!({"cwd": other, "additionalDirectories": [test.workspace()], "mcpServers": []});
    let unused = client.request("session/new", params).await["sessionId"].clone();
    set_changed_at(&test, "session-1", 10);
    set_changed_at(&test, "session-2", 20);
    let listed = client.request("session/list", Value::Null).await;
    let ids = |listed: &Value| {
        let sessions = listed["sessions"].as_array().unwrap().iter();
        sessions.map(|s| s["sessionId"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&listed), ["session-2", "session-1"]);
    let params = json!({"cwd": test.workspace()});
    let listed = client.request("session/list", params).await;
    assert_eq!(ids(&listed), ["session-1"]);
    assert_eq!(listed["sessions"][0]["title"], "Where is the parser?");

    // A session that was never used is listed only while it is open.
    let closing = json!({"sessionId": unused});
    let closing = client.send_request("session/close", closing).await;
    client.expect_event_of("session_closed").await;
    client.expect_response(&closing).await;
    let listed = client.request("session/list", json!({})).await;
    assert_eq!(ids(&listed), ["session-1"]);
    client.close().await;
    check_transcript("list", test.recorder());
}

#[tokio::test]
async fn list_returns_each_session_once_across_pages() {
    let test = TestHub::new(ScriptedAgent::silent());
    let store = JsonlStore::new(test.state_dir());
    for number in 1..=52 {
        let id = format!("old-{number:02}");
        let meta = SessionMeta {
            v: META_VERSION,
            thread_id: id.as_str().into(),
            title: String::new(),
            directory: test.workspace(),
            additional_directories: Vec::new(),
            created: FakeClock::START,
            parent: None,
            worker: None,
            principal: None,
            failed: false,
            archived: false,
        };
        let prompted = Envelope {
            seq: Seq(1),
            at: FakeClock::START,
            turn: Some("turn-1".into()),
            event: AgentEvent::TurnStarted(Box::new(TurnStarted {
                message_id: "msg-1".into(),
                prompt: vec![ContentBlock::text("Where is the parser?")],
                live_session: None,
            })),
        };
        let mut log = store.create(meta).unwrap();
        log.append(&[prompted]).unwrap();
        drop(log);
        // Two sessions share each time, so that the cursor has to distinguish them.
        set_changed_at(&test, &id, number / 2);
    }
    let mut client = test.connect();
    initialize(&mut client).await;
    let first = client.request("session/list", json!({})).await;
    let params = json!({"cursor": first["nextCursor"]});
    let second = client.request("session/list", params).await;
    assert!(second.get("nextCursor").is_none(), "{second}");
    let ids = |page: &Value| {
        let sessions = page["sessions"].as_array().unwrap().iter();
        sessions
            .map(|s| s["sessionId"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&first).len(), 50);
    let mut all = [ids(&first), ids(&second)].concat();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 52, "each of them once");
    client.close().await;
    check_transcript("list-pages", test.recorder());
}

/// The client acpx prints the `_meta` of rows.
#[tokio::test]
async fn a_plain_client_lists_rows_without_vendor_data() {
    let test = working_hub();
    let mut client = test.connect();
    let plain = Map::from_iter([("profile".to_owned(), json!("acp"))]);
    client
        .request("initialize", initialize_params(&plain))
        .await;
    open(&mut client, &test).await;
    let listed = client.request("session/list", json!({})).await;
    let rows = listed["sessions"].as_array().unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].get("_meta"), None, "{listed}");
    client.close().await;
}

/// An agent that works until it is cancelled.
fn slow_agent() -> ScriptedAgent {
    ScriptedAgent::new(|cx| async move {
        cx.say("Working").await?;
        cx.cancelled().await;
        Ok(StopReason::EndTurn)
    })
}

#[tokio::test]
async fn close_ends_a_session_and_delete_removes_it() {
    let test = TestHub::new(slow_agent());
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;
    let of = json!({"sessionId": session});

    // The running turn ends, and its prompt is answered, before the close.
    let running = prompt(&mut client, &session, "slow").await;
    client.expect_update_of("agent_message_chunk").await;
    let closing = client.send_request("session/close", of.clone()).await;
    client.expect_update_of("session_info_update").await;
    let result = client.expect_response(&running).await;
    assert_eq!(result["stopReason"], "cancelled");
    client.expect_event_of("session_closed").await;
    client.expect_response(&closing).await;

    // The session is not open any more, but it exists.
    let id = prompt(&mut client, &session, "hello?").await;
    assert_eq!(client.expect_error(&id).await["code"], -32002);
    let again = existing_session_params(&session, &test.workspace());
    client.request("session/resume", again.clone()).await;

    let deleting = client.send_request("session/delete", of.clone()).await;
    client.expect_event_of("session_closed").await;
    client.expect_response(&deleting).await;
    let gone = client.request_error("session/load", again).await;
    assert_eq!(gone["data"]["reason"], "unknown_session");
    let listed = client.request("session/list", json!({})).await;
    assert_eq!(listed["sessions"], json!([]));
    client.close().await;
    check_transcript("close-and-delete", test.recorder());
}

/// An agent that sets the title of its session to the prompt.
fn self_titling_agent() -> ScriptedAgent {
    ScriptedAgent::new(|cx| async move {
        let info = SessionInfo {
            title: Some(cx.prompt_text()),
            ..SessionInfo::default()
        };
        cx.emit(AgentEvent::SessionInfo(info)).await?;
        Ok(StopReason::EndTurn)
    })
}

/// Returns the rows of a listing as `(sessionId, title)`.
async fn list_titles(client: &mut StrictClient, params: Value) -> Vec<(Value, Value)> {
    let mut listed = client.request("session/list", params).await;
    let rows = listed["sessions"].as_array_mut().unwrap().iter_mut();
    rows.map(|row| (row["sessionId"].take(), row["title"].take()))
        .collect()
}

/// A title set by a client has priority over the agent's, for open and closed sessions and after a restart.
#[tokio::test]
async fn a_client_sets_the_title() {
    let mut test = TestHub::new(self_titling_agent());
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;
    let id = prompt(&mut client, &session, "first").await;
    client.collect_updates_until(&id).await;
    let title = |title: &str| json!({"sessionId": session, "title": title});
    let chosen = title("  The leaking\n bucket ");
    let id = client.send_request("session/set_title", chosen).await;
    let update = client.expect_update_of("session_info_update").await;
    assert_eq!(update["title"], "The leaking bucket");
    let stored = client.expect_response(&id).await;
    assert_eq!(stored, json!({"title": "The leaking bucket"}));
    let id = prompt(&mut client, &session, "second").await;
    let (updates, _) = client.collect_updates_until(&id).await;
    assert_eq!(updates, Vec::<Value>::new());
    set_changed_at(&test, "session-1", 1);
    let row = |title: &str| vec![(session.clone(), json!(title))];
    let listed = list_titles(&mut client, json!({})).await;
    assert_eq!(listed, row("The leaking bucket"));

    // The session need not be open.
    let closing = json!({"sessionId": session});
    let closing = client.send_request("session/close", closing).await;
    client.expect_event_of("session_closed").await;
    client.expect_response(&closing).await;
    let other = title("Another bucket");
    client.request("session/set_title", other).await;
    set_changed_at(&test, "session-1", 2);
    let listed = list_titles(&mut client, json!({})).await;
    assert_eq!(listed, row("Another bucket"));
    let empty = title(" \n");
    let refused = client.request_error("session/set_title", empty).await;
    assert_eq!(refused["code"], -32602);
    let unknown = json!({"sessionId": "nosuch", "title": "A title"});
    let refused = client.request_error("session/set_title", unknown).await;
    assert_eq!(refused["code"], -32002);
    client.close().await;
    check_transcript("set-title", test.recorder());

    test.restart().await;
    let mut client = test.connect();
    initialize(&mut client).await;
    let id = client
        .send_request(
            "session/load",
            existing_session_params(&session, &test.workspace()),
        )
        .await;
    let (replayed, _) = client.collect_updates_until(&id).await;
    let named = |it: &&Value| it["sessionUpdate"] == "session_info_update";
    assert_eq!(
        replayed.iter().rfind(named).unwrap()["title"],
        "Another bucket"
    );
    let id = prompt(&mut client, &session, "third").await;
    client.collect_updates_until(&id).await;
    let listed = list_titles(&mut client, json!({})).await;
    assert_eq!(listed, row("Another bucket"));
    client.close().await;
}

/// Listings omit an archived session; a client can still open it.
#[tokio::test]
async fn archive_hides_a_session_from_listings() {
    let mut test = TestHub::new(slow_agent());
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;
    let id = prompt(&mut client, &session, "slow").await;
    client.expect_update_of("agent_message_chunk").await;
    let of = json!({"sessionId": session});
    // The running turn is cancelled, as by `session/close`.
    let archiving = client.send_request("session/archive", of.clone()).await;
    client.expect_update_of("session_info_update").await;
    assert_eq!(client.expect_response(&id).await["stopReason"], "cancelled");
    client.expect_event_of("session_closed").await;
    assert_eq!(client.expect_response(&archiving).await, json!({}));
    set_changed_at(&test, "session-1", 1);
    let row = || vec![(session.clone(), json!("slow"))];
    assert_eq!(list_titles(&mut client, json!({})).await, []);
    for filter in ["include", "only"] {
        let params = json!({"archived": filter});
        assert_eq!(list_titles(&mut client, params).await, row(), "{filter}");
    }
    let odd = json!({"archived": "sometimes"});
    let refused = client.request_error("session/list", odd).await;
    assert_eq!(refused["code"], -32602);
    // A second archive succeeds. Opening the session does not unarchive it.
    client.request("session/archive", of.clone()).await;
    client
        .request(
            "session/resume",
            existing_session_params(&session, &test.workspace()),
        )
        .await;
    assert_eq!(list_titles(&mut client, json!({})).await, []);
    client.request("session/unarchive", of.clone()).await;
    set_changed_at(&test, "session-1", 2);
    assert_eq!(list_titles(&mut client, json!({})).await, row());
    assert_eq!(
        list_titles(&mut client, json!({"archived": "only"})).await,
        []
    );
    for method in ["session/archive", "session/unarchive"] {
        let unknown = json!({"sessionId": "nosuch"});
        assert_eq!(client.request_error(method, unknown).await["code"], -32002);
    }
    let archiving = client.send_request("session/archive", of.clone()).await;
    client.expect_event_of("session_closed").await;
    client.expect_response(&archiving).await;
    client.close().await;
    check_transcript("archive", test.recorder());

    test.restart().await;
    let mut client = test.connect();
    initialize(&mut client).await;
    assert_eq!(list_titles(&mut client, json!({})).await, []);
    client.request("session/unarchive", of.clone()).await;
    client.request("session/unarchive", of).await;
    assert_eq!(list_titles(&mut client, json!({})).await, row());
    client.close().await;
}

#[tokio::test]
async fn fork_copies_the_history_and_continues_apart() {
    let test = working_hub();
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;
    let id = prompt(&mut client, &session, "Where is the parser?").await;
    let (live, _) = client.collect_updates_until(&id).await;
    let params = existing_session_params(&session, &test.workspace());
    let fork = client.request("session/fork", params).await["sessionId"].take();
    assert_eq!(fork, "session-2");

    // The fork has the history and continues independently.
    let params = existing_session_params(&fork, &test.workspace());
    let id = client.send_request("session/load", params).await;
    let (replayed, _) = client.collect_updates_until(&id).await;
    assert_eq!(replayed[1..], live);
    let id = prompt(&mut client, &fork, "And the lexer?").await;
    client.collect_updates_until(&id).await;
    let params = existing_session_params(&session, &test.workspace());
    let id = client.send_request("session/load", params).await;
    let (replayed, _) = client.collect_updates_until(&id).await;
    assert_eq!(replayed[1..], live);
    client.close().await;
    check_transcript("fork", test.recorder());
}
