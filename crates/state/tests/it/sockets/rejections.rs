//! Rejected connections, and rejected input.

use std::time::Duration;

use harn_testkit::{ReceivedFrame, StateClient, TestHub};
use serde_json::json;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

use crate::sockets::test_agent::{agent, serve_agent};

/// Checks that the session still works after an error.
async fn check_still_works(client: &mut StateClient) {
    client.submit("still here").await;
    client.read_until_quiet().await;
    assert_eq!(
        client.messages().pop().unwrap(),
        "assistant complete still here"
    );
}

#[tokio::test(start_paused = true)]
async fn bad_input_is_rejected_and_changes_nothing() {
    let (_test, server) = serve_agent();
    let mut client = server.connect("").await;
    let mut other = server
        .connect(&format!("session={}", client.session()))
        .await;
    for (frame, words) in [
        ("{", "the frame is not JSON"),
        ("", "the frame is not JSON"),
        ("null", "the frame does not contain commands"),
        ("[]", "the frame does not contain commands"),
        (
            r#"{"type":"commands"}"#,
            "the frame does not contain commands",
        ),
        (
            r#"{"type":"state","state":{}}"#,
            "the frame does not contain commands",
        ),
        (
            r#"{"type":"commands","commands":[null]}"#,
            "unknown command type",
        ),
        (
            r#"{"type":"commands","commands":[{"type":"rewind"}]}"#,
            "unknown command type",
        ),
        (
            r#"{"type":"commands","commands":[{"type":"submit"}]}"#,
            "invalid command submit",
        ),
        (
            r#"{"type":"commands","commands":[{"type":"submit","prompt":7}]}"#,
            "invalid command submit",
        ),
        (
            r#"{"type":"commands","commands":[{"type":"submit","prompt":" \n"}]}"#,
            "prompt must not be empty",
        ),
        (
            r#"{"type":"commands","commands":[{"type":"steer","message":""}]}"#,
            "message must not be empty",
        ),
    ] {
        client.send_raw(frame).await;
        let refused = client.read_error().await;
        assert!(refused.starts_with(words), "{frame}: {refused}");
    }
    let deep = "[".repeat(200_000);
    client.send_raw(&deep).await;
    assert!(
        client
            .read_error()
            .await
            .starts_with("the frame is not JSON")
    );
    let many = vec![json!({"type": "cancel"}); 65];
    client.send(json!(many)).await;
    assert_eq!(
        client.read_error().await,
        "the frame has more than 64 commands; send them in several"
    );
    // Valid commands in a frame are executed, whatever is beside them.
    let frame = r#"{"type":"commands","commands":[{"type":"no"},{"type":"submit","prompt":"hi"}]}"#;
    client.send_raw(frame).await;
    client.read_error().await;
    client.read_until_quiet().await;
    assert_eq!(client.messages().len(), 2);
    // Other clients receive nothing of these errors.
    other.read_until_quiet().await;
    assert_eq!(other.state(), client.state());
    check_still_works(&mut client).await;
}

