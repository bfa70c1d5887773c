//! Real MCP servers: a process, which must not outlive its session, and a server behind HTTP.

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{RawQuery, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
    routing::{any, post},
};
use futures::{StreamExt as _, stream};
use harn_model::{McpServerSpec, McpServerStatus, McpState, McpTransport, Secret, SessionId};
use harn_testkit::skip_without;
use harn_tools::{LocalHost, McpDeadlines, McpSettings, SessionMcpServers};
use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};

fn session_servers(host: &LocalHost, cwd: &Path) -> SessionMcpServers {
    let path = std::env::vars_os().filter(|(key, _)| key == "PATH");
    let ours = [("HARN_SERVE_TOKEN", "let-me-in"), ("FROM", "outside")];
    let ours = ours.map(|(key, value)| (key.into(), value.into()));
    SessionMcpServers::new(McpSettings {
        host: host.clone(),
        session: SessionId::new("s"),
        cwd: cwd.to_owned(),
        env: path.chain(ours).collect(),
        deadlines: McpDeadlines::default(),
    })
}

fn small_server() -> McpServerSpec {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp_server.py");
    McpServerSpec {
        name: "small".to_owned(),
        transport: McpTransport::Stdio {
            command: "python3".to_owned(),
            args: vec![script.to_owned()],
            env: vec![("KEY".to_owned(), Secret::new("hunter2"))],
        },
    }
}

async fn wait_for_state(servers: &SessionMcpServers, state: McpState) -> McpServerStatus {
    let mut changes = servers.changes();
    loop {
        match servers.statuses().pop() {
            Some(status) if status.state == state => return status,
            _ => changes.changed().await.unwrap(),
        }
    }
}

async fn call_for_text(servers: &SessionMcpServers, tool: &str, args: Value) -> String {
    let output = servers.call(&format!("mcp__small__{tool}"), args).await;
    output.unwrap().raw.unwrap().as_str().unwrap().to_owned()
}

/// Returns the process ids of the server and of its child.
async fn fetch_pids(servers: &SessionMcpServers) -> Vec<Pid> {
    let pids = call_for_text(servers, "pids", json!({})).await;
    let pids = pids.split(' ').map(|pid| pid.parse().unwrap());
    pids.filter_map(Pid::from_raw).collect()
}

/// Waits until none of them is running; only the test's own time limit bounds the wait.
async fn wait_until_gone(pids: &[Pid]) {
    let runs = |pid: &Pid| {
        // A zombie, which its parent (not this process) has not reaped yet, is not running.
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        test_kill_process(*pid).is_ok() && !stat.is_ok_and(|stat| stat.contains(") Z "))
    };
    while pids.iter().any(runs) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn mcp_process_gets_the_session_environment_without_the_token() {
    if skip_without("python3") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let servers = session_servers(&LocalHost::new(), dir.path());
    servers.add(vec![small_server()]);
    servers.wait_until_settled().await;
    assert_eq!(
        wait_for_state(&servers, McpState::Ready).await.tools,
        Some(5)
    );
    let cwd = call_for_text(&servers, "where", json!({})).await;
    assert_eq!(Path::new(&cwd), dir.path().canonicalize().unwrap());
    let env: Value =
        serde_json::from_str(&call_for_text(&servers, "env", json!({})).await).unwrap();
    assert_eq!(
        (&env["KEY"], &env["FROM"]),
        (&json!("hunter2"), &json!("outside"))
    );
    assert_eq!(
        (&env["HARN_SERVE_TOKEN"], &env["HOME"]),
        (&Value::Null, &Value::Null)
    );
}

#[tokio::test]
async fn close_ends_the_server_process_and_its_child() {
    if skip_without("python3") {
        return;
    }
    let servers = session_servers(&LocalHost::new(), Path::new("/"));
    servers.add(vec![small_server()]);
    servers.wait_until_settled().await;
    let family = fetch_pids(&servers).await;
    // Also during a call that the server does not answer.
    let call = servers.call("mcp__small__sleep", json!({}));
    let close = async {
        tokio::task::yield_now().await;
        servers.close();
    };
    let (output, ()) = tokio::join!(call, close);
    assert!(output.is_err());
    wait_until_gone(&family).await;
}

#[tokio::test]
async fn host_end_all_ends_server_processes() {
    if skip_without("python3") {
        return;
    }
    let host = LocalHost::new();
    let servers = session_servers(&host, Path::new("/"));
    servers.add(vec![small_server()]);
    servers.wait_until_settled().await;
    let family = fetch_pids(&servers).await;
    host.end_all();
    wait_until_gone(&family).await;
}

#[tokio::test]
async fn dead_server_process_is_restarted() {
    if skip_without("python3") {
        return;
    }
    let servers = session_servers(&LocalHost::new(), Path::new("/"));
    servers.add(vec![small_server()]);
    servers.wait_until_settled().await;
    let first = fetch_pids(&servers).await;
    let error = servers.call("mcp__small__die", json!({"code": 7})).await;
    let error = error.unwrap_err().message;
    assert!(error.contains("disconnected during the call"), "{error}");
    let status = wait_for_state(&servers, McpState::Failed).await;
    // The server's child process still has the pipe open.
    let told = "its process ended (exit code 7)";
    assert_eq!(status.error.as_deref(), Some(told));
    wait_until_gone(&first).await;
    // The call waits for the restarted server.
    let second = fetch_pids(&servers).await;
    assert_ne!(first, second);
    servers.remove("small");
    wait_until_gone(&second).await;
}

/// The requests received over HTTP: each method with its key.
#[derive(Clone, Default)]
struct Heard {
    keys: Arc<Mutex<Vec<Keyed>>>,
}

type Keyed = (String, Option<String>);

/// Returns the response to a message, if it has one.
fn answer_request(heard: &Heard, headers: &HeaderMap, body: &Bytes) -> Option<Value> {
    let request: Value = serde_json::from_slice(body).unwrap();
    let method = request["method"].as_str().unwrap_or_default();
    let key = headers.get("x-key");
    let key = key.map(|key| key.to_str().unwrap().to_owned());
    heard.keys.lock().unwrap().push((method.to_owned(), key));
    let result = match method {
        "initialize" => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "web", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{"name": "hi", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "hi from the web"}]}),
        _ => return None,
    };
    Some(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
}

