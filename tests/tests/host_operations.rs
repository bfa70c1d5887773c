//! Operations of a host, `host/call`: asked only of hosts that offered the bridge, only those that were
//! advertised, and an answer of the wrong shape is none.
#![allow(clippy::unwrap_used, reason = "a test says what failed by failing")]

use harn_model::{ShellList, StopReason, ToolKind};
use harn_runtime::{AgentError, HostError, TurnContext};
use harn_testkit::{ScriptedAgent, StrictClient, TestHub};
use harn_tests::hello;
use serde_json::{Map, Value, json};

/// Asks for the shells and says what came of it; asks for what is not on offer too.
async fn look_for_shells(cx: TurnContext) -> Result<StopReason, AgentError> {
    let unknown = call(&cx, "process.reboot").await;
    assert!(
        matches!(unknown, Err(HostError::Unsupported(_))),
        "{unknown:?}"
    );
    let said = match call(&cx, "process.list_shells").await {
        Ok(list) => {
            let list: ShellList = serde_json::from_value(list).unwrap();
            format!("{} shells", list.shells.len())
        }
        Err(HostError::Unsupported(_)) => "nobody to ask".to_owned(),
        Err(HostError::Denied(_)) => "refused".to_owned(),
        Err(HostError::Host(_)) => "no sense".to_owned(),
        Err(other) => other.to_string(),
    };
    cx.say(said).await?;
    Ok(StopReason::EndTurn)
}

/// A call of the operation, which shows it.
async fn call(cx: &TurnContext, operation: &str) -> Result<Value, HostError> {
    let tool = cx.tool(operation).kind(ToolKind::Read).input(json!({}));
    let call = tool.start().await.unwrap();
    let result = call.host().call(operation, json!({})).await;
    call.complete(()).await.unwrap();
    result
}

async fn begin(test: &TestHub, client: &mut StrictClient, bridge: bool) -> (Value, Value) {
    let wishes = Map::from_iter([("hostBridge".to_owned(), json!(bridge))]);
    let answer = client.request("initialize", hello(&wishes)).await;
    let harn = &answer["agentCapabilities"]["_meta"]["harn"];
    assert_eq!(harn.get("hostCapabilityOperations").is_some(), bridge);
    let new = json!({"cwd": test.workspace(), "mcpServers": []});
    let session = client.request("session/new", new).await["sessionId"].take();
    let id = ask(client, &session).await;
    (session, id)
}

async fn ask(client: &mut StrictClient, session: &Value) -> Value {
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "Which?"}]});
    client.send_request("session/prompt", prompt).await
}

async fn says(client: &mut StrictClient, prompt: &Value, expected: &str) {
    let (updates, _) = client.updates_until(prompt).await;
    let mut said = updates.iter().filter_map(|u| u["content"]["text"].as_str());
    assert_eq!(said.next(), Some(expected));
}

/// The calls that are shown before the host is asked: of what nobody offers, and of what it does.
async fn shown(client: &mut StrictClient) {
    client.expect_update_of("tool_call").await;
    client.expect_update_of("tool_call_update").await;
    client.expect_update_of("tool_call").await;
}

#[tokio::test]
async fn a_host_with_the_bridge_is_asked_and_held_to_its_answer() {
    let test = TestHub::new(ScriptedAgent::new(look_for_shells));
    let mut client = test.connect();
    let (session, prompt) = begin(&test, &mut client, true).await;
    shown(&mut client).await;
    let (id, params) = client.expect_request("host/call").await;
    let expected = json!({"sessionId": session, "name": "process.list_shells", "args": {}});
    assert_eq!(params, expected);
    client
        .respond(&id, json!({"shells": [], "default_shell_id": null}))
        .await;
    says(&mut client, &prompt, "0 shells").await;

    let prompt = ask(&mut client, &session).await;
    shown(&mut client).await;
    let (id, _) = client.expect_request("host/call").await;
    client.respond(&id, json!({"shells": "none"})).await;
    says(&mut client, &prompt, "no sense").await;

    let prompt = ask(&mut client, &session).await;
    shown(&mut client).await;
    let (id, _) = client.expect_request("host/call").await;
    client.respond_error(&id, -32001, "not today").await;
    says(&mut client, &prompt, "refused").await;
    client.close().await;
}

#[tokio::test]
async fn a_host_without_it_is_not_asked() {
    let test = TestHub::new(ScriptedAgent::new(look_for_shells));
    let mut client = test.connect();
    let (_, prompt) = begin(&test, &mut client, false).await;
    says(&mut client, &prompt, "nobody to ask").await;
    client.close().await;
}
