//! The ends of sockets, sessions, servers and processes.

use std::{fs, time::Duration};

use harn_testkit::{ReceivedFrame, TestHub};
use serde_json::json;
use tokio::time::sleep;

use crate::sockets::test_agent::{agent, serve_agent};

#[tokio::test(start_paused = true)]
async fn a_closed_session_closes_its_sockets() {
    let (test, server) = serve_agent();
    let mut client = server.connect("").await;
    let mut other = server
        .connect(&format!("session={}", client.session()))
        .await;
    client.submit("hello").await;
    client.read_until_quiet().await;
    test.hub().close(&client.session().into()).await;
    let closed = (1013, "the session was closed".to_owned());
    assert_eq!(client.read_close().await, closed);
    assert_eq!(other.read_close().await, closed);
    // A client that connects again opens the session again.
    let again = server
        .connect(&format!("session={}", client.session()))
        .await;
    assert_eq!(again.messages(), client.messages());
}

#[tokio::test(start_paused = true)]
async fn a_deleted_session_is_not_found() {
    let (test, server) = serve_agent();
    let mut client = server.connect("").await;
    let session = client.session();
    test.hub().delete(&session.as_str().into()).await.unwrap();
    assert_eq!(client.read_close().await.0, 1013);
    let refused = server.try_open("/ws", &format!("session={session}")).await;
    assert_eq!(refused.err().unwrap().status, 404);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_shuts_down_closes_its_sockets() {
    let test = TestHub::new(agent());
    let mut ending = None;
    let server = test.serve_state_with(|config| ending = Some(config.ending.clone()));
    let mut client = server.connect("").await;
    let mut sessions = server.connect_sessions().await;
    ending.unwrap().cancel();
    let away = (1001, "the server is shutting down".to_owned());
    assert_eq!(client.read_close().await, away);
    assert_eq!(sessions.read_close().await, away);
}

#[tokio::test(start_paused = true)]
async fn a_run_outlives_its_sockets() {
    let (_test, server) = serve_agent();
    let mut client = server.connect("").await;
    let session = client.session();
    client.submit("flood 100").await;
    client.read_until_status("running").await;
    client.close().await;
    sleep(Duration::from_secs(1)).await;
    let again = server.connect(&format!("session={session}")).await;
    assert_eq!(again.text("/status"), "idle");
    assert!(again.text("/messages/1/content").ends_with("99 "));
}

#[tokio::test(start_paused = true)]
async fn the_document_survives_a_restart() {
    let (mut test, server) = serve_agent();
    let mut client = server.connect("").await;
    for prompt in ["hello", "tool", "fail"] {
        client.submit(prompt).await;
        client.read_until_quiet().await;
    }
    let before = client.state().clone();
    let session = client.session();
    client.close().await;
    test.restart().await;
    let server = test.serve_state();
    let again = server.connect(&format!("session={session}")).await;
    assert_eq!(again.state()["messages"], before["messages"]);
    assert_eq!(again.state()["error"], before["error"]);
    assert_eq!(again.state()["status"], "error");
}

/// A process died in the middle: nothing seems to continue, and no message is lost.
#[tokio::test(start_paused = true)]
async fn after_a_crash_nothing_runs() {
    let (test, server) = serve_agent();
    let mut client = server.connect("").await;
    client.submit("wait").await;
    client
        .read_until(|state| state["messages"][1]["toolCalls"] != json!([]))
        .await;
    client.submit("later").await;
    client
        .read_until(|state| !state["messages"][2].is_null())
        .await;
    let session = client.session();
    // Another process reads the log as the first had written it by then.
    let log = test.log_path(&session.as_str().into());
    let written = fs::read(&log).unwrap();
    client.close().await;
    test.hub().shutdown().await;
    fs::write(&log, written).unwrap();
    let after = test.start_second();
    let server = after.serve_state();
    let mut again = server.connect(&format!("session={session}")).await;
    assert_eq!(again.text("/status"), "error");
    assert_eq!(
        again.text("/error"),
        "the process ended in the middle of this run"
    );
    assert_eq!(
        again.messages(),
        [
            "user complete wait",
            "assistant error Working.",
            "user error later"
        ]
    );
    assert_eq!(again.text("/messages/1/toolCalls/0/status"), "error");
    // The session continues.
    again.submit("hello").await;
    assert_eq!(again.next().await, ReceivedFrame::State);
    again.read_until_quiet().await;
    assert_eq!(again.text("/status"), "idle");
    assert_eq!(again.messages().pop().unwrap(), "assistant complete hello");
}
