//! The document of all sessions.

use std::time::Duration;

use harn_testkit::{ReceivedFrame, StateClient};
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::sockets::test_agent::serve_agent;

fn rows(client: &StateClient) -> Vec<(String, String)> {
    let rows = client.state()["sessions"].as_array().unwrap().iter();
    let word = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    rows.map(|row| (word(&row["id"]), word(&row["status"])))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn rows_follow_their_sessions() {
    let (test, server) = serve_agent();
    let mut list = server.connect_sessions().await;
    assert_eq!(rows(&list), []);
    let mut client = server.connect("client=ann").await;
    let session = client.session();
    list.read_until(|state| state["sessions"] != json!([]))
        .await;
    assert_eq!(rows(&list), [(session.clone(), "idle".to_owned())]);
    list.read_until(|state| state["sessions"][0]["controller"] == "ann")
        .await;
    assert_eq!(list.state()["sessions"][0]["clients"], 1);
    client.submit("ask").await;
    client
        .read_until(|state| state["approvals"] != json!([]))
        .await;
    list.read_until(|state| state["sessions"][0]["status"] == "waiting")
        .await;
    client.command(json!({"type": "cancel"})).await;
    client.read_until_quiet().await;
    list.read_until(|state| state["sessions"][0]["status"] == "idle")
        .await;
    client.submit("wait").await;
    client.read_until_status("running").await;
    list.read_until(|state| state["sessions"][0]["status"] == "running")
        .await;
    client.command(json!({"type": "cancel"})).await;
    client.read_until_quiet().await;
    client.submit("fail").await;
    client.read_until_status("error").await;
    list.read_until(|state| state["sessions"][0]["status"] == "error")
        .await;
    client.submit("hello").await;
    list.read_until(|state| state["sessions"][0]["status"] == "idle")
        .await;
    // The session that changed last is first.
    test.clock().advance(Duration::from_secs(5));
    let other = server.connect("session=new").await;
    list.read_until(|state| state["sessions"].as_array().unwrap().len() == 2)
        .await;
    assert_eq!(rows(&list)[0].0, other.session());
    test.hub().delete(&other.session().into()).await.unwrap();
    list.read_until(|state| state["sessions"].as_array().unwrap().len() == 1)
        .await;
    test.hub().close(&session.as_str().into()).await;
    client.read_close().await;
    list.read_until(|state| state["sessions"][0]["status"] == "closed")
        .await;
    assert_eq!(list.state()["sessions"][0]["controller"], json!(null));
}

/// A restart closes every session. The next turn that succeeds clears the mark.
#[tokio::test(start_paused = true)]
async fn a_failed_session_is_marked_after_a_restart() {
    let (mut test, server) = serve_agent();
    let mut client = server.connect("").await;
    let session = client.session();
    client.submit("fail").await;
    client.read_until_status("error").await;
    drop((client, server));
    test.restart().await;
    let server = test.serve_state();
    let list = server.connect_sessions().await;
    assert_eq!(rows(&list), [(session.clone(), "error".to_owned())]);
    let mut client = server.connect(&format!("session={session}")).await;
    client.submit("hello").await;
    client.read_until_quiet().await;
    drop((client, list, server));
    test.restart().await;
    let server = test.serve_state();
    let list = server.connect_sessions().await;
    assert_eq!(rows(&list), [(session, "closed".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn the_list_names_the_directory_of_new_sessions_and_examples() {
    let (_test, server) = serve_agent();
    let list = server.connect_sessions().await;
    let made = server.connect("").await;
    assert_eq!(list.state()["cwd"], made.state()["session"]["cwd"]);
    assert_eq!(list.state()["examples"], json!(["/go"]));
}

#[tokio::test(start_paused = true)]
async fn the_list_accepts_no_commands() {
    let (_test, server) = serve_agent();
    let mut list = server.connect_sessions().await;
    list.send_message(Message::text("{}")).await;
    let farewell = (1008, "this document accepts no commands".to_owned());
    assert_eq!(list.read_close().await, farewell);
    let mut list = server.connect_sessions().await;
    assert_eq!(list.read_until_quiet().await, Vec::<ReceivedFrame>::new());
}
