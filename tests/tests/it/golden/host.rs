//! Requests of the agent to the client: files, a terminal, a tool of the host.

use std::sync::Arc;

use harn_model::{ErrorCategory, StopReason, ToolContent, ToolKind};
use harn_runtime::{AgentError, CommandSink, CommandSpec, HostError, ToolOutput, TurnContext};
use harn_testkit::{ScriptedAgent, StrictClient, TestHub};
use harn_tests::check_transcript;
use serde_json::json;
use tokio::sync::Notify;

use crate::golden::{open, prompt};

/// Rules that allow every call; other transcripts show the permission requests.
const ALL: &str = "auto_approve = [\"*\"]";

#[derive(Default)]
struct Shown(Option<String>);

impl CommandSink for Shown {
    fn on_terminal(&mut self, terminal_id: &str) {
        self.0 = Some(terminal_id.to_owned());
    }

    fn on_output(&mut self, _: &str) {}
}

/// Sends each request in turn. No step waits until the client has read the previous one: the runtime guarantees
/// the order of the transcript.
async fn use_the_host(cx: TurnContext) -> Result<StopReason, AgentError> {
    let read = cx
        .tool("read_file")
        .kind(ToolKind::Read)
        .path("a.txt")
        .start()
        .await?;
    let text = read.run(|host| host.read_text("a.txt")).await?;
    let write = cx.tool("write_file").kind(ToolKind::Edit).path("b.txt");
    let write = write.start().await?;
    write
        .run(|host| host.write_text("b.txt", text.to_uppercase()))
        .await?;
    let missing = cx.host().read_text("c.txt").await;
    assert!(matches!(missing, Err(HostError::Host(_))), "{missing:?}");

    let run = cx.tool("run").command("cargo check").start().await?;
    let spec = CommandSpec {
        program: "cargo".to_owned(),
        args: vec!["check".to_owned()],
        cwd: cx.cwd().to_owned(),
        output_limit: 1000,
        confinement: None,
    };
    let mut shown = Shown::default();
    let exit = run.host().run(spec, &mut shown).await?;
    let terminal_id = shown.0.unwrap_or_default();
    let output = ToolOutput {
        raw: Some(json!({"exit": exit.code, "output": exit.output})),
        content: Some(vec![ToolContent::Terminal { terminal_id }]),
        ..ToolOutput::default()
    };
    run.complete(output).await?;

    let args = json!({"sides": 6});
    let dice = cx.tool("dice").input(args.clone()).start().await?;
    let number = dice.run(|host| host.call_tool("dice", args)).await?;
    cx.say(format!("It is {number}.")).await?;
    let launch = cx.tool("launch").input(json!({})).start().await?;
    let denied = launch.host().call_tool("launch", json!({})).await;
    assert!(matches!(denied, Err(HostError::Denied(_))), "{denied:?}");
    launch
        .fail("the host refused", ErrorCategory::PermissionDenied)
        .await?;
    Ok(StopReason::EndTurn)
}

#[tokio::test]
async fn agent_uses_files_a_terminal_and_a_tool_of_the_host() {
    let agent = ScriptedAgent::new(use_the_host);
    let test = TestHub::builder(agent).rules(ALL).build();
    let mut client = test.connect();
    let hello = json!({
        "protocolVersion": 1,
        "clientCapabilities": {
            "fs": {"readTextFile": true, "writeTextFile": true},
            "terminal": true,
            "_meta": {"harn": {"hostBridge": true}},
        },
        "clientInfo": {"name": "strict", "version": "0.0.0"},
    });
    client.request("initialize", hello).await;
    let session = open(&mut client, &test).await;
    let id = prompt(&mut client, &session, "Go").await;
    client.expect_update_of("tool_call").await;
    let (ask, params) = client.expect_request("fs/read_text_file").await;
    assert_eq!(params["path"], json!(test.workspace().join("a.txt")));
    client.respond(&ask, json!({"content": "alpha\n"})).await;
    client.expect_update_of("tool_call_update").await;
    client.expect_update_of("tool_call").await;
    let (ask, params) = client.expect_request("fs/write_text_file").await;
    assert_eq!(params["content"], "ALPHA\n");
    client.respond(&ask, json!({})).await;
    client.expect_update_of("tool_call_update").await;
    let (ask, _) = client.expect_request("fs/read_text_file").await;
    client
        .respond_error(&ask, -32002, "c.txt does not exist")
        .await;

    client.expect_update_of("tool_call").await;
    let (ask, _) = client.expect_request("terminal/create").await;
    client.respond(&ask, json!({"terminalId": "term-1"})).await;
    let (ask, _) = client.expect_request("terminal/wait_for_exit").await;
    client
        .respond(&ask, json!({"exitCode": 0, "signal": null}))
        .await;
    let (ask, _) = client.expect_request("terminal/output").await;
    let output = json!({"output": "Finished\n", "truncated": false, "exitStatus": {"exitCode": 0}});
    client.respond(&ask, output).await;
    let (ask, _) = client.expect_request("terminal/release").await;
    client.respond(&ask, json!({})).await;
    client.expect_update_of("tool_call_update").await;

    client.expect_update_of("tool_call").await;
    let (ask, params) = client.expect_request("builtin_call").await;
    assert_eq!(params, json!({"name": "dice", "args": [{"sides": 6}]}));
    client.respond(&ask, json!(4)).await;
    client.expect_update_of("tool_call_update").await;
    client.expect_update_of("agent_message_chunk").await;
    client.expect_update_of("tool_call").await;
    let (ask, _) = client.expect_request("builtin_call").await;
    client.respond_error(&ask, -32001, "not on a weekday").await;
    let (_, result) = client.collect_updates_until(&id).await;
    assert_eq!(result["stopReason"], "end_turn");
    client.close().await;
    check_transcript("host", test.recorder());
}

