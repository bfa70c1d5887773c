//! Before any session: versions, capabilities, authentication.

use harn_acp::{AcpConfig, TerminalAuth};
use harn_testkit::{ScriptedAgent, TestHub};
use harn_tests::{check_transcript, initialize_params};
use serde_json::{Map, json};

#[tokio::test]
async fn initialize_is_answered_and_an_unknown_auth_method_rejected() {
    let test = TestHub::new(ScriptedAgent::silent());
    let mut client = test.connect();
    let hello = json!({
        "protocolVersion": 1,
        "clientCapabilities": {"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true},
        "clientInfo": {"name": "strict", "title": "Strict", "version": "0.0.0"},
    });
    let answer = client.request("initialize", hello).await;
    assert_eq!(answer["protocolVersion"], 1);
    let refused = client
        .request_error("authenticate", json!({"methodId": "agent"}))
        .await;
    assert_eq!(refused["code"], -32602);
    client.request("logout", json!({})).await;
    client.close().await;
    check_transcript("handshake", test.recorder());
}

#[tokio::test]
async fn newer_client_is_answered_with_our_version() {
    let test = TestHub::new(ScriptedAgent::silent());
    let mut client = test.connect();
    let mut hello = initialize_params(&Map::new());
    hello["protocolVersion"] = json!(99);
    hello["clientCapabilities"]["telepathy"] = json!({"range": "short"});
    let answer = client.request("initialize", hello).await;
    assert_eq!(answer["protocolVersion"], 1);
    client.close().await;
    check_transcript("handshake-other-version", test.recorder());
}

/// The agent offers a command to a client that can run the agent's program in a terminal. Older clients also
/// send its id to `authenticate`.
#[tokio::test]
async fn a_client_with_a_terminal_is_offered_a_command_for_it() {
    let terminal_auth = TerminalAuth {
        id: "doctor",
        name: "Check the installation",
        description: "No session needs this.",
        args: vec!["--doctor".to_owned()],
        program: "/usr/bin/harn-serve".to_owned(),
        started_with: vec!["acp".to_owned()],
    };
    let test = TestHub::builder(ScriptedAgent::silent()).acp(AcpConfig {
        terminal_auth: Some(terminal_auth),
        ..AcpConfig::default()
    });
    let test = test.build();
    let mut client = test.connect();
    let mut hello = initialize_params(&Map::new());
    hello["clientCapabilities"]["auth"] = json!({"terminal": true});
    hello["clientCapabilities"]["_meta"]["terminal-auth"] = json!(true);
    client.request("initialize", hello).await;
    client
        .request("authenticate", json!({"methodId": "doctor"}))
        .await;
    let other = json!({"methodId": "agent"});
    let refused = client.request_error("authenticate", other).await;
    assert_eq!(refused["data"]["reason"], "unknown_auth_method");
    client.close().await;
    check_transcript("handshake-terminal-auth", test.recorder());
}

#[tokio::test]
async fn a_plain_client_is_promised_no_extensions() {
    let test = TestHub::new(ScriptedAgent::silent());
    let mut client = test.connect();
    let wishes = Map::from_iter([("profile".to_owned(), json!("acp"))]);
    let answer = client
        .request("initialize", initialize_params(&wishes))
        .await;
    let harn = &answer["agentCapabilities"]["_meta"]["harn"];
    assert!(harn.get("sessionUpdateExtensions").is_none());
    client.close().await;
    check_transcript("handshake-plain", test.recorder());
}
