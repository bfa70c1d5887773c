//! Stopping a turn, and no other.

use harn_model::{StopReason, ToolKind};
use harn_testkit::{ScriptedAgent, TestHub};
use harn_tests::check_transcript;
use serde_json::json;

use crate::{meet, open, prompt};

#[tokio::test]
async fn in_the_middle_and_too_late() {
    let agent = ScriptedAgent::new(|cx| async move {
        cx.say("Working").await?;
        if cx.prompt_text() == "slow" {
            cx.tool("look").kind(ToolKind::Search).start().await?;
            cx.cancelled().await;
            cx.say(", no longer").await?;
        }
        Ok(StopReason::EndTurn)
    });
    let test = TestHub::new(agent);
    let mut client = test.connect();
    meet(&mut client).await;
    let session = open(&mut client, &test).await;
    let cancel = json!({"sessionId": session});

    let id = prompt(&mut client, &session, "slow").await;
    client.expect_update_of("agent_message_chunk").await;
    client.expect_update_of("tool_call").await;
    client.notify("session/cancel", cancel.clone()).await;
    let (updates, result) = client.updates_until(&id).await;
    assert_eq!(result["stopReason"], "cancelled");
    let left = updates.iter().find(|u| u["status"] == "failed").unwrap();
    assert_eq!(left["_meta"]["harn"]["errorCategory"], "cancelled");

    // Nothing runs: there is nothing to stop, and the next turn is not stopped by it.
    client.notify("session/cancel", cancel).await;
    let id = prompt(&mut client, &session, "quick").await;
    let (_, result) = client.updates_until(&id).await;
    assert_eq!(result["stopReason"], "end_turn");

    // The same by the request's own id.
    let id = prompt(&mut client, &session, "slow").await;
    client.expect_update_of("agent_message_chunk").await;
    client.expect_update_of("tool_call").await;
    let request = json!({"requestId": id});
    client.notify("$/cancel_request", request).await;
    let (_, result) = client.updates_until(&id).await;
    assert_eq!(result["stopReason"], "cancelled");
    client.close().await;
    check_transcript("cancel", test.recorder());
}
