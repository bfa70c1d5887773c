//! `initialize`, and messages that are valid at any time.

use harn_testkit::{MessageFromAgent, ScriptedAgent, TestHub};
use serde_json::json;

use crate::golden_threads::check_transcript;

#[tokio::test]
async fn initialize_works_with_and_without_client_info() {
    let test = TestHub::new(ScriptedAgent::silent());
    let mut client = test.connect_threads();
    let info = json!({"clientInfo": {"name": "desk", "version": "1.2.3"}});
    let answer = client.request("initialize", info).await;
    assert_eq!(answer["capabilities"]["persistence"], true);
    // `version` is the protocol's; the server's is in `serverInfo`.
    assert_eq!(answer["version"], "1.0.0");
    let server = json!({"name": "harn-serve", "version": "0.0.0"});
    assert_eq!(answer["serverInfo"], server);
    let again = client.request("initialize", json!(null)).await;
    assert_eq!(again, answer);
    // A notification is handled without a response; a response to no request is ignored.
    client.notify("initialize", json!({})).await;
    client
        .send_raw(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#)
        .await;
    let named = json!({"jsonrpc": "2.0", "id": "three", "method": "initialize"});
    client.send(&named).await;
    client.expect_response(&json!("three")).await;
    client.close().await;
    check_transcript("handshake", test.recorder());
}

/// Requests followed by the end of the input are answered.
#[tokio::test]
async fn requests_before_the_end_of_input_are_answered() {
    let test = TestHub::new(ScriptedAgent::silent());
    let mut client = test.connect_threads();
    client.send_request("initialize", json!(null)).await;
    client.send_request("thread.create", json!({})).await;
    client.send_request("thread.list", json!({})).await;
    let rest = client.hang_up().await;
    let answers = rest
        .iter()
        .filter(|message| matches!(message, MessageFromAgent::Response { result: Ok(_), .. }));
    assert_eq!(answers.count(), 3);
}
