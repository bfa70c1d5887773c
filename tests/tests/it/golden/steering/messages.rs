//! Messages for a running turn: accepted, delivered, revoked, replaced.

use harn_tests::check_transcript;
use serde_json::json;

use super::{Stage, code_and_reason, listen};

#[tokio::test]
async fn messages_are_delivered_at_a_seam_or_as_the_next_prompt() {
    let mut stage = Stage::with_turn(listen).await;
    let early = json!({"mode": "steer", "content": "Too early"});
    let error = stage.send_rejected_control("session/inject", early).await;
    assert_eq!(
        code_and_reason(&error),
        (&json!(-32004), &json!("no_active_prompt"))
    );

    let turn = stage.begin().await;
    let later = json!({"mode": "queue", "content": [{"type": "text", "text": "Then the tests."}]});
    let later = stage.send_control("session/inject", later).await;
    assert_eq!(later["_meta"]["harn"]["pendingCount"], 1);
    let id = stage.inject("steer", "Mind b.txt.").await;
    stage.go.notify_one();
    let update = stage.client.expect_update_of("user_message").await;
    assert_eq!(update["messageId"], id);
    let seam = stage.client.expect_event_of("loop_checkpoint").await;
    assert_eq!(
        (&seam["seam"], &seam["delivered"]),
        (&json!("post_tool_dispatch"), &json!(1))
    );
    stage.client.expect_update_of("agent_message_chunk").await;

    // The agent has received the message.
    let message = json!({"messageId": id});
    let error = stage
        .send_rejected_control("session/revoke_inject", message)
        .await;
    assert_eq!(
        code_and_reason(&error),
        (&json!(-32602), &json!("already_delivered"))
    );
    let message = json!({"messageId": id, "content": "Mind c.txt."});
    let error = stage
        .send_rejected_control("session/replace_inject", message)
        .await;
    assert_eq!(error["data"]["messageId"], id);

    // The agent is done; the queued message is its next prompt in the same turn.
    stage.go.notify_one();
    let (updates, result) = stage.client.collect_updates_until(&turn).await;
    let delivered = updates
        .iter()
        .find(|it| it["sessionUpdate"] == "user_message")
        .unwrap();
    assert_eq!(delivered["messageId"], later["messageId"]);
    let said = updates
        .iter()
        .find(|it| it["sessionUpdate"] == "agent_message_chunk")
        .unwrap();
    assert_eq!(said["content"]["text"], "You said: Then the tests.");
    assert_eq!(result["stopReason"], "end_turn");
    stage.client.close().await;
    check_transcript("steering-delivered", stage.test.recorder());
}

#[tokio::test]
async fn pending_messages_are_revoked_and_replaced() {
    let mut stage = Stage::with_turn(listen).await;
    let turn = stage.begin().await;
    let first = stage.inject("steer", "First").await;
    let second = stage.inject("queue", "Second").await;
    let third = stage.inject("steer", "Third").await;

    let message = json!({"messageId": second});
    for status in ["revoked", "already_revoked"] {
        let answer = stage
            .send_control("session/revoke_inject", message.clone())
            .await;
        assert_eq!(answer, json!({"messageId": second, "status": status}));
    }
    let message = json!({"messageId": first, "content": "First, but differently"});
    let answer = stage.send_control("session/replace_inject", message).await;
    assert_eq!(answer, json!({"messageId": first, "status": "replaced"}));
    let pending = stage.pending().await;
    assert_eq!(pending[0]["messageId"], first);
    assert_eq!(pending[0]["mode"], "finish_step");
    assert_eq!(pending[0]["content"][0]["text"], "First, but differently");
    assert_eq!(pending[1]["messageId"], third);

    let message = json!({"messageId": second, "content": "Too late"});
    let error = stage
        .send_rejected_control("session/replace_inject", message)
        .await;
    assert_eq!(
        code_and_reason(&error),
        (&json!(-32602), &json!("already_revoked"))
    );
    let unknown = json!({"messageId": "msg-other", "content": "Whatever"});
    for method in ["session/revoke_inject", "session/replace_inject"] {
        let error = stage.send_rejected_control(method, unknown.clone()).await;
        assert_eq!(
            code_and_reason(&error),
            (&json!(-32602), &json!("unknown_message_id"))
        );
    }

    stage.go.notify_one();
    stage.go.notify_one();
    for id in [first, third] {
        let update = stage.client.expect_update_of("user_message").await;
        assert_eq!(update["messageId"], id);
    }
    stage.client.expect_event_of("loop_checkpoint").await;
    for _ in 0..2 {
        stage.client.expect_update_of("agent_message_chunk").await;
    }
    stage.go.notify_one();
    let (_, result) = stage.client.collect_updates_until(&turn).await;
    assert_eq!(result["stopReason"], "end_turn");
    stage.client.close().await;
    check_transcript("steering-changed", stage.test.recorder());
}