async fn answer_as_json(State(heard): State<Heard>, headers: HeaderMap, body: Bytes) -> Response {
    match answer_request(&heard, &headers, &body) {
        Some(answer) => (JSON, answer.to_string()).into_response(),
        None => StatusCode::ACCEPTED.into_response(),
    }
}

async fn answer_as_events(State(heard): State<Heard>, headers: HeaderMap, body: Bytes) -> Response {
    let Some(answer) = answer_request(&heard, &headers, &body) else {
        return StatusCode::ACCEPTED.into_response();
    };
    let before = json!({"jsonrpc": "2.0", "method": "notifications/message",
        "params": {"level": "info", "data": "soon"}});
    let events = format!(": hello\n\ndata: {before}\n\nevent: message\ndata: {answer}\n\n");
    let kind = [(header::CONTENT_TYPE, "text/event-stream")];
    (kind, events).into_response()
}

/// Forgets its first session and returns the error that many servers return for that.
async fn answer_forgetting_a_session(
    State(heard): State<Heard>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some(answer) = answer_request(&heard, &headers, &body) else {
        return StatusCode::ACCEPTED.into_response();
    };
    let keys = heard.keys.lock().unwrap();
    let greeted = keys
        .iter()
        .filter(|(method, _)| method == "initialize")
        .count();
    let calls = keys
        .last()
        .is_some_and(|(method, _)| method == "tools/call");
    if calls && headers["mcp-session-id"] == "1" {
        let error = json!({"code": -32000, "message": "No valid session ID provided"});
        let told = json!({"jsonrpc": "2.0", "error": error}).to_string();
        return (StatusCode::BAD_REQUEST, JSON, told).into_response();
    }
    let session = [("mcp-session-id", greeted.to_string())];
    (JSON, session, answer.to_string()).into_response()
}

/// Answers the handshake, then sends a tool list without an end.
async fn answer_endlessly(State(heard): State<Heard>, headers: HeaderMap, body: Bytes) -> Response {
    match answer_request(&heard, &headers, &body) {
        Some(answer) if answer["result"]["tools"].is_array() => {
            let piece = Bytes::from(vec![b' '; 1024 * 1024]);
            let pieces = stream::repeat(piece).map(Ok::<_, std::io::Error>);
            (JSON, Body::from_stream(pieces)).into_response()
        }
        Some(answer) => (JSON, answer.to_string()).into_response(),
        None => StatusCode::ACCEPTED.into_response(),
    }
}

const JSON: [(header::HeaderName, &str); 1] = [(header::CONTENT_TYPE, "application/json")];

