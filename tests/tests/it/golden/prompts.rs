//! The content blocks of a prompt, and prompts that wait in the queue.

use std::sync::Arc;

use harn_model::{ContentBlock, PromptSupport, StopReason};
use harn_testkit::{ScriptedAgent, TestHub};
use harn_tests::check_transcript;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::golden::{existing_session_params, initialize, open, prompt};

#[tokio::test]
async fn prompt_blocks_are_accepted_or_rejected_with_a_reason() {
    let agent = ScriptedAgent::new(|cx| async move {
        let kinds: Vec<_> = cx.prompt().iter().map(ContentBlock::kind).collect();
        cx.say(format!("I got {}.", kinds.join(", "))).await?;
        Ok(StopReason::EndTurn)
    });
    let test = TestHub::new(agent.prompt_support(PromptSupport {
        image: true,
        audio: false,
        embedded: true,
    }));
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;
    let send = |blocks: Value| json!({"sessionId": session, "prompt": blocks});

    let blocks = json!([
        {"type": "text", "text": "Look at these"},
        {"type": "resource", "resource": {"uri": "file:///a.rs", "mimeType": "text/x-rust", "text": "fn a() {}\n"}},
        {"type": "resource", "resource": {"uri": "file:///a.bin", "blob": "AAEC"}},
        {"type": "resource_link", "uri": "file:///b.rs", "name": "b.rs", "title": "B", "size": 120},
        {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo=", "uri": "file:///c.png"},
    ]);
    let id = client.send_request("session/prompt", send(blocks)).await;
    let (updates, _) = client.collect_updates_until(&id).await;
    assert_eq!(
        updates[0]["content"]["text"],
        "I got text, resource, resource, resource_link, image."
    );

    // The agent rejects the whole prompt instead of dropping the block.
    let sound = json!([
        {"type": "text", "text": "Listen"},
        {"type": "audio", "mimeType": "audio/wav", "data": "UklGRg=="},
    ]);
    let error = client.request_error("session/prompt", send(sound)).await;
    assert_eq!(error["data"]["reason"], "unsupported_content");
    let error = client
        .request_error("session/prompt", send(json!([])))
        .await;
    assert_eq!(error["data"]["reason"], "empty_prompt");
    let odd = json!([{"type": "hologram", "data": "?"}]);
    let error = client.request_error("session/prompt", send(odd)).await;
    assert_eq!(error["code"], -32602);

    // A replay has the blocks as the client sent them.
    let params = existing_session_params(&session, &test.workspace());
    let id = client.send_request("session/load", params).await;
    let (replayed, _) = client.collect_updates_until(&id).await;
    assert_eq!(replayed[4]["content"]["data"], "iVBORw0KGgo=");
    client.close().await;
    check_transcript("prompt-blocks", test.recorder());
}

#[tokio::test]
async fn queued_prompts_are_answered_in_order_or_at_once_when_cancelled() {
    let go = Arc::new(Notify::new());
    let wait = go.clone();
    let agent = ScriptedAgent::new(move |cx| {
        let wait = wait.clone();
        async move {
            if cx.prompt_text() == "one" {
                wait.notified().await;
            }
            cx.say(format!("This is {}.", cx.prompt_text())).await?;
            Ok(StopReason::EndTurn)
        }
    });
    let test = TestHub::new(agent);
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;
    let one = prompt(&mut client, &session, "one").await;
    let two = prompt(&mut client, &session, "two").await;
    let three = prompt(&mut client, &session, "three").await;
    // The client cancels the second prompt; the others are unaffected.
    client
        .notify("$/cancel_request", json!({"requestId": two}))
        .await;
    // The response arrives at once, while the first turn still runs.
    let result = client.expect_response(&two).await;
    assert_eq!(result["stopReason"], "cancelled");
    go.notify_one();
    let (updates, _) = client.collect_updates_until(&one).await;
    assert_eq!(updates[0]["content"]["text"], "This is one.");
    let (updates, result) = client.collect_updates_until(&three).await;
    assert_eq!(updates[0]["content"]["text"], "This is three.");
    assert_eq!(result["stopReason"], "end_turn");
    client.close().await;
    check_transcript("queued-prompts", test.recorder());
}
