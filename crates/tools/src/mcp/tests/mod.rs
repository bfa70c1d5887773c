//! Servers of a session, played by the tests over pipes in memory. The paused clock advances only when all tasks wait.

mod fake_server;
mod hostile;
mod logs;

use std::time::Duration;

use harn_model::{McpState, McpTransport, Secret, ToolKind, ToolSource};
use serde_json::json;

use super::*;
use connection_error::McpConnectionError;
use fake_server::{
    FakeDialer, measure, settings, stdio_spec, tool_json, tool_names, wait_for_state,
};

#[tokio::test(start_paused = true)]
async fn a_server_connects_in_the_background_and_its_tools_are_called() {
    let theatre = FakeDialer::new();
    let servers = theatre.session();
    servers.wait_until_settled().await;
    servers.add(vec![stdio_spec("everything")]);
    let connecting = &servers.statuses()[0];
    assert_eq!(
        (connecting.state, connecting.tools),
        (McpState::Connecting, None)
    );

    let mut stage = theatre.accept().await;
    let greeting = stage.complete_handshake().await;
    assert_eq!(greeting["params"]["clientInfo"]["name"], "harn-serve");
    assert_eq!(greeting["params"]["capabilities"], json!({"roots": {}}));
    let first = stage.expect("tools/list").await;
    let page = json!({"tools": [tool_json("echo")], "nextCursor": "2"});
    stage.answer(&first, page).await;
    let second = stage.expect("tools/list").await;
    assert_eq!(second["params"]["cursor"], "2");
    let reads = json!({"name": "read", "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": true, "openWorldHint": false, "title": "Reads"}});
    stage.answer(&second, json!({"tools": [reads]})).await;
    servers.wait_until_settled().await;

    let status = &servers.statuses()[0];
    assert_eq!((status.state, status.tools), (McpState::Ready, Some(2)));
    let tools = servers.tools();
    let known = tools[1].annotations.as_ref().unwrap();
    assert_eq!(
        (tools[1].name.as_str(), known.kind),
        ("mcp__everything__read", ToolKind::Read)
    );
    assert_eq!(
        (tools[0].description.as_str(), tools[1].description.as_str()),
        ("does echo", "Reads")
    );
    assert_eq!(tools[0].source, ToolSource::Mcp("everything".to_owned()));
    assert_eq!(tools[0].schema, Some(json!({"type": "object"})));

    let args = json!({"message": "hi"});
    let (output, call) = tokio::join!(
        servers.call("mcp__everything__echo", args.clone()),
        stage.serve_call("Echo: hi"),
    );
    assert_eq!(output.unwrap().raw, Some(json!("Echo: hi")));
    assert_eq!(call["params"], json!({"name": "echo", "arguments": args}));
}

#[tokio::test(start_paused = true)]
async fn call_fails_with_the_message_of_the_server() {
    let theatre = FakeDialer::new();
    let servers = theatre.session();
    servers.add(vec![stdio_spec("s")]);
    let mut stage = theatre.accept_ready(&["t"]).await;
    servers.wait_until_settled().await;
    let mut failed = async |answer: Value| {
        let serve = async {
            let call = stage.expect("tools/call").await;
            let mut answer = answer;
            answer["jsonrpc"] = json!("2.0");
            answer["id"] = call["id"].clone();
            stage.send(&answer).await;
        };
        let (output, ()) = tokio::join!(servers.call("mcp__s__t", Value::Null), serve);
        output.unwrap_err()
    };
    let result =
        json!({"content": [{"type": "text", "text": "no, not with hunter2"}], "isError": true});
    let error = failed(json!({"result": result})).await;
    assert_eq!(error.category, ErrorCategory::McpServerError);
    assert_eq!(error.message, "MCP server `s`: no, not with <secret>");
    let error = failed(json!({"error": {"code": -32602, "message": "bad\nhunter2"}})).await;
    assert_eq!(error.message, "MCP server `s`: bad <secret>");
    let error = failed(json!({"result": {"tools": []}})).await;
    assert!(error.message.contains("not a tool result"), "{error}");

    let error = servers.call("mcp__s__none", json!({})).await.unwrap_err();
    assert!(
        error.message.contains("unknown tool `mcp__s__none`"),
        "{error}"
    );
    let error = servers.call("mcp__s__t", json!([1])).await.unwrap_err();
    assert_eq!(error.category, ErrorCategory::SchemaValidation);
}