/// Runs a command that does not end. After the cancel, waits until the client has `seen` its consequences:
/// withdrawn requests and updates have no order among themselves, and a transcript needs one.
async fn run_for_ever(cx: TurnContext, seen: Arc<Notify>) -> Result<StopReason, AgentError> {
    let run = cx.tool("run").command("sleep 600").start().await?;
    let spec = CommandSpec {
        program: "sleep".to_owned(),
        args: vec!["600".to_owned()],
        cwd: cx.cwd().to_owned(),
        output_limit: 1000,
        confinement: None,
    };
    let mut shown = Shown::default();
    tokio::select! {
        exit = run.host().run(spec, &mut shown) => panic!("{exit:?}"),
        () = cx.cancelled() => {}
    }
    seen.notified().await;
    Err(AgentError::Cancelled)
}

#[tokio::test]
async fn terminal_ends_with_its_turn_even_if_created_late() {
    let seen = Arc::new(Notify::new());
    let signal = seen.clone();
    let agent = ScriptedAgent::new(move |cx| run_for_ever(cx, signal.clone()));
    let test = TestHub::builder(agent).rules(ALL).build();
    let mut client = test.connect();
    let hello = json!({
        "protocolVersion": 1,
        "clientCapabilities": {"terminal": true},
        "clientInfo": {"name": "strict", "version": "0.0.0"},
    });
    client.request("initialize", hello).await;
    let session = open(&mut client, &test).await;
    let cancel = json!({"sessionId": session});

    // Cancel while the command runs.
    let id = prompt(&mut client, &session, "Run").await;
    client.expect_update_of("tool_call").await;
    let (ask, _) = client.expect_request("terminal/create").await;
    client.respond(&ask, json!({"terminalId": "term-1"})).await;
    let (wait, _) = client.expect_request("terminal/wait_for_exit").await;
    client.notify("session/cancel", cancel.clone()).await;
    client.expect_event_of("control_outcome").await;
    client.expect_notification("$/cancel_request").await;
    client.respond_error(&wait, -32800, "cancelled").await;
    expect_terminal_end(&mut client, "term-1").await;
    seen.notify_one();
    let (_, result) = client.collect_updates_until(&id).await;
    assert_eq!(result["stopReason"], "cancelled");

    // Cancel before the client has created the terminal.
    let id = prompt(&mut client, &session, "Run again").await;
    client.expect_update_of("tool_call").await;
    let (ask, _) = client.expect_request("terminal/create").await;
    client.notify("session/cancel", cancel).await;
    seen.notify_one();
    let (_, result) = client.collect_updates_until(&id).await;
    assert_eq!(result["stopReason"], "cancelled");
    client.respond(&ask, json!({"terminalId": "term-2"})).await;
    expect_terminal_end(&mut client, "term-2").await;
    client.close().await;
    check_transcript("host-cancelled", test.recorder());
}

/// Expects the requests to kill and to release a terminal.
async fn expect_terminal_end(client: &mut StrictClient, terminal: &str) {
    for method in ["terminal/kill", "terminal/release"] {
        let (ask, params) = client.expect_request(method).await;
        assert_eq!(params["terminalId"], terminal);
        client.respond(&ask, json!({})).await;
    }
}
