//! Operations of a host, `host/call`: sent only to hosts that offered the bridge, and only for advertised
//! operations; an answer of the wrong shape is an error. Without a bridge this machine answers.

use std::sync::Arc;

use expect_test::expect;
use harn_model::{ShellList, ShellPlatform, StopReason, ToolKind};
use harn_runtime::{AgentError, HostError, TurnContext};
use harn_testkit::{MemoryRules, ScriptedAgent, StrictClient, TestHub, asking_agent};
use harn_tests::initialize_params;
use harn_tools::{DiskProbe, LocalHost, Toolbox, ToolboxConfig, Toolboxes, shells::ShellWorld};
use serde_json::{Map, Value, json};

/// Requests the shells and sends the result as text; also requests an operation that is not offered.
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

/// Runs the operation in a tool call.
async fn call(cx: &TurnContext, operation: &str) -> Result<Value, HostError> {
    let tool = cx.tool(operation).kind(ToolKind::Read).input(json!({}));
    let call = tool.start().await.unwrap();
    let result = call.host().call(operation, json!({})).await;
    call.complete(()).await.unwrap();
    result
}

async fn start_session_and_prompt(
    test: &TestHub,
    client: &mut StrictClient,
    bridge: bool,
) -> (Value, Value) {
    let wishes = Map::from_iter([("hostBridge".to_owned(), json!(bridge))]);
    let answer = client
        .request("initialize", initialize_params(&wishes))
        .await;
    let harn = &answer["agentCapabilities"]["_meta"]["harn"];
    assert_eq!(harn.get("hostCapabilityOperations").is_some(), bridge);
    let new = json!({"cwd": test.workspace(), "mcpServers": []});
    let session = client.request("session/new", new).await["sessionId"].take();
    let id = send_prompt(client, &session).await;
    (session, id)
}

async fn send_prompt(client: &mut StrictClient, session: &Value) -> Value {
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "Which?"}]});
    client.send_request("session/prompt", prompt).await
}

async fn expect_text(client: &mut StrictClient, prompt: &Value, expected: &str) {
    let (updates, _) = client.collect_updates_until(prompt).await;
    let mut said = updates.iter().filter_map(|u| u["content"]["text"].as_str());
    assert_eq!(said.next(), Some(expected));
}

/// Expects the updates before the request to the host: the call of the unknown operation, and the start of the
/// second call.
async fn expect_tool_calls(client: &mut StrictClient) {
    client.expect_update_of("tool_call").await;
    client.expect_update_of("tool_call_update").await;
    client.expect_update_of("tool_call").await;
}

#[tokio::test]
async fn host_with_the_bridge_is_asked_and_its_answer_is_checked() {
    let test = TestHub::new(ScriptedAgent::new(look_for_shells));
    let mut client = test.connect();
    let (session, prompt) = start_session_and_prompt(&test, &mut client, true).await;
    expect_tool_calls(&mut client).await;
    let (id, params) = client.expect_request("host/call").await;
    let expected = json!({"sessionId": session, "name": "process.list_shells", "args": {}});
    assert_eq!(params, expected);
    client
        .respond(&id, json!({"shells": [], "default_shell_id": null}))
        .await;
    expect_text(&mut client, &prompt, "0 shells").await;

    let prompt = send_prompt(&mut client, &session).await;
    expect_tool_calls(&mut client).await;
    let (id, _) = client.expect_request("host/call").await;
    client.respond(&id, json!({"shells": "none"})).await;
    expect_text(&mut client, &prompt, "no sense").await;

    let prompt = send_prompt(&mut client, &session).await;
    expect_tool_calls(&mut client).await;
    let (id, _) = client.expect_request("host/call").await;
    client.respond_error(&id, -32001, "not today").await;
    expect_text(&mut client, &prompt, "refused").await;
    client.close().await;
}