#[tokio::test(start_paused = true)]
async fn server_starts_again_only_while_its_files_are_trusted() {
    let theatre = FakeDialer::new();
    let servers = theatre.session();
    let trusted = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let is_trusted = trusted.clone();
    let check: StartCheck = Arc::new(move || {
        let changed = crate::TrustRefusal::Changed("server.py".into());
        match is_trusted.load(std::sync::atomic::Ordering::SeqCst) {
            true => Ok(()),
            false => Err(changed),
        }
    });
    servers.add_checked(vec![stdio_spec("s")], Some(&check));
    let stage = theatre.accept_ready(&["t"]).await;
    servers.wait_until_settled().await;
    trusted.store(false, std::sync::atomic::Ordering::SeqCst);
    drop(stage);
    let refused = "server.py has changed since the workspace was trusted; `harn-serve trust` shows the difference";
    // The first failure is the end of the connection.
    let mut changes = servers.changes();
    while servers.statuses()[0].error.as_deref() != Some(refused) {
        changes.changed().await.unwrap();
    }
    trusted.store(true, std::sync::atomic::Ordering::SeqCst);
    let _stage = theatre.accept_ready(&["t"]).await;
    wait_for_state(&servers, "s", McpState::Ready).await;
}

#[tokio::test(start_paused = true)]
async fn late_answer_of_a_replaced_server_is_redacted_with_its_own_secrets() {
    let theatre = FakeDialer::new();
    let servers = theatre.session();
    servers.add(vec![stdio_spec("s")]);
    let mut stage = theatre.accept_ready(&["t"]).await;
    servers.wait_until_settled().await;
    let mut call = std::pin::pin!(servers.call("mcp__s__t", Value::Null));
    assert!(futures::poll!(&mut call).is_pending());
    let request = stage.expect("tools/call").await;
    let error = json!({"code": -32602, "message": "bad hunter2"});
    stage
        .send(&json!({"jsonrpc": "2.0", "id": request["id"], "error": error}))
        .await;
    // Messages are handled in order, so after this answer the call has its own, which it has not read.
    stage.ask(7, "ping", json!({})).await;
    assert_eq!(stage.receive().await["id"], 7);
    let mut other = stdio_spec("s");
    other.transport = McpTransport::Stdio {
        command: "played".to_owned(),
        args: Vec::new(),
        env: Vec::new(),
    };
    servers.add(vec![other]);
    let error = call.await.unwrap_err();
    assert_eq!(error.message, "MCP server `s`: bad <secret>");
}

