//! `fetch` against a local test server.

use std::sync::{Arc, Mutex};

use harn_model::{ErrorCategory, PolicyAction, ToolExecutor, ToolKind};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::toolbox::support::{Rig, Turn, allow_with, assert_failed, shown_text};

/// Starts a server with a few paths; returns its address and the paths that were requested.
async fn start_server() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut bytes = Vec::new();
            while !bytes.ends_with(b"\r\n\r\n") && stream.read_buf(&mut bytes).await.unwrap() > 0 {}
            let head = String::from_utf8(bytes).unwrap();
            let path = head.split(' ').nth(1).unwrap().to_owned();
            seen.lock().unwrap().push(path.clone());
            let (status, headers, body) = match path.as_str() {
                "/text" => ("200 OK", "content-type: text/plain", "hello\n".to_owned()),
                "/long" => ("200 OK", "content-type: text/plain", "x".repeat(100_000)),
                "/image" => ("200 OK", "content-type: image/png", "x".to_owned()),
                "/binary" => ("200 OK", "x: y", "a\0b".to_owned()),
                "/near" => ("302 Found", "location: /text", String::new()),
                "/far" => ("302 Found", "location: http://a.example/x", String::new()),
                "/round" => ("302 Found", "location: /round", String::new()),
                "/never" => std::future::pending().await,
                _ => (
                    "404 Not Found",
                    "content-type: text/html",
                    "<p>gone".to_owned(),
                ),
            };
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\n{headers}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            // The client may have closed the connection already.
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (address, asked)
}

async fn fetch(rig: &mut Rig, url: String) -> Turn {
    rig.call_allowed("fetch", json!({"url": url})).await
}

#[tokio::test]
async fn fetch_asks_and_shows_the_text() {
    let (server, asked) = start_server().await;
    let mut rig = Rig::new(&[]).await;
    let turn = fetch(&mut rig, format!("{server}/text#part")).await;
    let ask = turn.permission_question().unwrap();
    let receipt = ask.policy_decision.as_ref().unwrap();
    assert_eq!(receipt.action, PolicyAction::Ask);
    assert_eq!(receipt.context.capabilities, ["network.fetch"]);
    assert!(
        ask.options.len() > 2,
        "it can be remembered: {:?}",
        ask.options
    );
    let (call, end) = turn.only_call();
    assert_eq!(call.kind, Some(ToolKind::Fetch));
    assert_eq!(call.title, Some(format!("Fetch {server}/text")));
    assert_eq!(end.executor, Some(ToolExecutor::HarnBuiltin));
    assert_eq!(shown_text(end), "```\nhello\n```\n");
    assert_eq!(end.raw_output.as_ref().unwrap()["status"], 200);
    assert_eq!(*asked.lock().unwrap(), ["/text"]);

    rig.session.set_mode("read-only").await.unwrap();
    let turn = rig
        .call("fetch", json!({"url": format!("{server}/text")}))
        .await;
    assert_failed(
        &turn,
        ErrorCategory::PermissionDenied,
        "nothing reaches the network",
    );
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn fetch_bounds_answers_and_rejects_binary_ones() {
    let (server, _) = start_server().await;
    let mut rig = Rig::new(&[]).await;
    let turn = fetch(&mut rig, format!("{server}/long")).await;
    let (_, end) = turn.only_call();
    assert_eq!(end.raw_output.as_ref().unwrap()["truncated"], true);
    assert!(shown_text(end).ends_with("\nThese are its first 65536 bytes.\n"));
    let failed = ErrorCategory::ToolError;
    for (path, category, words) in [
        ("/image", failed, "\"image/png\", not text"),
        ("/binary", failed, "binary, not text"),
        ("/none", failed, "the server answered 404 Not Found"),
        ("/round", failed, "redirects more than 5 times"),
        (
            "/far",
            failed,
            "redirects to http://a.example/x; fetch that",
        ),
    ] {
        let turn = fetch(&mut rig, format!("{server}{path}")).await;
        assert_failed(&turn, category, words);
    }
    let turn = fetch(&mut rig, format!("{server}/none")).await;
    assert!(
        turn.agent_text().contains("<p>gone"),
        "{}",
        turn.agent_text()
    );
    let turn = fetch(&mut rig, format!("{server}/near")).await;
    assert_eq!(shown_text(turn.only_call().1), "```\nhello\n```\n");

    let never = json!({"url": format!("{server}/never"), "timeout_ms": 50});
    let turn = rig.call_allowed("fetch", never).await;
    assert_failed(
        &turn,
        ErrorCategory::Timeout,
        "no complete answer within 50 ms",
    );
}

#[tokio::test]
async fn invalid_url_fails_without_a_question() {
    let mut rig = Rig::new(&[]).await;
    let unfit = ErrorCategory::SchemaValidation;
    for (url, words) in [
        ("file:///etc/passwd", "`url`"),
        ("https://ada:hunter2@a.example/", "a user or a password"),
        ("http://", "`url` is not an address"),
    ] {
        let turn = rig.call("fetch", json!({"url": url})).await;
        assert_failed(&turn, unfit, words);
        assert!(!turn.agent_text().contains("hunter2"));
    }
    let secret = json!({"url": "http://ada:hunter2@127.0.0.1:1/"});
    let first = json!({"url": "http://127.0.0.1:1/"});
    let turn = rig
        .call_answered("fetch", first.clone(), allow_with(Some(secret)))
        .await;
    assert_failed(&turn, unfit, "a user or a password");
    let turn = rig.call_allowed("fetch", first).await;
    assert_failed(&turn, ErrorCategory::Network, "onnect");
}
