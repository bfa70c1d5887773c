//! Rejected connections, frames and commands.

use serde_json::json;

use crate::golden_state::{agent::serve_agent, check_transcript};

#[tokio::test(start_paused = true)]
async fn invalid_input_is_rejected() {
    let (test, server) = serve_agent();
    for query in ["session=session-9", "role=king", "client=a%20b", "cwd=here"] {
        assert!(server.try_open("/ws", query).await.is_err(), "{query}");
    }
    let mut client = server.connect("").await;
    for frame in [
        "hello",
        r#"{"type":"hello"}"#,
        r#"{"type":"commands","commands":[{"type":"rewind","messageId":"msg-1"}]}"#,
        r#"{"type":"commands","commands":[{"type":"submit"}]}"#,
        r#"{"type":"commands","commands":[{"type":"submit","prompt":""}]}"#,
    ] {
        client.send_raw(frame).await;
        client.read_error().await;
    }
    for command in [
        json!({"type": "approve", "toolCallId": "call-9"}),
        json!({"type": "answer", "questionId": "hitl_question_9", "answer": "80"}),
        json!({"type": "withdraw", "messageId": "msg-9"}),
        json!({"type": "takeover"}),
    ] {
        client.command(command).await;
        client.read_error().await;
    }
    assert_eq!(client.read_until_quiet().await, []);
    client.close().await;
    check_transcript("bad-input", test.recorder());
}