#[tokio::test(start_paused = true)]
async fn tools_are_listed_again_when_they_change() {
    let theatre = FakeDialer::new();
    let servers = theatre.session();
    servers.add(vec![stdio_spec("s")]);
    let mut stage = theatre.accept_ready(&["one"]).await;
    servers.wait_until_settled().await;
    let mut changes = servers.changes();
    changes.mark_unchanged();
    // Three notifications at once are one change, or two if the first list was already requested.
    for _ in 0..3 {
        stage.notify("notifications/tools/list_changed").await;
    }
    stage.answer_list(&["one", "two"]).await;
    changes.changed().await.unwrap();
    assert_eq!(tool_names(&servers), ["mcp__s__one", "mcp__s__two"]);
    assert_eq!(servers.statuses()[0].state, McpState::Ready);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_changes_without_end_is_asked_less_and_less() {
    let theatre = FakeDialer::new();
    let servers = theatre.session();
    servers.add(vec![stdio_spec("s")]);
    let mut stage = theatre.accept_ready(&["t0"]).await;
    servers.wait_until_settled().await;
    let mut pauses = Vec::new();
    for n in 1..=9 {
        stage.notify("notifications/tools/list_changed").await;
        let tool = format!("t{n}");
        let ((), waited) = measure(stage.answer_list(&[&tool])).await;
        pauses.push(waited.as_secs());
    }
    assert_eq!(pauses, [0, 1, 2, 4, 8, 16, 32, 60, 60]);
    // The last pause, and a minute without notifications.
    tokio::time::sleep(Duration::from_secs(121)).await;
    let mut pauses = Vec::new();
    for tool in ["a", "b", "c"] {
        stage.notify("notifications/tools/list_changed").await;
        let ((), waited) = measure(stage.answer_list(&[tool])).await;
        pauses.push(waited.as_secs());
    }
    assert_eq!(pauses, [0, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_dies_is_tried_again_and_keeps_its_tools() {
    let theatre = FakeDialer::new();
    let servers = theatre.session();
    servers.add(vec![stdio_spec("s")]);
    let stage = theatre.accept_ready(&["t"]).await;
    servers.wait_until_settled().await;
    drop(stage);
    let status = wait_for_state(&servers, "s", McpState::Failed).await;
    assert_eq!(status.error.as_deref(), Some("it closed the connection"));
    assert_eq!(tool_names(&servers), ["mcp__s__t"]);

    let serve = async {
        let mut stage = theatre.accept_ready(&["t"]).await;
        stage.serve_call("back").await;
        stage
    };
    let ((output, _stage), took) =
        measure(async { tokio::join!(servers.call("mcp__s__t", Value::Null), serve) }).await;
    assert_eq!(output.unwrap().raw, Some(json!("back")));
    assert_eq!(took, Duration::from_secs(1));
    assert_eq!(servers.statuses()[0].error, None);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_open_when_the_server_dies_fails_at_once() {
    let theatre = FakeDialer::new();
    let servers = theatre.session();
    servers.add(vec![stdio_spec("s")]);
    let mut stage = theatre.accept_ready(&["t"]).await;
    servers.wait_until_settled().await;
    let die = async {
        stage.expect("tools/call").await;
        drop(stage);
    };
    let (output, ()) = tokio::join!(servers.call("mcp__s__t", Value::Null), die);
    let error = output.unwrap_err();
    assert!(
        error.message.contains("disconnected during the call"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn server_is_given_up_after_too_many_failures() {
    let theatre = FakeDialer::new();
    let servers = theatre.session();
    servers.add(vec![stdio_spec("s")]);
    let stage = theatre.accept_ready(&["t"]).await;
    servers.wait_until_settled().await;
    drop(stage);
    wait_for_state(&servers, "s", McpState::Failed).await;
    let away = async {
        for _ in 0..5 {
            drop(theatre.accept().await);
        }
    };
    // The call waits ten seconds; by then three more tries have failed.
    let (call, took) = {
        let call = measure(servers.call("mcp__s__t", Value::Null));
        tokio::join!(call, away).0
    };
    let error = call.unwrap_err();
    assert!(error.message.contains("is trying to reconnect"), "{error}");
    assert!(error.message.contains("closed the connection"), "{error}");
    assert_eq!(
        (error.category, took),
        (ErrorCategory::McpServerError, Duration::from_secs(10))
    );

    wait_for_state(&servers, "s", McpState::GivenUp).await;
    assert_eq!(tool_names(&servers), Vec::<String>::new());
    // Adding an equal server again starts it anew.
    servers.add(vec![stdio_spec("s")]);
    let _stage = theatre.accept_ready(&["t"]).await;
    wait_for_state(&servers, "s", McpState::Ready).await;
}

#[tokio::test(start_paused = true)]
async fn only_a_lasting_connection_resets_the_failures() {
    let theatre = FakeDialer::new();
    let servers = theatre.session();
    servers.add(vec![stdio_spec("s")]);
    // The server connects each time; only the length of the connection counts.
    for stays in [61, 0, 0, 0, 0, 61, 0, 0, 0, 0] {
        let stage = theatre.accept_ready(&["t"]).await;
        wait_for_state(&servers, "s", McpState::Ready).await;
        tokio::time::sleep(Duration::from_secs(stays)).await;
        drop(stage);
        wait_for_state(&servers, "s", McpState::Failed).await;
    }
    let stage = theatre.accept_ready(&["t"]).await;
    wait_for_state(&servers, "s", McpState::Ready).await;
    drop(stage);
    wait_for_state(&servers, "s", McpState::GivenUp).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_runs_into_the_deadline() {
    let theatre = FakeDialer::new();
    let servers = theatre.session();
    servers.add(vec![stdio_spec("s")]);
    let _silent = theatre.accept().await;
    let (status, took) = measure(wait_for_state(&servers, "s", McpState::Failed)).await;
    assert_eq!(took, Duration::from_secs(30));
    assert_eq!(
        status.error.as_deref(),
        Some("it was not ready within 30 s")
    );
}

#[tokio::test(start_paused = true)]
async fn dropped_or_late_call_is_cancelled() {
    let theatre = FakeDialer::new();
    let servers = theatre.session();
    servers.add(vec![stdio_spec("s")]);
    let mut stage = theatre.accept_ready(&["t"]).await;
    servers.wait_until_settled().await;
    let call = tokio::select! {
        biased;
        output = servers.call("mcp__s__t", Value::Null) => panic!("{output:?}"),
        call = stage.expect("tools/call") => call,
    };
    let told = stage.expect("notifications/cancelled").await;
    assert_eq!(told["params"]["requestId"], call["id"]);
    // A late answer is ignored.
    stage.answer(&call, json!({"content": []})).await;

    let late = async {
        let call = stage.expect("tools/call").await;
        let told = stage.expect("notifications/cancelled").await;
        assert_eq!(told["params"]["requestId"], call["id"]);
    };
    let call = measure(servers.call("mcp__s__t", Value::Null));
    let ((output, took), ()) = tokio::join!(call, late);
    assert_eq!(output.unwrap_err().category, ErrorCategory::Timeout);
    assert_eq!(took, Duration::from_secs(300));
}

#[tokio::test(start_paused = true)]
async fn invalid_configuration_is_given_up_at_once() {
    let servers = SessionMcpServers::new(settings(std::path::Path::new("/")));
    let spec = |name: &str, transport| McpServerSpec {
        name: name.to_owned(),
        transport,
    };
    let http = |url: &str, header: &str| McpTransport::Http {
        url: url.to_owned(),
        headers: vec![(header.to_owned(), Secret::new("hunter2"))],
    };
    let program = McpTransport::Stdio {
        command: "no-such-program-anywhere".to_owned(),
        args: Vec::new(),
        env: Vec::new(),
    };
    servers.add(vec![
        spec("header", http("http://127.0.0.1:9/mcp", "not a header")),
        spec("program", program),
        spec("sse", McpTransport::Unsupported("sse")),
        spec("url", http("file:///etc/passwd", "x-key")),
    ]);
    servers.wait_until_settled().await;
    let told: Vec<_> = servers
        .statuses()
        .into_iter()
        .map(|status| (status.state, status.error.unwrap()))
        .collect();
    let expected = [
        "the header `not a header` cannot be sent: its name or its value is not valid in HTTP",
        "the program `no-such-program-anywhere` was not found; install it and add its folder to the PATH",
        "this agent speaks stdio and streamable HTTP, not sse",
        "its address is not a URL that begins with http:// or https://",
    ];
    assert_eq!(
        told,
        expected.map(|error| (McpState::GivenUp, error.to_owned()))
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_to_start_is_tried_again() {
    let theatre = FakeDialer::new();
    theatre.fail_next_dial(McpConnectionError::Unreachable(
        "refused, hunter2".to_owned(),
    ));
    let servers = theatre.session();
    servers.add(vec![stdio_spec("s")]);
    servers.wait_until_settled().await;
    let status = wait_for_state(&servers, "s", McpState::Failed).await;
    assert_eq!(
        status.error.as_deref(),
        Some("a request to it failed: refused, <secret>")
    );
    let _stage = theatre.accept_ready(&[]).await;
    let status = wait_for_state(&servers, "s", McpState::Ready).await;
    assert_eq!((status.tools, status.error), (Some(0), None));
}

#[tokio::test(start_paused = true)]
async fn only_changed_servers_reconnect() {
    let theatre = FakeDialer::new();
    let servers = theatre.session();
    servers.add(vec![stdio_spec("a"), stdio_spec("b")]);
    let mut first = theatre.accept_ready(&["t"]).await;
    let mut second = theatre.accept_ready(&["t"]).await;
    servers.wait_until_settled().await;
    let mut other = stdio_spec("b");
    other.transport = McpTransport::Stdio {
        command: "another".to_owned(),
        args: Vec::new(),
        env: Vec::new(),
    };
    servers.add(vec![stdio_spec("a"), other]);
    let mut anew = theatre.accept_ready(&["u"]).await;
    servers.wait_until_settled().await;
    assert_eq!(
        (anew.name.as_str(), tool_names(&servers)),
        ("b", vec!["mcp__a__t".to_owned(), "mcp__b__u".to_owned()])
    );
    let stages = [&mut first, &mut second];
    let a = stages.into_iter().find(|stage| stage.name == "a").unwrap();
    let (output, _) = tokio::join!(servers.call("mcp__a__t", json!({})), a.serve_call("a"));
    assert_eq!(output.unwrap().raw, Some(json!("a")));

    servers.remove("a");
    assert_eq!(tool_names(&servers), ["mcp__b__u"]);
    let (output, _) = tokio::join!(servers.call("mcp__b__u", json!({})), anew.serve_call("b"));
    assert_eq!(output.unwrap().raw, Some(json!("b")));
}

#[tokio::test(start_paused = true)]
async fn sessions_do_not_see_each_others_servers() {
    let theatre = FakeDialer::new();
    let (one, two) = (theatre.session(), theatre.session());
    one.add(vec![stdio_spec("a")]);
    let _a = theatre.accept_ready(&["t"]).await;
    two.add(vec![stdio_spec("b")]);
    let mut b = theatre.accept_ready(&["t"]).await;
    one.wait_until_settled().await;
    two.wait_until_settled().await;
    assert_eq!(
        (tool_names(&one), tool_names(&two)),
        (vec!["mcp__a__t".to_owned()], vec!["mcp__b__t".to_owned()])
    );
    assert!(one.call("mcp__b__t", json!({})).await.is_err());
    one.close();
    assert_eq!(one.statuses(), []);
    let (output, _) = tokio::join!(two.call("mcp__b__t", json!({})), b.serve_call("b"));
    assert!(output.is_ok());
}

#[tokio::test(start_paused = true)]
async fn close_ends_open_calls_and_rejects_new_servers() {
    let theatre = FakeDialer::new();
    let servers = theatre.session();
    servers.add(vec![stdio_spec("ready"), stdio_spec("silent")]);
    let mut ready = theatre.accept().await;
    let mut silent = theatre.accept().await;
    if ready.name != "ready" {
        std::mem::swap(&mut ready, &mut silent);
    }
    ready.complete_handshake().await;
    ready.answer_list(&["t"]).await;
    wait_for_state(&servers, "ready", McpState::Ready).await;
    let close = async {
        ready.expect("tools/call").await;
        servers.close();
    };
    let (output, (), ()) = tokio::join!(
        servers.call("mcp__ready__t", json!({})),
        close,
        servers.wait_until_settled(),
    );
    assert!(output.is_err());
    servers.add(vec![stdio_spec("late")]);
    assert_eq!((servers.statuses(), servers.tools()), (vec![], vec![]));
}

#[tokio::test(start_paused = true)]
async fn servers_end_with_the_last_handle() {
    let theatre = FakeDialer::new();
    let servers = theatre.session();
    servers.add(vec![stdio_spec("s")]);
    let mut stage = theatre.accept_ready(&[]).await;
    servers.wait_until_settled().await;
    let again = servers.clone();
    drop(servers);
    again.wait_until_settled().await;
    stage.ask(7, "ping", json!({})).await;
    assert_eq!(stage.receive().await["id"], 7);
    drop(again);
    assert!(stage.is_closed().await);
}