/// Starts an HTTP server that runs until the test ends, and returns its address.
async fn serve(heard: &Heard) -> String {
    let echo = async |headers: HeaderMap| {
        let key = headers
            .get("x-key")
            .map(|key| key.to_str().unwrap().to_owned());
        (StatusCode::BAD_REQUEST, format!("wrong key: {key:?}"))
    };
    let challenge = async || {
        let realm = [(header::WWW_AUTHENTICATE, "Bearer realm=\"web\"")];
        (StatusCode::UNAUTHORIZED, realm)
    };
    let nameless = async || {
        let told = json!({"jsonrpc": "2.0", "error": {"code": -32000, "message": "not today"}});
        (StatusCode::INTERNAL_SERVER_ERROR, JSON, told.to_string())
    };
    let away = async |to: RawQuery| Redirect::permanent(&to.0.unwrap());
    let router = Router::new()
        .route("/mcp", post(answer_as_json))
        .route("/events", post(answer_as_events))
        .route("/forgetful", post(answer_forgetting_a_session))
        .route("/endless", post(answer_endlessly))
        .route("/echo", any(echo))
        .route("/closed", any(challenge))
        .route("/moved", any(async || Redirect::permanent("/mcp")))
        .route("/away", any(away))
        .route("/nameless", any(nameless))
        .with_state(heard.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

fn web_server(url: String) -> McpServerSpec {
    McpServerSpec {
        name: "web".to_owned(),
        transport: McpTransport::Http {
            url,
            headers: vec![("X-Key".to_owned(), Secret::new("Bearer hunter2"))],
        },
    }
}

#[tokio::test]
async fn http_server_receives_its_headers_with_each_request() {
    for path in ["/mcp", "/moved", "/events"] {
        let heard = Heard::default();
        let servers = session_servers(&LocalHost::new(), Path::new("/"));
        servers.add(vec![web_server(serve(&heard).await + path)]);
        servers.wait_until_settled().await;
        let status = wait_for_state(&servers, McpState::Ready).await;
        assert_eq!((status.tools, status.error), (Some(1), None));
        let output = servers.call("mcp__web__hi", json!({})).await.unwrap();
        assert_eq!(output.raw, Some(json!("hi from the web")));
        let heard = heard.keys.lock().unwrap();
        let key = Some("Bearer hunter2".to_owned());
        let methods = [
            "initialize",
            "notifications/initialized",
            "tools/list",
            "tools/call",
        ];
        let expected = methods.map(|method| (method.to_owned(), key.clone()));
        assert_eq!(*heard, expected, "{path}");
    }
}

#[tokio::test]
async fn client_starts_a_new_session_when_the_server_forgot_it() {
    let heard = Heard::default();
    let servers = session_servers(&LocalHost::new(), Path::new("/"));
    servers.add(vec![web_server(serve(&heard).await + "/forgetful")]);
    servers.wait_until_settled().await;
    let output = servers.call("mcp__web__hi", json!({})).await.unwrap();
    assert_eq!(output.raw, Some(json!("hi from the web")));
    let heard = heard.keys.lock().unwrap();
    let greetings = heard.iter().filter(|(method, _)| method == "initialize");
    assert_eq!(greetings.count(), 2);
}

#[tokio::test]
async fn error_without_an_id_counts_as_an_answer() {
    let servers = session_servers(&LocalHost::new(), Path::new("/"));
    servers.add(vec![web_server(
        serve(&Heard::default()).await + "/nameless",
    )]);
    let error = wait_for_state(&servers, McpState::Failed)
        .await
        .error
        .unwrap();
    assert_eq!(error, "it returned an error: not today");
}

#[tokio::test]
async fn error_of_an_http_server_is_reported_without_the_key() {
    let url = serve(&Heard::default()).await;
    let servers = session_servers(&LocalHost::new(), Path::new("/"));
    servers.add(vec![web_server(format!("{url}/echo"))]);
    let error = wait_for_state(&servers, McpState::Failed)
        .await
        .error
        .unwrap();
    assert!(error.contains("HTTP 400"), "{error}");
    assert!(
        error.contains("wrong key") && !error.contains("hunter2"),
        "{error}"
    );

    servers.add(vec![web_server(format!("{url}/closed"))]);
    let error = wait_for_state(&servers, McpState::GivenUp)
        .await
        .error
        .unwrap();
    assert!(error.contains("it denied access"), "{error}");
}

#[tokio::test]
async fn redirect_to_another_origin_is_not_followed() {
    let (heard, elsewhere) = (Heard::default(), Heard::default());
    let other = serve(&elsewhere).await;
    let url = serve(&heard).await;
    let away = format!("{url}/away?{other}/mcp");
    let servers = session_servers(&LocalHost::new(), Path::new("/"));
    servers.add(vec![web_server(away)]);
    let error = wait_for_state(&servers, McpState::Failed)
        .await
        .error
        .unwrap();
    assert!(error.contains("HTTP 308"), "{error}");
    assert_eq!(*elsewhere.keys.lock().unwrap(), []);
}

#[tokio::test]
async fn endless_answer_fails_at_the_size_limit() {
    let url = serve(&Heard::default()).await;
    let servers = session_servers(&LocalHost::new(), Path::new("/"));
    servers.add(vec![web_server(format!("{url}/endless"))]);
    let error = wait_for_state(&servers, McpState::Failed)
        .await
        .error
        .unwrap();
    let told = "a request to it failed: it sent a message larger than 16 MiB";
    assert_eq!(error, told);
}

#[tokio::test]
async fn unreachable_http_server_is_reported_without_the_key() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let servers = session_servers(&LocalHost::new(), Path::new("/"));
    servers.add(vec![web_server(format!(
        "http://{address}/mcp?key=opensesame"
    ))]);
    let error = wait_for_state(&servers, McpState::Failed)
        .await
        .error
        .unwrap();
    assert!(error.starts_with("a request to it failed: "), "{error}");
    assert!(error.to_lowercase().contains("refused"), "{error}");
    assert!(!error.contains("opensesame"), "{error}");
}
