//! WebSockets: how they authenticate, what closes them, and a client that does not read.

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Message, client::IntoClientRequest, handshake::client::Response},
};

use super::server::{EVE, OWNER, PATIENCE, TestServer, TestServerConfig, initialize_request};

pub(super) type TestWebSocket = WebSocketStream<TcpStream>;

pub(super) async fn connect(
    server: &TestServer,
    query: &str,
    headers: &[(&'static str, &str)],
) -> (TestWebSocket, Response) {
    let url = format!("ws://{}/acp{query}", server.address);
    let mut request = url.into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    let stream = TcpStream::connect(server.address).await.unwrap();
    client_async(request, stream).await.unwrap()
}

pub(super) async fn send(socket: &mut TestWebSocket, message: &Value) {
    socket.send(message.to_string().into()).await.unwrap();
}

async fn receive(socket: &mut TestWebSocket) -> Message {
    let heard = timeout(PATIENCE, socket.next()).await.expect("a frame");
    heard.expect("not the end").unwrap()
}

/// Returns the next JSON message.
pub(super) async fn receive_json(socket: &mut TestWebSocket) -> Value {
    loop {
        if let Message::Text(text) = receive(socket).await {
            return serde_json::from_str(&text).unwrap();
        }
    }
}

/// Sends a request; returns its answer and drops earlier messages.
pub(super) async fn request(
    socket: &mut TestWebSocket,
    id: u64,
    method: &str,
    params: Value,
) -> Value {
    let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    send(socket, &request).await;
    loop {
        let heard = receive_json(socket).await;
        if heard["id"] == id && heard.get("method").is_none() {
            return heard;
        }
    }
}

pub(super) async fn open(server: &TestServer, token: &str) -> TestWebSocket {
    let bearer = format!("Bearer {token}");
    let (mut socket, response) = connect(server, "", &[("authorization", &bearer)]).await;
    assert!(response.headers().contains_key("acp-connection-id"));
    assert!(!response.headers().contains_key("sec-websocket-protocol"));
    send(&mut socket, &initialize_request()).await;
    assert_eq!(receive_json(&mut socket).await["id"], 0);
    socket
}

pub(super) async fn create_session(server: &TestServer, socket: &mut TestWebSocket) -> String {
    let params = json!({"cwd": server.dir.path(), "mcpServers": []});
    let answer = request(socket, 1, "session/new", params).await;
    answer["result"]["sessionId"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn token_in_a_websocket_protocol_is_accepted_and_not_echoed() {
    let server = TestServer::start(TestServerConfig::default()).await;
    let offered = format!("acp, harn.bearer.{OWNER}");
    let headers = [
        ("sec-websocket-protocol", offered.as_str()),
        ("origin", "https://app.example"),
    ];
    let (mut socket, response) = connect(&server, "", &headers).await;
    assert_eq!(response.headers()["sec-websocket-protocol"], "acp");
    let said = format!("{:?}", response.headers());
    assert!(!said.contains("token-0123456789"), "{said}");
    send(&mut socket, &initialize_request()).await;
    assert_eq!(
        receive_json(&mut socket).await["result"]["protocolVersion"],
        1
    );
}

#[tokio::test]
async fn sessions_of_other_principals_are_unknown() {
    let server = TestServer::start(TestServerConfig::default()).await;
    let mut owner = open(&server, OWNER).await;
    let theirs = create_session(&server, &mut owner).await;
    let mut eve = open(&server, EVE).await;
    for (id, method) in (10..).zip([
        "session/load",
        "session/resume",
        "session/attach",
        "session/prompt",
    ]) {
        let params = json!({
            "sessionId": theirs, "cwd": server.dir.path(), "mcpServers": [], "prompt": [],
            "clientId": "eve", "mode": "observer",
        });
        let answer = request(&mut eve, id, method, params).await;
        assert!(answer["error"]["code"].is_i64(), "{method}: {answer}");
    }
    let listed = request(&mut eve, 20, "session/list", json!({})).await;
    assert_eq!(listed["result"]["sessions"], json!([]));
}

#[tokio::test]
async fn websocket_that_breaks_a_limit_is_closed_with_a_reason() {
    let server = TestServer::start(TestServerConfig {
        message_bytes: 2000,
        messages_per_second: 10,
        ..TestServerConfig::default()
    })
    .await;
    let fast = vec![Message::text(r#"{"jsonrpc":"2.0","method":"_nothing"}"#); 30];
    let table = [
        (vec![Message::text("x".repeat(2001))], 1009),
        (vec![Message::binary("{}")], 1003),
        (fast, 1008),
    ];
    for (frames, code) in table {
        let mut socket = open(&server, OWNER).await;
        for frame in frames {
            // The server may have closed the connection by then.
            let _ = socket.send(frame).await;
        }
        let close = loop {
            match receive(&mut socket).await {
                Message::Close(close) => break close.unwrap(),
                _ => continue,
            }
        };
        assert_eq!(u16::from(close.code), code);
        assert!(!close.reason.is_empty());
    }
    let mut socket = open(&server, OWNER).await;
    socket.send(Message::text("nonsense")).await.unwrap();
    assert_eq!(receive_json(&mut socket).await["error"]["code"], -32700);
}

#[tokio::test]
async fn slow_websocket_delays_no_other_and_misses_nothing() {
    const COUNT: usize = 20_000;
    let server = TestServer::start(TestServerConfig::default()).await;
    let mut owner = open(&server, OWNER).await;
    let id = create_session(&server, &mut owner).await;
    let mut slow = open(&server, OWNER).await;
    let params = json!({"sessionId": id, "cwd": server.dir.path(), "mcpServers": []});
    let resumed = request(&mut slow, 1, "session/resume", params).await;
    assert!(resumed.get("result").is_some(), "{resumed}");
    let prompt = json!({
        "sessionId": id, "prompt": [{"type": "text", "text": format!("count {COUNT}")}],
    });
    let request = json!({"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": prompt});
    send(&mut owner, &request).await;
    let mut heard = 0;
    loop {
        let line = receive_json(&mut owner).await;
        if line["id"] == 2 {
            break;
        }
        heard += usize::from(is_next_number(&line, heard));
    }
    assert_eq!(heard, COUNT);
    // The turn has ended; now the other client begins to read.
    let mut heard = 0;
    while heard < COUNT {
        let line = receive_json(&mut slow).await;
        heard += usize::from(is_next_number(&line, heard));
    }
}

/// Returns whether the line has a number, and asserts that it is the next one.
fn is_next_number(line: &Value, next: usize) -> bool {
    let update = &line["params"]["update"];
    let says = update["sessionUpdate"] == "agent_message_chunk";
    if says {
        assert_eq!(update["content"]["text"], format!("{next};"));
    }
    says
}