#[tokio::test(start_paused = true)]
async fn a_binary_message_closes_the_socket() {
    let (_test, server) = serve_agent();
    let mut client = server.connect("").await;
    client.send_message(Message::binary(vec![1, 2, 3])).await;
    let farewell = (1003, "send text, one message per frame".to_owned());
    assert_eq!(client.read_close().await, farewell);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_too_long_closes_the_socket() {
    let test = TestHub::new(agent());
    let server = test.serve_state_with(|config| config.message_bytes = 1000);
    let mut client = server.connect("").await;
    client.submit(&"x".repeat(900)).await;
    client.read_until_quiet().await;
    client.send_raw(&"x".repeat(1001)).await;
    let farewell = (1009, "the message is too large".to_owned());
    assert_eq!(client.read_close().await, farewell);
}

#[tokio::test(start_paused = true)]
async fn too_many_messages_close_the_socket() {
    let test = TestHub::new(agent());
    let server = test.serve_state_with(|config| config.messages_per_second = 10);
    let mut client = server.connect("").await;
    let mut sent = 0;
    let (code, reason) = loop {
        client.command(json!({"type": "cancel"})).await;
        sent += 1;
        assert!(sent < 1000);
        let late = timeout(Duration::from_millis(1), client.next());
        if let Ok(ReceivedFrame::Closed(code, reason)) = late.await {
            break (code, reason);
        }
    };
    assert_eq!(code, 1008);
    assert_eq!(reason, "too many messages in a short time; slow down");
    // The session continues without the client.
    let mut other = server
        .connect(&format!("session={}", client.session()))
        .await;
    check_still_works(&mut other).await;
}

/// Errors are sent one after the other, and a client that does not read them is not read meanwhile.
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_not_read() {
    const MANY: usize = 10_000;
    let test = TestHub::new(agent());
    let server = test.serve_state_with(|config| config.messages_per_second = u32::MAX);
    let mut client = server.with_buffer_size(1024).connect("").await;
    let mut sent = 0;
    while sent < MANY {
        let bad = client.send_message(Message::text("{"));
        if timeout(Duration::from_secs(1), bad).await.is_err() {
            break;
        }
        sent += 1;
    }
    assert!(sent < 500, "{sent}");
    // No error is lost; the one in progress is sent when the client can send again.
    for _ in 0..sent {
        client.read_error().await;
    }
    client.command(json!({"type": "cancel"})).await;
    client.read_error().await;
    check_still_works(&mut client).await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_above_the_limit_is_rejected() {
    let test = TestHub::new(agent());
    let server = test.serve_state_with(|config| config.connections = 2);
    let client = server.connect("").await;
    let sessions = server.connect_sessions().await;
    let refused = server.try_open("/ws", "").await.err().unwrap();
    assert_eq!(refused.status, 503);
    sessions.close().await;
    let again = server.connect("").await;
    drop((client, again));
}

/// The sessions of another principal do not exist for a client.
#[tokio::test(start_paused = true)]
async fn principals_do_not_see_each_other() {
    let (_test, server) = serve_agent();
    let mut client = server.connect("").await;
    client.submit("tool").await;
    client.read_until_quiet().await;
    let session = client.session();
    let call = client.text("/messages/1/toolCalls/0/id").to_owned();
    let mallory = server.for_principal(Some("mallory"));
    let query = format!("session={session}");
    let refused = mallory.try_open("/ws", &query).await.err().unwrap();
    assert_eq!(refused.status, 404);
    assert_eq!(
        refused.body,
        r#"{"error":"unknown session; /ws/sessions lists all sessions"}"#
    );
    for target in [
        format!("/state/timeline?{query}"),
        format!("/state/output?{query}&call={call}"),
    ] {
        assert_eq!(server.get(&target).await.status, 200, "{target}");
        assert_eq!(mallory.get(&target).await.status, 404, "{target}");
        assert_eq!(
            server.for_principal(None).get(&target).await.status,
            401,
            "{target}"
        );
    }
    let mut theirs = mallory.connect("").await;
    theirs
        .command(json!({"type": "resume", "sessionId": session}))
        .await;
    theirs.read_error().await;
    let listed = mallory.connect_sessions().await;
    assert_eq!(listed.state()["sessions"].as_array().unwrap().len(), 1);
    for path in ["/ws", "/ws/sessions"] {
        let nobody = server
            .for_principal(None)
            .try_open(path, "")
            .await
            .err()
            .unwrap();
        assert_eq!(nobody.status, 401);
        assert_eq!(nobody.body, r#"{"error":"the token is missing"}"#);
    }
}

#[tokio::test(start_paused = true)]
async fn a_bad_query_is_rejected_before_the_upgrade() {
    let (_test, server) = serve_agent();
    for (query, status, words) in [
        ("session=nothing", 404, "unknown session"),
        ("session=a%2F..%2Fb", 404, "unknown session"),
        ("session=%ff", 400, "percent-encoded UTF-8"),
        ("role=king", 400, "role must be controller or observer"),
        ("client=a%20b", 400, "client must be a name"),
        ("client=a&client=b", 400, "client is given more than once"),
        (
            "cwd=relative",
            400,
            "cwd must be the absolute path of an existing directory",
        ),
        (
            "cwd=%2Fdoes%2Fnot%2Fexist",
            400,
            "cwd must be the absolute path",
        ),
    ] {
        let refused = server.try_open("/ws", query).await.err().unwrap();
        assert_eq!(refused.status, status, "{query}");
        assert!(refused.body.contains(words), "{query}: {}", refused.body);
    }
    // A plain request is no handshake.
    for path in ["/ws", "/ws/sessions"] {
        assert_eq!(server.get(path).await.status, 426);
    }
}
