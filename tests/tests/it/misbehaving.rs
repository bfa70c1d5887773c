//! Clients that break the protocol: each receives an error that a program can handle, or is ignored, and
//! afterwards an ordinary prompt works on the same connection.

use std::path::Path;

use crate::support_stress::{
    Dice, PATIENCE, Process, connect_and_initialize, kind, load_params, new_session_params, open,
    text_prompt,
};
use harn_journal::{JsonlStore, Store};
use harn_model::{AgentEvent, SessionId, SessionView, StopReason, ToolKind};
use harn_runtime::{AgentError, TurnContext};
use harn_testkit::{MessageFromAgent, ScriptedAgent, StrictClient, TestHub};
use serde_json::{Value, json};
use tempfile::TempDir;

async fn answer_yes(cx: TurnContext) -> Result<StopReason, AgentError> {
    cx.say("yes").await?;
    Ok(StopReason::EndTurn)
}

/// The reaction to a line.
enum Outcome {
    Ignored,
    /// An error for a line that is no message and so has no id to answer.
    Rejected(i32),
    /// An error with this code and reason; no reason where the SDK answers.
    Refused(i32, &'static str),
    Served,
}
use Outcome::{Ignored, Refused, Rejected, Served};

const BAD: Outcome = Refused(-32602, "invalid_params");
const UNKNOWN: Outcome = Refused(-32002, "unknown_session");

#[tokio::test]
async fn prompt_works_after_each_wrong_message() {
    let test = TestHub::new(ScriptedAgent::new(answer_yes));
    let mut client = connect_and_initialize(&test).await;
    let session = open(&mut client, &test).await;
    for (at, (line, outcome)) in wrong_messages(&test, &session).into_iter().enumerate() {
        send_and_check(&mut client, &line, outcome).await;
        check_prompt_works(&mut client, &session, at == 0).await;
    }
    client.close().await;
}

/// Sends a line as it is and checks the reaction.
async fn send_and_check(client: &mut StrictClient, line: &str, outcome: Outcome) {
    let shown: String = line.chars().take(200).collect();
    match outcome {
        Ignored => client.send_raw(line).await,
        Rejected(code) => {
            client.send_raw(line).await;
            let error = client.expect_error(&Value::Null).await;
            assert_eq!(error["code"], code, "{shown}");
        }
        Refused(code, reason) => {
            let message: Value = serde_json::from_str(line).unwrap();
            client.send(&message).await;
            let error = client.expect_error(&message["id"]).await;
            assert_eq!(error["code"], code, "{shown}: {error}");
            let expected = (!reason.is_empty()).then_some(reason);
            assert_eq!(
                error["data"]["reason"].as_str(),
                expected,
                "{shown}: {error}"
            );
        }
        Served => {
            let message: Value = serde_json::from_str(line).unwrap();
            client.send(&message).await;
            loop {
                match client.next().await {
                    MessageFromAgent::Response { id, result } => {
                        assert_eq!(id, message["id"], "{shown}");
                        assert!(result.is_ok(), "{shown}: {result:?}");
                        break;
                    }
                    // A request that is served may produce updates.
                    MessageFromAgent::Notification { method, .. } => {
                        assert_eq!(method, "session/update")
                    }
                    MessageFromAgent::Request { method, .. } => panic!("asked for {method}"),
                }
            }
        }
    }
}

async fn check_prompt_works(client: &mut StrictClient, session: &str, first: bool) {
    let id = client
        .send_request("session/prompt", text_prompt(session, "Are you there?"))
        .await;
    let (updates, result) = client.collect_updates_until(&id).await;
    let kinds: Vec<_> = updates.iter().map(kind).collect();
    let title = first.then_some("session_info_update");
    let expected: Vec<_> = ["agent_message_chunk"].into_iter().chain(title).collect();
    assert_eq!(kinds, expected);
    assert_eq!(result["stopReason"], "end_turn");
}

fn request(method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": "odd", "method": method, "params": params}).to_string()
}

fn notification(method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

fn with_id(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"session/list","params":{{}}}}"#)
}

fn wrong_messages(test: &TestHub, session: &str) -> Vec<(String, Outcome)> {
    let cwd = test.workspace();
    let file = cwd.join("file.txt");
    std::fs::write(&file, "text").unwrap();
    let mut rows = vec![(with_id("1e999"), Rejected(-32700))];
    rows.extend(ids());
    rows.extend(shapes(session));
    rows.extend(params(session));
    rows.extend(prompts(session));
    rows.extend(odd_session_ids(&cwd));
    rows.extend(folders(&cwd, &file));
    rows
}