#[tokio::test]
async fn host_without_the_bridge_is_not_asked() {
    let test = TestHub::new(ScriptedAgent::new(look_for_shells));
    let mut client = test.connect();
    let (_, prompt) = start_session_and_prompt(&test, &mut client, false).await;
    expect_text(&mut client, &prompt, "nobody to ask").await;
    client.close().await;
}

/// A machine with bash and sh.
struct Machine;

impl ShellWorld for Machine {
    fn platform(&self) -> ShellPlatform {
        ShellPlatform::Linux
    }

    fn env(&self, _: &str) -> Option<String> {
        None
    }

    fn passwd(&self) -> Option<String> {
        None
    }

    fn etc_shells(&self) -> Option<String> {
        None
    }

    fn is_file(&self, path: &str) -> bool {
        ["/bin/bash", "/bin/sh"].contains(&path)
    }
}

/// The result of each operation without a bridge, in one session.
#[tokio::test]
async fn this_machine_answers_without_a_bridge() {
    let builder = TestHub::builder(asking_agent()).config(|config| {
        config.rules = MemoryRules::new("auto_approve = [\"*\"]");
        config.local_host = Arc::new(LocalHost::new().with_shells(Arc::new(Machine)));
        config.probe = Arc::new(DiskProbe);
    });
    let test = builder.build();
    let mut client = test.connect();
    client
        .request("initialize", initialize_params(&Map::new()))
        .await;
    let new = json!({"cwd": test.workspace(), "mcpServers": []});
    let session = client.request("session/new", new).await["sessionId"].take();
    let mut table = String::new();
    for call in [
        r#"list_shells {}"#,
        r#"get_default_shell {}"#,
        r#"set_default_shell {"shell_id":"sh"}"#,
        r#"set_default_shell {"shell_id":"zsh"}"#,
        r#"set_default_shell {"shell_id":"fish"}"#,
        r#"get_default_shell {}"#,
        r#"shell_invocation {"shell_id":"bash","command":"ls","login":true}"#,
        r#"shell_invocation {"command":"ls"}"#,
        r#"exec {"command":"echo out; echo err >&2; exit 3"}"#,
        r#"exec {"command":["/bin/sh","-c","pwd"],"cwd":"below"}"#,
        r#"exec {"command":"true","cwd":"/"}"#,
        r#"exec {"command":"true","env":{"PATH":"/tmp"}}"#,
        r#"exec {"command":"sleep 600","timeout_ms":20}"#,
        r#"list_shells []"#,
        r#"reboot {}"#,
    ] {
        let text = format!("host/call process.{call}");
        let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
        let id = client.send_request("session/prompt", prompt).await;
        let (updates, _) = client.collect_updates_until(&id).await;
        let said = updates
            .iter()
            .filter(|update| update["sessionUpdate"] == "agent_message_chunk")
            .filter_map(|update| update["content"]["text"].as_str());
        table += &format!("{call}\n    {}\n", said.collect::<String>());
    }
    client.close().await;
    let workspace = test.workspace().canonicalize().unwrap();
    let table = table.replace(&*workspace.to_string_lossy(), "/workspace");
    expect![[r#"
        list_shells {}
            {"shells":[{"id":"zsh","label":"zsh","path":"/bin/zsh","platform":"linux","available":false,"supports_login":true,"supports_interactive":true,"default_args":["-c"],"login_args":["-l","-c"],"source":"fallback"},{"id":"bash","label":"bash","path":"/bin/bash","platform":"linux","available":true,"supports_login":true,"supports_interactive":true,"default_args":["-c"],"login_args":["-l","-c"],"source":"fallback"},{"id":"sh","label":"sh","path":"/bin/sh","platform":"linux","available":true,"supports_login":true,"supports_interactive":true,"default_args":["-c"],"login_args":["-l","-c"],"source":"fallback"}],"default_shell_id":"bash"}
        get_default_shell {}
            {"id":"bash","label":"bash","path":"/bin/bash","platform":"linux","available":true,"supports_login":true,"supports_interactive":true,"default_args":["-c"],"login_args":["-l","-c"],"source":"fallback"}
        set_default_shell {"shell_id":"sh"}
            {"id":"sh","label":"sh","path":"/bin/sh","platform":"linux","available":true,"supports_login":true,"supports_interactive":true,"default_args":["-c"],"login_args":["-l","-c"],"source":"fallback"}
        set_default_shell {"shell_id":"zsh"}
            failed: the shell "zsh" is not at /bin/zsh; choose one that is available
        set_default_shell {"shell_id":"fish"}
            failed: unknown shell "fish"; known shells: zsh, bash, sh
        get_default_shell {}
            {"id":"sh","label":"sh","path":"/bin/sh","platform":"linux","available":true,"supports_login":true,"supports_interactive":true,"default_args":["-c"],"login_args":["-l","-c"],"source":"fallback"}
        shell_invocation {"shell_id":"bash","command":"ls","login":true}
            {"program":"/bin/bash","args":["-l","-c","ls"],"command_arg_index":2,"shell":{"id":"bash","label":"bash","path":"/bin/bash","platform":"linux","available":true,"supports_login":true,"supports_interactive":true,"default_args":["-c"],"login_args":["-l","-c"],"source":"fallback"}}
        shell_invocation {"command":"ls"}
            failed: which shell? give shell_id, or shell with an id or a path
        exec {"command":"echo out; echo err >&2; exit 3"}
            {"exit_code":3,"signal":null,"stdout":"out\n","stderr":"err\n"}
        exec {"command":["/bin/sh","-c","pwd"],"cwd":"below"}
            denied: /workspace/below: a command must run in the session's directory, or in one that its call declared
        exec {"command":"true","cwd":"/"}
            denied: /: a command must run in the session's directory, or in one that its call declared
        exec {"command":"true","env":{"PATH":"/tmp"}}
            denied: process.exec: rules do not judge `env`; put variables into the command, as in `env NAME=value program`
        exec {"command":"sleep 600","timeout_ms":20}
            {"exit_code":null,"signal":null,"stdout":"","stderr":"","timed_out":true}
        list_shells []
            failed: the arguments of process.list_shells: expected an object
        reboot {}
            unsupported: the host does not offer that operation
    "#]].assert_eq(&table);
}

/// Sets the default shell with a call, and reads it back through the host and the toolbox.
async fn set_and_read_default_shell(cx: TurnContext) -> Result<StopReason, AgentError> {
    const SET: &str = "process.set_default_shell";
    let args = json!({"shell_id": "sh"});
    let call = cx.tool(SET).input(args.clone()).start().await?;
    call.run(|host| host.call(SET, args)).await?;
    let shell = cx.host().inquire("process.get_default_shell", json!({}));
    let shell = shell.await.unwrap();
    let toolbox = Toolbox::from_turn(&cx).unwrap();
    let chosen = toolbox.shells().chosen_id();
    let (id, chosen) = (shell["id"].as_str().unwrap(), chosen.unwrap());
    cx.say(format!("{id} {chosen}")).await?;
    Ok(StopReason::EndTurn)
}

#[tokio::test]
async fn shell_set_by_a_call_becomes_the_shell_of_the_session() {
    let builder =
        TestHub::builder(ScriptedAgent::new(set_and_read_default_shell)).config(|config| {
            let local = LocalHost::new().with_shells(Arc::new(Machine));
            config.rules = MemoryRules::new("auto_approve = [\"*\"]");
            config.local_host = Arc::new(local.clone());
            config.equip = Arc::new(Toolboxes::new(ToolboxConfig {
                local,
                ..ToolboxConfig::default()
            }));
        });
    let test = builder.build();
    let mut client = test.connect();
    let (_, prompt) = start_session_and_prompt(&test, &mut client, false).await;
    expect_text(&mut client, &prompt, "sh sh").await;
    client.close().await;
}
