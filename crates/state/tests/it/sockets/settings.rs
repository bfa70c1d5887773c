//! The settings of a session, and the switch to another one.

use harn_testkit::ReceivedFrame;
use serde_json::{Value, json};

use crate::sockets::test_agent::serve_agent;

fn configure(config: Value) -> Value {
    json!({"type": "configure", "config": config})
}

#[tokio::test(start_paused = true)]
async fn a_client_sets_mode_title_and_options() {
    let (_test, server) = serve_agent();
    let mut client = server.connect("").await;
    let modes = client.state()["session"]["modes"]
        .as_array()
        .unwrap()
        .clone();
    let mode = client.text("/session/mode").to_owned();
    let other = modes.iter().find(|it| it["id"] != mode.as_str()).unwrap();
    let config = json!({"permissionMode": other["id"], "title": "Mine", "depth": 2, "model": null});
    client.command(configure(config)).await;
    client.read_until_quiet().await;
    assert_eq!(client.state()["session"]["mode"], other["id"]);
    assert_eq!(client.text("/session/title"), "Mine");
    assert_eq!(client.text("/session/options/0/value"), "2");
    client.command(configure(json!({"depth": true}))).await;
    client
        .read_until(|state| state["session"]["options"][0]["value"] == "true")
        .await;
    assert_eq!(client.text("/session/commands/0/name"), "go");
    assert_eq!(client.text("/session/commands/0/hint"), "where to");
}

#[tokio::test(start_paused = true)]
async fn unknown_settings_are_rejected_by_name() {
    let (_test, server) = serve_agent();
    let mut client = server.connect("").await;
    for (config, words) in [
        (
            json!({"permissionMode": "mad"}),
            "unknown mode \"mad\"; known modes: ",
        ),
        (
            json!({"colour": "red"}),
            "unknown option \"colour\"; known options: depth",
        ),
        (
            json!({"depth": "9"}),
            "\"9\" is not a value of depth; its values are 1, 2, true",
        ),
        (json!({"title": "  "}), "title must not be empty"),
        (
            json!({"depth": ["1"]}),
            "the values of config must be strings, numbers, true or false",
        ),
        (
            json!({"__proto__": "1"}),
            "unknown option \"__proto__\"; known options: depth",
        ),
    ] {
        client.command(configure(config)).await;
        let refused = client.read_error().await;
        assert!(refused.starts_with(words), "{refused}");
    }
    assert_eq!(client.read_until_quiet().await, []);
}

#[tokio::test(start_paused = true)]
async fn a_socket_switches_to_another_session() {
    let (_test, server) = serve_agent();
    let mut other = server.connect("client=bob").await;
    other.submit("theirs").await;
    other.read_until_quiet().await;
    let mut client = server.connect("session=new&client=ann").await;
    let first = client.session();
    let there = other.session();
    assert_ne!(first, there);
    client
        .command(json!({"type": "resume", "sessionId": there}))
        .await;
    assert_eq!(client.next().await, ReceivedFrame::State);
    assert_eq!(client.session(), there);
    client.read_until_quiet().await;
    other.read_until_quiet().await;
    assert_eq!(client.state(), other.state());
    assert_eq!(client.state()["controller"], "bob");
    // It has left its first session.
    let back = server.connect(&format!("session={first}&client=eve")).await;
    assert_eq!(back.state()["controller"], "eve");
    assert_eq!(back.state()["clients"].as_array().unwrap().len(), 1);
    // It receives what happens in its new session.
    other.submit("more").await;
    other.read_until_quiet().await;
    client.read_until_quiet().await;
    assert_eq!(client.state(), other.state());
}

#[tokio::test(start_paused = true)]
async fn a_socket_switches_its_session_and_sends_a_prompt() {
    let (_test, server) = serve_agent();
    let other = server.connect("").await;
    let there = other.session();
    other.close().await;
    let mut client = server.connect("session=new").await;
    client
        .command(json!({"type": "resume", "sessionId": there, "prompt": "hello"}))
        .await;
    client
        .read_until(|state| state["session"]["id"] == there.as_str())
        .await;
    client.read_until_quiet().await;
    assert_eq!(
        client.messages(),
        ["user complete hello", "assistant complete hello"]
    );
    // A blank prompt is not sent, and a client that switches to its own session receives the document again.
    client
        .command(json!({"type": "resume", "sessionId": there, "prompt": "  "}))
        .await;
    assert_eq!(client.read_until_quiet().await, [ReceivedFrame::State]);
}

#[tokio::test(start_paused = true)]
async fn a_socket_stays_if_the_other_session_does_not_exist() {
    let (_test, server) = serve_agent();
    let mut client = server.connect("").await;
    let session = client.session();
    for nowhere in ["nothing", "", "../etc", "a/b"] {
        client
            .command(json!({"type": "resume", "sessionId": nowhere, "prompt": "hello"}))
            .await;
        let refused = client.read_error().await;
        assert_eq!(refused, "unknown session; /ws/sessions lists all sessions");
    }
    client.submit("here").await;
    client.read_until_quiet().await;
    assert_eq!(client.session(), session);
    assert_eq!(client.messages().len(), 2);
}