/// Ids that JSON-RPC or ACP does not allow, and allowed ids at the limits.
fn ids() -> Vec<(String, Outcome)> {
    vec![
        (with_id("1.5"), Rejected(-32600)),
        (with_id("18446744073709551616"), Rejected(-32600)),
        (with_id("true"), Rejected(-32600)),
        (with_id("{}"), Rejected(-32600)),
        (with_id("[1]"), Rejected(-32600)),
        (with_id("9223372036854775807"), Served),
        (with_id("-9223372036854775808"), Served),
        (with_id(r#""""#), Served),
        (with_id(&json!("x".repeat(100_000)).to_string()), Served),
    ]
}

/// Lines that are JSON but no messages, or messages that answer no request.
fn shapes(session: &str) -> Vec<(String, Outcome)> {
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let deep_params = format!(
        r#"{{"jsonrpc":"2.0","id":"odd","method":"session/list","params":{{"x":{}}}}}"#,
        deep(10_000)
    );
    vec![
        ("[".repeat(10_000), Rejected(-32700)),
        (deep(10_000), Rejected(-32700)),
        (deep_params, Rejected(-32700)),
        (deep(100), Rejected(-32600)),
        ("null".to_owned(), Rejected(-32600)),
        (r#""hello""#.to_owned(), Rejected(-32600)),
        ("{}".to_owned(), Rejected(-32600)),
        (
            r#"{"jsonrpc":"1.0","id":1,"method":"session/list"}"#.to_owned(),
            Rejected(-32600),
        ),
        (
            r#"{"id":1,"method":"session/list"}"#.to_owned(),
            Rejected(-32600),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":7}"#.to_owned(),
            Rejected(-32600),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"session/list","params":7}"#.to_owned(),
            Rejected(-32600),
        ),
        // Responses to no request.
        (
            r#"{"jsonrpc":"2.0","id":"never-asked","result":{}}"#.to_owned(),
            Ignored,
        ),
        (
            r#"{"jsonrpc":"2.0","id":99,"error":{"code":-1,"message":"no"}}"#.to_owned(),
            Ignored,
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"result":null}"#.to_owned(),
            Ignored,
        ),
        (r#"{"result":{}}"#.to_owned(), Ignored),
        // Unknown methods, and a method that only the agent may call.
        (request("", json!({})), Refused(-32601, "")),
        (
            request("session/request_permission", json!({"sessionId": session})),
            Refused(-32601, ""),
        ),
        (
            request("session/update", json!({"sessionId": session})),
            Refused(-32601, ""),
        ),
        (notification("session/nothing", json!({})), Ignored),
        (
            notification("session/prompt", text_prompt(session, "unheard")),
            Ignored,
        ),
        // Cancels without a target.
        (
            notification("session/cancel", json!({"sessionId": "nowhere"})),
            Ignored,
        ),
        (
            notification("session/cancel", json!({"sessionId": session})),
            Ignored,
        ),
        (
            notification("session/cancel", json!({"sessionId": 7})),
            Ignored,
        ),
        (notification("session/cancel", json!([])), Ignored),
        (
            request("session/cancel", json!({"sessionId": "nowhere"})),
            Refused(-32004, "unknown_session"),
        ),
        (
            notification("$/cancel_request", json!({"requestId": "never-asked"})),
            Ignored,
        ),
        (
            notification("$/cancel_request", json!({"requestId": [1]})),
            Ignored,
        ),
        (notification("$/cancel_request", json!({})), Ignored),
    ]
}

/// Params of the wrong type or shape, and with unknown members.
fn params(session: &str) -> Vec<(String, Outcome)> {
    let null = r#"{"jsonrpc":"2.0","id":"odd","method":"METHOD","params":null}"#;
    vec![
        (null.replace("METHOD", "session/list"), Served),
        (null.replace("METHOD", "session/new"), BAD),
        (null.replace("METHOD", "session/prompt"), BAD),
        (request("session/list", json!(["/"])), BAD),
        (request("session/new", json!(["/", []])), BAD),
        (request("session/prompt", json!([session, []])), BAD),
        (request("session/close", json!([session])), BAD),
        (request("session/set_mode", json!([session, "ask"])), BAD),
        (request("session/list", json!({"cwd": 7})), BAD),
        (request("session/list", json!({"cursor": {}})), BAD),
        (request("session/list", json!({"cursor": "made up"})), Refused(-32602, "bad_cursor")),
        (request("session/list", json!({"cursor": "", "more": [1, 2]})), Refused(-32602, "bad_cursor")),
        (request("session/new", json!({"cwd": ["/"], "mcpServers": []})), BAD),
        (request("session/new", json!({"cwd": "/", "mcpServers": "none"})), BAD),
        (request("session/load", json!({"sessionId": session})), BAD),
        (request("session/set_mode", json!({"sessionId": session, "modeId": 1})), BAD),
        (
            request("session/set_mode", json!({"sessionId": session, "modeId": "yolo"})),
            Refused(-32602, "unknown_mode"),
        ),
        (
            request("session/set_config_option", json!({"sessionId": session, "configId": "speed", "value": "x"})),
            Refused(-32602, "unknown_option"),
        ),
        (
            request("session/set_config_option", json!({"sessionId": session, "configId": "mode", "value": true})),
            BAD,
        ),
        (
            request("session/set_config_option", json!({"sessionId": session, "configId": "mode", "value": "yolo"})),
            Refused(-32602, "unknown_mode"),
        ),
        // The SDK checks the version before our code does.
        (request("initialize", json!({})), Refused(-32602, "")),
        (request("initialize", json!({"protocolVersion": {}})), Refused(-32602, "")),
        (request("initialize", json!({"protocolVersion": -1})), Refused(-32602, "")),
        // A second `initialize` changes nothing; neither do unknown versions.
        (request("initialize", json!({"protocolVersion": 65535})), Served),
        (request("initialize", json!({"protocolVersion": 1, "clientCapabilities": {"_meta": {"harn": 7}}})), Served),
        (request("authenticate", json!({"methodId": "none"})), Refused(-32602, "unknown_auth_method")),
        (
            json!({
                "jsonrpc": "2.0", "id": "odd", "method": "session/list", "extra": [1], "meta": {},
                "params": {"cwd": null, "cursor": null, "surprise": {"deep": [{}]}, "_meta": {"x": 1}},
            })
            .to_string(),
            Served,
        ),
    ]
}

/// Prompts that are empty or have unsupported content.
fn prompts(session: &str) -> Vec<(String, Outcome)> {
    let prompt = |blocks: Value| {
        request(
            "session/prompt",
            json!({"sessionId": session, "prompt": blocks}),
        )
    };
    let unsupported = || Refused(-32602, "unsupported_content");
    vec![
        (prompt(json!([])), Refused(-32602, "empty_prompt")),
        (prompt(json!(null)), BAD),
        (prompt(json!("hello")), BAD),
        (prompt(json!([{"type": "hologram", "data": "x"}])), BAD),
        (prompt(json!([{"text": "no type"}])), BAD),
        (prompt(json!([{"type": "text"}])), BAD),
        (prompt(json!([{"type": "text", "text": 7}])), BAD),
        (
            prompt(json!([{"type": "image", "data": "", "mimeType": "image/png"}])),
            unsupported(),
        ),
        (
            prompt(json!([{"type": "audio", "data": "", "mimeType": "audio/wav"}])),
            unsupported(),
        ),
        (
            prompt(json!([{"type": "resource", "resource": {"uri": "file:///x", "text": "x"}}])),
            unsupported(),
        ),
        (
            prompt(
                json!([{"type": "text", "text": "fine", "surprise": 1, "annotations": {"x": 1}, "_meta": {}}]),
            ),
            Served,
        ),
        (
            request(
                "session/prompt",
                json!({"prompt": [{"type": "text", "text": "whose?"}]}),
            ),
            BAD,
        ),
    ]
}

/// Session ids that do not exist, or would be a path.
fn odd_session_ids(cwd: &Path) -> Vec<(String, Outcome)> {
    let long = "x".repeat(10_000);
    let ids = [
        "",
        ".",
        "..",
        "/",
        "../../etc/passwd",
        "..\\..\\windows",
        "/etc/passwd",
        "a/b",
        "nul\0byte",
        "ünïcode",
        ".hidden",
        "-dash",
        "nowhere",
        &long,
    ];
    let methods = [
        "session/load",
        "session/resume",
        "session/fork",
        "session/close",
        "session/delete",
        "session/prompt",
    ];
    let rows = ids.iter().flat_map(|id| {
        methods.map(|method| {
            let prompt = [json!({"type": "text", "text": "hello"})];
            // Each method reads the members it needs and ignores the rest.
            let params = json!({"sessionId": id, "cwd": cwd, "mcpServers": [], "prompt": prompt});
            // Deleting a session that does not exist succeeds.
            let outcome = if method == "session/delete" {
                Served
            } else {
                UNKNOWN
            };
            (request(method, params), outcome)
        })
    });
    rows.collect()
}

/// Directories that a session cannot have.
fn folders(cwd: &Path, file: &Path) -> Vec<(String, Outcome)> {
    let inside = cwd.join("missing").display().to_string();
    let file = file.display().to_string();
    let below_file = format!("{file}/below");
    let bad = [
        "",
        ".",
        "src",
        "../up",
        "~",
        "nul\0byte",
        &inside,
        &file,
        &below_file,
    ];
    let new = |cwd: &&str| {
        let params = json!({"cwd": cwd, "mcpServers": []});
        (request("session/new", params), Refused(-32602, "bad_cwd"))
    };
    let mut rows: Vec<_> = bad.iter().map(new).collect();
    rows.push((request("session/new", json!({"mcpServers": []})), BAD));
    // Nothing is there, so nothing is listed.
    rows.push((request("session/list", json!({"cwd": "../up"})), Served));
    rows
}

/// `initialize` is optional: a client without it gets plain ACP and receives no requests.
#[tokio::test]
async fn client_without_initialize_gets_plain_acp() {
    let agent = ScriptedAgent::new(|cx: TurnContext| async move {
        let log = json!({"type": "log", "level": "info", "message": "hi", "fields": {}});
        cx.emit(serde_json::from_value(log).unwrap()).await?;
        answer_yes(cx).await
    });
    let test = TestHub::new(agent);
    let mut client = test.connect().with_patience(PATIENCE);
    let listed = client.request("session/list", json!({})).await;
    assert_eq!(listed["sessions"], json!([]));
    let session = open(&mut client, &test).await;
    check_prompt_works(&mut client, &session, true).await;

    // A late `initialize` applies to the sessions after it.
    client
        .request(
            "initialize",
            harn_tests::initialize_params(&serde_json::Map::new()),
        )
        .await;
    check_prompt_works(&mut client, &session, false).await;
    let session = open(&mut client, &test).await;
    let id = client
        .send_request("session/prompt", text_prompt(&session, "log"))
        .await;
    let (updates, _) = client.collect_updates_until(&id).await;
    let kinds: Vec<_> = updates.iter().map(kind).collect();
    assert_eq!(kinds, ["log", "agent_message_chunk", "session_info_update"]);
    client.close().await;
}

/// Each request with a reused id gets an answer.
#[tokio::test]
async fn requests_with_the_same_id_are_all_answered() {
    let test = TestHub::new(ScriptedAgent::new(answer_yes));
    let mut client = connect_and_initialize(&test).await;
    let session = open(&mut client, &test).await;
    let same = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": "same", "method": method, "params": params});
    for round in 0..20 {
        let prompt = text_prompt(&session, "again");
        client.send(&same("session/prompt", prompt.clone())).await;
        client
            .send(&same("session/new", new_session_params(&test)))
            .await;
        client.send(&same("session/prompt", prompt)).await;
        client.send(&same("session/list", json!({}))).await;
        let (mut stopped, mut made, mut listed) = (0, 0, 0);
        while stopped + made + listed < 4 {
            if let MessageFromAgent::Response { result, .. } = client.next().await {
                let result = result.unwrap();
                stopped += usize::from(result["stopReason"] == "end_turn");
                made += usize::from(result["sessionId"].is_string());
                listed += usize::from(result["sessions"].is_array());
            }
        }
        assert_eq!((stopped, made, listed), (2, 1, 1), "round {round}");
    }
    check_prompt_works(&mut client, &session, false).await;
    client.close().await;
}

/// Asks, works, or leaves a call open, as its prompt demands.
async fn act_on_prompt(cx: TurnContext) -> Result<StopReason, AgentError> {
    match cx.prompt_text().as_str() {
        "ask" => {
            let asked = cx.tool("write").kind(ToolKind::Edit).ask().await;
            asked?.complete(()).await?;
        }
        "open" => {
            cx.tool("look").kind(ToolKind::Read).start().await?;
            cx.cancelled().await;
        }
        // Ends when the runtime drops it.
        "stubborn" => loop {
            cx.say("word").await?;
            tokio::task::yield_now().await;
        },
        _ => {
            while !cx.is_cancelled() {
                cx.say("word").await?;
            }
        }
    }
    Ok(StopReason::EndTurn)
}

/// A client disconnects without warning during several turns. The turns continue without it; after the shutdown
/// every turn is settled without a recovery.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn turns_of_a_vanished_client_are_settled() {
    let mut dice = Dice::new();
    for round in 0..20 {
        let test = TestHub::new(ScriptedAgent::new(act_on_prompt));
        let mut client = connect_and_initialize(&test).await;
        let mut sessions = Vec::new();
        for _ in 0..4 {
            sessions.push(open(&mut client, &test).await);
        }
        let last = if round % 5 == 0 { "stubborn" } else { "talk" };
        for (at, text) in ["ask", "open", "talk", last].into_iter().enumerate() {
            // More prompts wait in the queue behind it.
            for _ in 0..=dice.below(3) {
                let prompt = text_prompt(&sessions[at], text);
                client.send_request("session/prompt", prompt).await;
            }
        }
        let load = load_params(&test, &sessions[2]);
        client.send_request("session/load", load).await;
        let close = json!({"sessionId": sessions[3]});
        if dice.below(2) == 0 {
            client.send_request("session/close", close).await;
        }
        for _ in 0..dice.below(300) {
            client.next().await;
        }
        client.vanish();
        let shutdown = test.hub().shutdown();
        crate::support_stress::in_time("the end", shutdown)
            .await
            .unwrap();
        for session in &sessions {
            check_settled(&test.state_dir(), session, round);
        }
    }
}

/// Checks that every turn that began has ended, that nothing is open, and that no recovery happened.
fn check_settled(state_dir: &Path, session: &str, round: usize) {
    let store = JsonlStore::new(state_dir);
    let (_, events) = store.read(&SessionId::from(session)).unwrap();
    let mut view = SessionView::default();
    let (mut begun, mut ended) = (0, 0);
    for envelope in &events {
        match &envelope.event {
            AgentEvent::TurnStarted(_) => begun += 1,
            AgentEvent::TurnEnded(_) => {
                let open = view.open_turn.as_ref().unwrap();
                assert!(
                    open.calls.is_empty() && open.asks.is_empty(),
                    "round {round}"
                );
                ended += 1;
            }
            AgentEvent::Recovered(_) => panic!("round {round}: recovered"),
            _ => {}
        }
        view.apply(envelope);
    }
    assert_eq!(begun, ended, "round {round}: {session}");
    assert!(view.open_turn.is_none(), "round {round}: {session}");
}

/// The same over a pipe: the end of input ends the process, which settles running turns first.
#[tokio::test]
async fn end_of_input_settles_running_turns() {
    let folder = TempDir::with_prefix("harn-eof-").unwrap();
    let scenario = folder.path().join("open.yaml");
    let steps =
        r#"[{emit: {type: tool_call, tool_call_id: t1, tool_name: look}}, {await_cancel: {}}]"#;
    std::fs::write(
        &scenario,
        format!("{{name: open, turns: [{{steps: {steps}}}]}}"),
    )
    .unwrap();
    let state_dir = folder.path().join("state");
    let mut agent = Process::start(&scenario, &state_dir).await.unwrap();
    let new = json!({"cwd": folder.path(), "mcpServers": []});
    let (_, made) = agent.request("session/new", new).await.unwrap();
    let session = made["sessionId"].as_str().unwrap();
    let commands = agent.next_message().await.unwrap();
    assert_eq!(
        kind(&commands["params"]["update"]),
        "available_commands_update"
    );
    let prompt = text_prompt(session, "go");
    agent.send("session/prompt", prompt).await.unwrap();
    let update = agent.next_message().await.unwrap();
    assert_eq!(kind(&update["params"]["update"]), "tool_call");
    agent.end().await.unwrap();
    check_settled(&state_dir, session, 0);
}
