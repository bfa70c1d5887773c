//! A question and what a client may answer.

use std::sync::Arc;

use harn_model::{StopReason, ToolContent, ToolKind};
use harn_runtime::{AgentError, ToolOutput, TurnContext};
use harn_testkit::{ScriptedAgent, StrictClient, TestHub};
use harn_tests::check_transcript;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::{meet, open, prompt};

/// Wants to write a note, and says what came of it.
async fn write_a_note(cx: TurnContext) -> Result<StopReason, AgentError> {
    let path = cx.host().absolute("notes.txt").display().to_string();
    let diff = ToolContent::Diff {
        path,
        old_text: None,
        new_text: "Remember the milk.\n".to_owned(),
    };
    let write = cx.tool("write_file").kind(ToolKind::Edit);
    let write = write.title("Write notes.txt").path("notes.txt");
    match write.content(diff).ask().await {
        Ok(write) => {
            write.complete(ToolOutput::default()).await?;
            cx.say("It is written.").await?;
        }
        Err(AgentError::Denied { .. }) => cx.say("Then I leave it.").await?,
        Err(other) => return Err(other),
    }
    Ok(StopReason::EndTurn)
}

/// Up to the question: the prompt's id, the question's, and its params.
async fn until_asked(client: &mut StrictClient, test: &TestHub) -> (Value, Value, Value) {
    meet(client).await;
    let session = open(client, test).await;
    let id = prompt(client, &session, "Take a note").await;
    client.expect_update_of("tool_call").await;
    let (ask, params) = client.expect_request("session/request_permission").await;
    (id, ask, params)
}

async fn answered(option: &str) -> (TestHub, Vec<Value>) {
    let test = TestHub::new(ScriptedAgent::new(write_a_note));
    let mut client = test.connect();
    let (id, ask, params) = until_asked(&mut client, &test).await;
    assert_eq!(params["toolCall"]["title"], "Write notes.txt");
    assert_eq!(params["toolCall"]["content"][0]["type"], "diff");
    let outcome = json!({"outcome": "selected", "optionId": option});
    client.respond(&ask, json!({"outcome": outcome})).await;
    let (updates, result) = client.updates_until(&id).await;
    assert_eq!(result["stopReason"], "end_turn");
    client.close().await;
    (test, updates)
}

#[tokio::test]
async fn allowed() {
    let (test, updates) = answered("allow_once").await;
    assert_eq!(updates[0]["status"], "in_progress");
    assert_eq!(updates[1]["status"], "completed");
    check_transcript("permission-allowed", test.recorder());
}

#[tokio::test]
async fn rejected() {
    let (test, updates) = answered("reject_once").await;
    assert_eq!(updates[0]["status"], "failed");
    let harn = &updates[0]["_meta"]["harn"];
    assert_eq!(harn["errorCategory"], "permission_denied");
    check_transcript("permission-rejected", test.recorder());
}

/// The question is withdrawn when the turn is cancelled; a client that answers all the same, as ACP asks
/// it to, changes nothing.
#[tokio::test]
async fn cancelled_while_the_question_is_open() {
    let withdrawn = Arc::new(Notify::new());
    let seen = withdrawn.clone();
    let agent = ScriptedAgent::new(move |cx| {
        let seen = seen.clone();
        async move {
            let result = write_a_note(cx).await;
            // The client reads the withdrawal before the turn ends, so that the order is one of one.
            seen.notified().await;
            result
        }
    });
    let test = TestHub::new(agent);
    let mut client = test.connect();
    let (id, ask, params) = until_asked(&mut client, &test).await;
    let cancel = json!({"sessionId": params["sessionId"]});
    client.notify("session/cancel", cancel).await;
    let request = client.expect_notification("$/cancel_request").await;
    assert_eq!(request["requestId"], ask);
    let outcome = json!({"outcome": {"outcome": "cancelled"}});
    client.respond(&ask, outcome).await;
    withdrawn.notify_one();
    let (updates, result) = client.updates_until(&id).await;
    assert_eq!(updates[0]["status"], "failed");
    assert_eq!(result["stopReason"], "cancelled");
    client.close().await;
    check_transcript("permission-cancelled", test.recorder());
}
