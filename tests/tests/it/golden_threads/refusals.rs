//! Invalid requests: a clear error for each, and no effect.

use harn_testkit::{MessageFromAgent, ScriptedAgent, TestHub};
use harn_threads::IncomingLine;
use serde_json::{Value, json};

use crate::golden_threads::check_transcript;

#[tokio::test]
async fn invalid_input_gets_an_error_and_has_no_effect() {
    let test = TestHub::new(ScriptedAgent::silent());
    let mut client = test.connect_threads();
    let thread = client.create().await;
    let request = |method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string()
    };
    let text = json!({"type": "text", "text": "secret"});
    let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    let table = [
        // Invalid JSON, or JSON that is not a request.
        (
            -32700,
            false,
            r#"{"jsonrpc":"2.0","id":7,"method":"#.to_owned(),
        ),
        (-32700, false, "secret".to_owned()),
        (-32700, false, deep),
        (
            -32600,
            false,
            format!("[{}]", request("thread.list", json!({}))),
        ),
        (-32600, false, "[]".to_owned()),
        (-32600, false, "\"secret\"".to_owned()),
        (
            -32600,
            false,
            r#"{"jsonrpc":"2.0","id":null,"method":"thread.list"}"#.to_owned(),
        ),
        (
            -32600,
            false,
            r#"{"jsonrpc":"2.0","id":{"a":1},"method":"thread.list"}"#.to_owned(),
        ),
        (
            -32600,
            false,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"thread.list"}"#.to_owned(),
        ),
        (
            -32600,
            true,
            r#"{"id":7,"method":"thread.list"}"#.to_owned(),
        ),
        (
            -32600,
            true,
            r#"{"jsonrpc":"1.0","id":7,"method":"thread.list"}"#.to_owned(),
        ),
        (
            -32600,
            true,
            r#"{"jsonrpc":"2.0","id":7,"method":["thread.list"]}"#.to_owned(),
        ),
        (-32600, true, r#"{"jsonrpc":"2.0","id":7}"#.to_owned()),
        // Unknown methods and invalid params.
        (-32601, true, request("thread.secret", json!({}))),
        (-32602, true, request("thread.get", json!([]))),
        (-32602, true, request("thread.get", json!({}))),
        (-32602, true, request("thread.get", json!({"threadId": 17}))),
        (
            -32602,
            true,
            request("thread.create", json!({"title": {"secret": 1}})),
        ),
        (
            -32602,
            true,
            request("thread.create", json!({"directory": "secret"})),
        ),
        (
            -32602,
            true,
            request("thread.create", json!({"directory": "/nowhere/secret"})),
        ),
        (
            -32602,
            true,
            request("turn.start", json!({"threadId": thread})),
        ),
        (
            -32602,
            true,
            request("turn.start", json!({"threadId": thread, "input": []})),
        ),
        (
            -32602,
            true,
            request("turn.start", json!({"threadId": thread, "input": "secret"})),
        ),
        (
            -32602,
            true,
            request(
                "turn.start",
                json!({"threadId": thread, "input": [{"type": "secret"}]}),
            ),
        ),
        (
            -32602,
            true,
            request(
                "turn.start",
                json!({"threadId": thread, "input": [text], "model": "secret"}),
            ),
        ),
        (
            -32602,
            true,
            request("approval.respond", json!({"requestId": "secret"})),
        ),
        (
            -32602,
            true,
            request(
                "approval.respond",
                json!({"requestId": "r", "decision": "secret"}),
            ),
        ),
        // Unknown ids.
        (
            -32001,
            true,
            request("thread.get", json!({"threadId": "secret"})),
        ),
        (
            -32001,
            true,
            request("thread.get", json!({"threadId": "../secret"})),
        ),
        (
            -32001,
            true,
            request("turn.start", json!({"threadId": "secret", "input": [text]})),
        ),
        (
            -32001,
            true,
            request("turn.cancel", json!({"threadId": "secret"})),
        ),
        (
            -32003,
            true,
            request(
                "turn.cancel",
                json!({"threadId": thread, "turnId": "secret"}),
            ),
        ),
        (
            -32001,
            true,
            request(
                "turn.cancel",
                json!({"threadId": "none", "turnId": "secret"}),
            ),
        ),
        (
            -32602,
            true,
            request("turn.cancel", json!({"threadId": thread, "turnId": 17})),
        ),
        (
            -32004,
            true,
            request(
                "approval.respond",
                json!({"requestId": "secret", "decision": "once"}),
            ),
        ),
    ];
    for (code, has_id, line) in table {
        if has_id {
            client.await_answer(json!(7));
        }
        client.send_raw(&line).await;
        let MessageFromAgent::Response { id, result } = client.next().await else {
            panic!("{line} was not answered");
        };
        let error = result.unwrap_err();
        assert_eq!(error["code"], code, "{line}: {error}");
        assert_eq!(id.is_null(), !has_id, "{line}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    for line in [IncomingLine::TooLong { limit: 64 }, IncomingLine::NotUtf8] {
        client.send_line(line).await;
        let error = client.expect_error(&Value::Null).await;
        assert_eq!(error["code"], -32600);
    }
    // None of the requests had an effect.
    let listed = client.request("thread.list", json!({})).await;
    assert_eq!(listed["threads"].as_array().unwrap().len(), 1);
    client.close().await;
    check_transcript("refusals", test.recorder());
}
