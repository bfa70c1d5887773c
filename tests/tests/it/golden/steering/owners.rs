//! The owner of a message and its rights.

use std::sync::Arc;

use harn_model::StopReason;
use harn_runtime::{AgentError, TurnContext};
use harn_tests::check_transcript;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{Stage, code_and_reason};

/// Works until the cancel.
async fn work(cx: TurnContext, _: Arc<Notify>) -> Result<StopReason, AgentError> {
    cx.say("Working.").await?;
    cx.cancelled().await;
    Ok(StopReason::Cancelled)
}

fn actor_meta(client: &str, role: &str) -> Value {
    json!({"harn": {"actor": {"clientId": client, "role": role}}})
}

#[tokio::test]
async fn only_its_owner_or_a_host_owner_changes_a_message() {
    let mut stage = Stage::with_turn(work).await;
    let turn = stage.begin().await;
    let mine = json!({"mode": "queue", "content": "Mine", "_meta": actor_meta("ann", "reviewer")});
    let mine = stage.send_control("session/inject", mine).await;
    let actor = json!({"clientId": "ann", "role": "reviewer", "source": "acp"});
    assert_eq!(mine["_meta"]["harn"]["actor"], actor);
    let id = &mine["messageId"];

    // The owner is checked before the content.
    let other = json!({"messageId": id, "content": [], "_meta": actor_meta("bob", "reviewer")});
    for method in ["session/revoke_inject", "session/replace_inject"] {
        let error = stage.send_rejected_control(method, other.clone()).await;
        assert_eq!(
            code_and_reason(&error),
            (&json!(-32602), &json!("not_owner_or_not_authorized"))
        );
        assert_eq!(error["data"]["owner"], actor);
        assert_eq!(error["data"]["actor"]["clientId"], "bob");
    }
    let own =
        json!({"messageId": id, "content": "Mine, again", "_meta": actor_meta("ann", "reviewer")});
    stage.send_control("session/replace_inject", own).await;
    // A host owner may change every message.
    stage
        .send_control("session/revoke_inject", json!({"messageId": id}))
        .await;

    let phone = json!({"mode": "queue", "content": "From the phone", "_harn": {"actor": {"clientId": "phone"}}});
    stage.send_control("session/inject", phone).await;

    // A message that the agent has not received stays pending after a cancel.
    let cancel = stage.session_params(json!({}));
    stage.client.notify("session/cancel", cancel).await;
    let (_, result) = stage.client.collect_updates_until(&turn).await;
    assert_eq!(result["stopReason"], "cancelled");
    assert_eq!(
        stage.pending().await[0]["content"][0]["text"],
        "From the phone"
    );
    stage.client.close().await;
    check_transcript("steering-owners", stage.test.recorder());
}
