//! Servers that flood, send nonsense or ask for too much affect only themselves.

use super::*;

#[tokio::test(start_paused = true)]
async fn client_answers_the_requests_of_a_server() {
    let theatre = FakeDialer::new();
    let servers = theatre.session();
    servers.add(vec![stdio_spec("s")]);
    let mut stage = theatre.accept().await;
    // The server sends requests before it answers `initialize`.
    let greeting = stage.expect("initialize").await;
    stage.notify("notifications/message").await;
    stage.ask(1, "ping", json!({})).await;
    let pong = stage.receive().await;
    assert_eq!((&pong["id"], &pong["result"]), (&json!(1), &json!({})));
    let result = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "serverInfo": {"name": "s", "version": "1"}});
    stage.answer(&greeting, result).await;
    stage.expect("notifications/initialized").await;
    // A server without tools receives no `tools/list`.
    wait_for_state(&servers, "s", McpState::Ready).await;

    stage.ask(2, "roots/list", json!({})).await;
    let roots = stage.receive().await;
    assert_eq!(
        roots["result"]["roots"],
        json!([{"uri": "file:///work%20place"}])
    );
    let message = json!({"messages": [], "maxTokens": 1});
    stage.ask(3, "sampling/createMessage", message).await;
    let form = json!({"message": "?", "requestedSchema": {"type": "object", "properties": {}}});
    stage.ask(4, "elicitation/create", form).await;
    stage.ask(5, "made/up", json!({})).await;
    for id in 3..6 {
        let refused = stage.receive().await;
        assert_eq!(
            (&refused["id"], &refused["error"]["code"]),
            (&json!(id), &json!(-32601))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn lines_that_are_no_messages_are_skipped() {
    let theatre = FakeDialer::new();
    let servers = theatre.session();
    servers.add(vec![stdio_spec("s")]);
    let mut stage = theatre.accept().await;
    stage
        .print("Server running on stdio\n\n{}\n[]\n\u{0}\n{\"id\":0}\n")
        .await;
    stage.complete_handshake().await;
    stage
        .print("null\n{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n")
        .await;
    stage.answer_list(&["t"]).await;
    assert_eq!(
        wait_for_state(&servers, "s", McpState::Ready).await.tools,
        Some(1)
    );
}

#[tokio::test(start_paused = true)]
async fn server_that_prints_only_nonsense_fails() {
    let theatre = FakeDialer::new();
    let servers = theatre.session();
    servers.add(vec![stdio_spec("s")]);
    let mut stage = theatre.accept().await;
    let flood = async {
        // Until the reader closes.
        while stage.try_print(&"y\n".repeat(100)).await.is_ok() {}
    };
    let (status, ()) = tokio::join!(wait_for_state(&servers, "s", McpState::Failed), flood);
    assert_eq!(
        status.error.as_deref(),
        Some("its output on stdout is not MCP")
    );
}

#[tokio::test(start_paused = true)]
async fn an_endless_line_ends_the_connection() {
    let theatre = FakeDialer::new();
    let servers = theatre.session();
    servers.add(vec![stdio_spec("s")]);
    let mut stage = theatre.accept_ready(&["t"]).await;
    servers.wait_until_settled().await;
    let flood = async {
        let piece = "x".repeat(64 * 1024);
        // Fails when the reader closes, long before a hundred megabytes.
        for _ in 0..1600 {
            if stage.try_print(&piece).await.is_err() {
                return;
            }
        }
        panic!("all of it was read");
    };
    let (status, ()) = tokio::join!(wait_for_state(&servers, "s", McpState::Failed), flood);
    let told = status.error.unwrap();
    assert_eq!(told, "it sent a message larger than 16 MiB");
}

#[tokio::test(start_paused = true)]
async fn server_that_reads_no_answers_blocks_only_itself() {
    let theatre = FakeDialer::new();
    let servers = theatre.session();
    servers.add(vec![stdio_spec("deaf"), stdio_spec("good")]);
    let mut deaf = theatre.accept_ready(&["t"]).await;
    let mut good = theatre.accept_ready(&["t"]).await;
    if deaf.name != "deaf" {
        std::mem::swap(&mut deaf, &mut good);
    }
    servers.wait_until_settled().await;
    // The server does not read our answers; in the end its own writes block.
    let flood = async {
        for id in 0..1_000_000 {
            deaf.ask(id, "ping", json!({})).await;
        }
        panic!("all of it was read");
    };
    let full = tokio::time::timeout(Duration::from_secs(1), flood).await;
    assert!(full.is_err());
    let (output, _) = tokio::join!(
        servers.call("mcp__good__t", json!({})),
        good.serve_call("fine")
    );
    assert_eq!(output.unwrap().raw, Some(json!("fine")));
    let error = servers.call("mcp__deaf__t", json!({})).await.unwrap_err();
    assert_eq!(error.category, ErrorCategory::Timeout);
}

#[tokio::test(start_paused = true)]
async fn endless_pages_and_endless_tools_are_cut() {
    let theatre = FakeDialer::new();
    let servers = theatre.session();
    servers.add(vec![stdio_spec("s")]);
    let mut stage = theatre.accept().await;
    stage.complete_handshake().await;
    for page in 0..100 {
        let request = stage.expect("tools/list").await;
        let tools = [tool_json(&format!("t{page}"))];
        stage
            .answer(&request, json!({"tools": tools, "nextCursor": "on"}))
            .await;
    }
    let status = wait_for_state(&servers, "s", McpState::Ready).await;
    let told = "it has too many tools; only the first 100 are used";
    assert_eq!(
        (status.tools, status.error.as_deref()),
        (Some(100), Some(told))
    );

    stage.notify("notifications/tools/list_changed").await;
    let request = stage.expect("tools/list").await;
    let tools: Vec<_> = (0..2000).map(|n| tool_json(&format!("t{n}"))).collect();
    let mut changes = servers.changes();
    stage.answer(&request, json!({"tools": tools})).await;
    changes.changed().await.unwrap();
    assert_eq!(servers.statuses()[0].tools, Some(1000));
}

#[tokio::test(start_paused = true)]
async fn status_has_the_error_of_a_failed_handshake() {
    let theatre = FakeDialer::new();
    let servers = theatre.session();
    servers.add(vec![stdio_spec("s")]);
    let mut stage = theatre.accept().await;
    let greeting = stage.expect("initialize").await;
    let error = json!({"code": -32600, "message": "bad key\nhunter2"});
    stage
        .send(&json!({"jsonrpc": "2.0", "id": greeting["id"], "error": error}))
        .await;
    let status = wait_for_state(&servers, "s", McpState::Failed).await;
    assert_eq!(
        status.error.as_deref(),
        Some("it returned an error: bad key <secret>")
    );
}
