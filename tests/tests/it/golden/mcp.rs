//! MCP servers that a client lists: their states are in responses and updates, and an invalid list is rejected
//! without repeating its values.

use std::sync::Arc;

use harn_model::{McpServerStatus, McpState, McpTransport, SessionId};
use harn_testkit::{FakeEquip, ScriptedAgent, TestHub};
use harn_tests::check_transcript;
use serde_json::{Value, json};

use crate::golden::{existing_session_params, initialize};

fn equipped_hub() -> (FakeEquip, TestHub) {
    let equip = FakeEquip::default();
    let shared = Arc::new(equip.clone());
    let test = TestHub::builder(ScriptedAgent::silent())
        .config(move |config| config.equip = shared.clone())
        .build();
    (equip, test)
}

fn issues() -> Value {
    json!({
        "name": "issues", "command": "/usr/bin/issues", "args": ["--stdio"],
        "env": [{"name": "TOKEN", "value": "not-a-secret"}],
    })
}

fn wiki() -> Value {
    json!({
        "type": "http", "name": "wiki", "url": "http://127.0.0.1:9/mcp",
        "headers": [{"name": "authorization", "value": "not-a-secret"}],
    })
}

fn server_status(
    name: &str,
    state: McpState,
    tools: Option<u64>,
    error: Option<&str>,
) -> McpServerStatus {
    McpServerStatus {
        name: name.to_owned(),
        state,
        tools,
        error: error.map(str::to_owned),
    }
}

fn server_names(equip: &FakeEquip, session: &Value) -> Vec<String> {
    let id = SessionId::from(session.as_str().unwrap());
    let specs = equip.specs(&id);
    specs.into_iter().map(|spec| spec.name).collect()
}

#[tokio::test]
async fn updates_report_the_state_of_mcp_servers() {
    let (equip, test) = equipped_hub();
    let cwd = test.workspace();
    let mut client = test.connect();
    initialize(&mut client).await;
    let params = json!({"cwd": cwd, "mcpServers": [issues(), wiki()]});
    let mut answer = client.request("session/new", params).await;
    let session = answer["sessionId"].take();
    let id = SessionId::from(session.as_str().unwrap());
    let specs = equip.specs(&id);
    assert!(
        matches!(&specs[0].transport, McpTransport::Stdio { env, .. }
        if env[0].1.reveal() == "not-a-secret")
    );
    let refused = Some("the connection was refused");
    let now = vec![
        server_status("issues", McpState::Ready, Some(2), None),
        server_status("wiki", McpState::Failed, None, refused),
    ];
    equip.set_servers(&id, now).await;
    let update = client.expect_update_of("session_info_update").await;
    assert_eq!(update["_meta"]["harn"]["mcp"][0]["tools"], 2);

    // Every other method that opens a session accepts servers too, or none.
    let sse = json!({"type": "sse", "name": "old", "url": "http://127.0.0.1:9/sse", "headers": []});
    let mut params = existing_session_params(&session, &cwd);
    params["mcpServers"] = json!([sse]);
    let answer = client.request("session/resume", params).await;
    assert_eq!(answer["_meta"]["harn"]["mcp"][1]["name"], "old");
    let transport = equip.specs(&id)[2].transport.clone();
    assert_eq!(transport, McpTransport::Unsupported("sse"));
    let params = json!({"sessionId": session, "cwd": cwd, "mcpServers": [issues()]});
    let forked = client.request("session/fork", params).await["sessionId"].take();
    assert_eq!(server_names(&equip, &forked), ["issues"]);
    for (method, bare) in [
        ("session/resume", json!({"sessionId": session, "cwd": cwd})),
        ("session/fork", json!({"sessionId": session, "cwd": cwd})),
        ("session/new", json!({"cwd": cwd})),
        ("session/load", json!({"sessionId": session, "cwd": cwd})),
    ] {
        let request = client.send_request(method, bare).await;
        client.collect_updates_until(&request).await;
    }
    assert_eq!(server_names(&equip, &session), ["issues", "wiki", "old"]);
    client.close().await;
    check_transcript("mcp", test.recorder());
}

#[tokio::test]
async fn invalid_mcp_servers_are_rejected() {
    let (_, test) = equipped_hub();
    let cwd = test.workspace();
    let mut client = test.connect();
    initialize(&mut client).await;
    let mut blank = issues();
    blank["name"] = json!(" ");
    let mut spoiled = wiki();
    spoiled["headers"] = json!(["authorization: not-a-secret"]);
    for (method, servers) in [
        ("session/new", json!({"issues": issues()})),
        ("session/new", json!([blank])),
        ("session/new", json!([issues(), issues()])),
        ("session/load", json!([spoiled])),
        (
            "session/resume",
            json!([{"type": "carrier-pigeon", "name": "pigeon"}]),
        ),
        ("session/fork", json!(["issues"])),
    ] {
        let mut params = json!({"cwd": cwd, "mcpServers": servers});
        if method != "session/new" {
            params["sessionId"] = json!("session-1");
        }
        let error = client.request_error(method, params).await;
        assert_eq!(error["code"], -32602);
        assert!(!error.to_string().contains("not-a-secret"), "{error}");
    }
    client.close().await;
    check_transcript("mcp-refused", test.recorder());
}

/// The servers of an observer are not started.
#[tokio::test]
async fn mcp_servers_of_an_observer_are_ignored() {
    let (equip, test) = equipped_hub();
    let cwd = test.workspace();
    let mut driver = test.connect();
    initialize(&mut driver).await;
    let params = json!({"cwd": cwd});
    let session = driver.request("session/new", params).await["sessionId"].take();
    let mut other = test.connect();
    initialize(&mut other).await;
    let mut params = existing_session_params(&session, &cwd);
    params["mcpServers"] = json!([issues()]);
    let answer = other.request("session/resume", params).await;
    assert_eq!(answer.get("_meta"), None);
    assert_eq!(server_names(&equip, &session), Vec::<String>::new());
    other.close().await;
    driver.close().await;
}
