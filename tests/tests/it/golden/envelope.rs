//! Unusual messages and invalid lines: the connection stays open.

use harn_testkit::{ScriptedAgent, StrictClient, TestHub};
use harn_tests::check_transcript;
use serde_json::{Value, json};

use crate::golden::{initialize, open};

/// Sends a request without effect; its response shows that the connection is open.
async fn check_connection(client: &mut StrictClient) {
    client.request("logout", Value::Null).await;
}

#[tokio::test]
async fn unusual_messages_keep_the_connection_open() {
    let test = TestHub::new(ScriptedAgent::silent());
    let mut client = test.connect();
    initialize(&mut client).await;
    let error = client.request_error("session/teleport", json!({})).await;
    assert_eq!(error["code"], -32601);
    let error = client.request_error("_other/thing", json!({})).await;
    assert_eq!(error["code"], -32601);
    client
        .notify("session/teleported", json!({"to": "/"}))
        .await;
    client.notify("_other/happened", json!({})).await;
    client
        .notify("session/cancel", json!({"sessionId": "nowhere"}))
        .await;
    check_connection(&mut client).await;

    // Some clients add members to the JSON-RPC envelope; some use strings as request ids.
    let odd = json!({"jsonrpc": "2.0", "type": "request", "id": "list-1", "method": "session/list", "params": {}});
    client.send(&odd).await;
    client.expect_response(&json!("list-1")).await;
    let odd = json!({"jsonrpc": "2.0", "type": "notification", "method": "session/cancel", "params": {"sessionId": "nowhere"}});
    client.send(&odd).await;
    // `mcpServers` may be left out.
    client
        .request("session/new", json!({"cwd": test.workspace()}))
        .await;

    // The agent does not answer responses and errors that belong to no request of its own.
    for complaint in [
        json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32601, "message": "Method not found"}}),
        json!({"jsonrpc": "2.0", "error": {"code": -32603, "message": "Internal error"}}),
        json!({"jsonrpc": "2.0", "id": "never-asked", "error": {"code": -32603, "message": "Internal error"}}),
        json!({"jsonrpc": "2.0", "id": 4711, "result": {}}),
    ] {
        client.send(&complaint).await;
    }
    check_connection(&mut client).await;

    let error = client.request_error("session/new", json!({"cwd": 7})).await;
    assert_eq!(error["data"]["reason"], "invalid_params");
    let error = client.request_error("session/prompt", Value::Null).await;
    assert_eq!(error["data"]["reason"], "invalid_params");
    client.close().await;
    check_transcript("envelope", test.recorder());
}

#[tokio::test]
async fn invalid_lines_get_an_error_and_keep_the_connection_open() {
    let test = TestHub::new(ScriptedAgent::silent());
    let mut client = test.connect_framed(1024 * 1024);
    initialize(&mut client).await;
    let none = Value::Null;
    client
        .send_raw(r#"{"jsonrpc":"2.0","id":2,"method":"session/li"#)
        .await;
    assert_eq!(client.expect_error(&none).await["code"], -32700);
    check_connection(&mut client).await;
    client.send_raw("hello?").await;
    assert_eq!(client.expect_error(&none).await["code"], -32700);
    client.send_raw(b"\xff\xfe{}").await;
    assert_eq!(client.expect_error(&none).await["code"], -32700);
    client.send_raw("x".repeat(1024 * 1024 + 1)).await;
    assert_eq!(client.expect_error(&none).await["code"], -32600);
    client
        .send_raw(r#"[{"jsonrpc":"2.0","id":2,"method":"logout"}]"#)
        .await;
    assert_eq!(client.expect_error(&none).await["code"], -32600);
    client.send_raw("[]").await;
    assert_eq!(client.expect_error(&none).await["code"], -32600);
    client.send_raw("7").await;
    assert_eq!(client.expect_error(&none).await["code"], -32600);
    client.send_raw(r#"{"hello":"there"}"#).await;
    assert_eq!(client.expect_error(&none).await["code"], -32600);
    // Blank lines and carriage returns are ignored.
    client.send_raw("").await;
    client.send_raw("  \r").await;
    client.send_raw("{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{\"sessionId\":\"nowhere\"}}\r").await;
    check_connection(&mut client).await;
    open(&mut client, &test).await;
    client.close().await;
    check_transcript("framing", test.recorder());
}
