//! `_session/steering`, in the forms that editors and SDK clients send.

use std::sync::Arc;

use harn_model::{Seam, StopReason};
use harn_runtime::{AgentError, TurnContext};
use harn_testkit::{ScriptedAgent, TestHub};
use harn_tests::{check_transcript, initialize_params};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use crate::golden::{initialize, open, prompt};

const METHOD: &str = "_session/steering";

async fn work(cx: TurnContext, go: Arc<Notify>) -> Result<StopReason, AgentError> {
    cx.say(format!("{}. ", cx.prompt_text())).await?;
    if cx.prompt_text() == "Go" {
        go.notified().await;
        for heard in cx.seam(Seam::TurnEnd).await? {
            cx.say(format!("I heard: {} ", heard.text())).await?;
        }
    }
    Ok(StopReason::EndTurn)
}

#[tokio::test]
async fn steering_returns_every_outcome() {
    let go = Arc::new(Notify::new());
    let told = go.clone();
    let test = TestHub::new(ScriptedAgent::new(move |cx| work(cx, told.clone())));
    let mut client = test.connect();
    let plain = Map::from_iter([("profile".to_owned(), json!("acp"))]);
    let answer = client
        .request("initialize", initialize_params(&plain))
        .await;
    // Next to the capabilities, where editors look for it.
    assert_eq!(answer["_meta"]["steering"]["supported"], true);
    let session = open(&mut client, &test).await;
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let steer = |prompt: Value| json!({"sessionId": session, "prompt": prompt});
    let required = |prompt: Value| {
        let meta = json!({"steering": {"idleBehavior": "promptRequired"}});
        json!({"sessionId": session, "prompt": prompt, "_meta": meta})
    };

    // No turn runs. A host that wants to own the turn sends the prompt itself.
    let outcome = client.request(METHOD, required(text("Mind b.txt"))).await;
    assert_eq!(
        outcome,
        json!({"outcome": "promptRequired", "reason": "noRunningTurn"})
    );
    let outcome = client.request(METHOD, steer(text("Mind b.txt"))).await;
    assert_eq!(outcome, json!({"outcome": "startedNewTurn"}));
    let update = client.expect_update_of("agent_message_chunk").await;
    assert_eq!(update["content"]["text"], "Mind b.txt. ");
    client.expect_update_of("session_info_update").await;

    // A turn runs: the outcome does not depend on `idleBehavior`.
    let turn = prompt(&mut client, &session, "Go").await;
    client.expect_update_of("agent_message_chunk").await;
    for params in [steer(text("Mind c.txt")), required(text("And d.txt"))] {
        let outcome = client.request(METHOD, params).await;
        assert_eq!(outcome, json!({"outcome": "injected"}));
    }
    let image = json!([{"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}]);
    let outcome = client.request(METHOD, steer(image)).await;
    assert_eq!(outcome["outcome"], "failed");
    go.notify_one();
    let (updates, result) = client.collect_updates_until(&turn).await;
    // The stream does not repeat the messages: an editor shows what it sent.
    let texts: Vec<_> = updates.iter().map(|it| &it["content"]["text"]).collect();
    assert_eq!(texts, ["I heard: Mind c.txt ", "I heard: And d.txt "]);
    assert_eq!(result["stopReason"], "end_turn");

    // Invalid params are rejected.
    let odd = [
        json!({"sessionId": session, "prompt": text("x"), "_meta": {"steering": {"idleBehavior": "wait"}}}),
        json!({"sessionId": session, "prompt": []}),
        json!({"sessionId": session, "prompt": "x"}),
        json!({"sessionId": session}),
        json!({"prompt": text("x")}),
    ];
    for params in odd {
        let error = client.request_error(METHOD, params).await;
        assert_eq!(error["code"], -32602);
    }
    let unknown = json!({"sessionId": "other", "prompt": text("x")});
    let error = client.request_error(METHOD, unknown).await;
    assert_eq!(error["code"], -32004);
    client.close().await;
    check_transcript("steering-plain", test.recorder());
}

/// A cancelled turn reads no more messages, so a steering message begins the next turn. The server sends no
/// event for the rejection: the client fails on unexpected messages.
#[tokio::test]
async fn steering_a_cancelled_turn_starts_a_new_one() {
    let go = Arc::new(Notify::new());
    let told = go.clone();
    let test = TestHub::new(ScriptedAgent::new(move |cx| {
        let go = told.clone();
        async move {
            cx.say(format!("{}. ", cx.prompt_text())).await?;
            if cx.prompt_text() == "Go" {
                cx.cancelled().await;
                go.notified().await;
            }
            Ok(StopReason::EndTurn)
        }
    }));
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;
    let turn = prompt(&mut client, &session, "Go").await;
    client.expect_update_of("agent_message_chunk").await;
    let params = json!({"sessionId": session});
    let answer = client.request("session/cancel", params).await;
    assert_eq!(answer["status"], "cancelled");
    client.expect_event_of("control_outcome").await;

    let blocks = json!([{"type": "text", "text": "Mind b.txt"}]);
    let mut params = json!({"sessionId": session, "prompt": blocks});
    let outcome = client.request(METHOD, params.clone()).await;
    assert_eq!(outcome, json!({"outcome": "startedNewTurn"}));
    // Now a turn is queued that will read the message.
    params["_meta"] = json!({"steering": {"idleBehavior": "promptRequired"}});
    let outcome = client.request(METHOD, params).await;
    assert_eq!(outcome, json!({"outcome": "injected"}));
    client.expect_event_of("control_outcome").await;
    go.notify_one();
    let (_, result) = client.collect_updates_until(&turn).await;
    assert_eq!(result["stopReason"], "cancelled");
    let update = client.expect_update_of("agent_message_chunk").await;
    assert_eq!(update["content"]["text"], "Mind b.txt. ");
    client.vanish();
}
