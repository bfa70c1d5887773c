//! Sessions that cannot be opened, each with a reason that a program can evaluate.

use std::fs;

use harn_model::SessionId;
use harn_testkit::{ScriptedAgent, TestHub};
use harn_tests::check_transcript;
use serde_json::json;

use crate::golden::{existing_session_params, initialize, open, prompt};

#[tokio::test]
async fn unavailable_sessions_are_rejected_with_a_reason() {
    let test = TestHub::new(ScriptedAgent::silent());
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;
    let nowhere = json!("session-99");

    let id = prompt(&mut client, &nowhere, "hello").await;
    assert_eq!(client.expect_error(&id).await["code"], -32002);
    for method in ["session/load", "session/resume", "session/fork"] {
        let params = existing_session_params(&nowhere, &test.workspace());
        let error = client.request_error(method, params).await;
        assert_eq!(error["code"], -32002, "{method}");
        assert_eq!(error["data"]["reason"], "unknown_session", "{method}");
    }
    let of = json!({"sessionId": nowhere});
    let error = client.request_error("session/close", of.clone()).await;
    assert_eq!(error["code"], -32002);
    // Deleting an unknown session succeeds.
    for id in [&nowhere, &json!("../../etc")] {
        let deleted = client.request("session/delete", json!({"sessionId": id}));
        assert_eq!(deleted.await, json!({}));
    }
    let params = json!({"sessionId": nowhere, "modeId": "ask"});
    let error = client.request_error("session/set_mode", params).await;
    assert_eq!(error["code"], -32002);
    // An id is not a path.
    let params = existing_session_params(&json!("../../etc"), &test.workspace());
    let error = client.request_error("session/load", params).await;
    assert_eq!(error["code"], -32002);

    for cwd in ["src", "/nowhere/at/all"] {
        let params = json!({"cwd": cwd, "mcpServers": []});
        let error = client.request_error("session/new", params).await;
        assert_eq!(error["data"]["reason"], "bad_cwd");
    }
    let elsewhere = existing_session_params(&session, &test.state_dir());
    let error = client.request_error("session/load", elsewhere).await;
    assert_eq!(error["data"]["reason"], "wrong_cwd");

    test.recorder()
        .record_note("a second agent on the same state");
    let other = test.start_second();
    let mut second = other.connect();
    initialize(&mut second).await;
    let params = existing_session_params(&session, &test.workspace());
    let error = second.request_error("session/load", params.clone()).await;
    assert_eq!(error["data"]["reason"], "session_locked");
    let of = json!({"sessionId": session});
    let error = second.request_error("session/delete", of.clone()).await;
    assert_eq!(error["data"]["reason"], "session_locked");
    let closing = client.send_request("session/close", of.clone()).await;
    client.expect_event_of("session_closed").await;
    client.expect_response(&closing).await;
    second.request("session/resume", params.clone()).await;
    let closing = second.send_request("session/close", of).await;
    second.expect_event_of("session_closed").await;
    second.expect_response(&closing).await;

    second
        .recorder()
        .record_note("the session's log is damaged");
    let id = SessionId::from(session.as_str().unwrap());
    fs::write(test.log_path(&id), "not an event\n").unwrap();
    let error = second.request_error("session/load", params).await;
    assert_eq!(error["data"]["reason"], "session_corrupt");
    second.close().await;
    client.close().await;
    check_transcript("refusals", test.recorder());
}
