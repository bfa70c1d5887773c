//! Limits on the resources that a client can take from the server.

use std::time::Duration;

use bytes::Bytes;
use futures::SinkExt;
use harn_acp::{
    AcpConfig, serve_connection,
    transport::{self, ConnectionInput, PieceReceiver},
};
use serde_json::{Value, json};
use tokio::{
    net::TcpStream,
    sync::mpsc,
    time::{sleep, timeout},
};
use tokio_tungstenite::tungstenite::Message;

use super::{
    server::{
        EVE, HttpTestClient, LONG, OWNER, PATIENCE, TestServer, TestServerConfig, client,
        client_builder, initialize_request,
    },
    websockets,
};

/// Sends `initialize`; returns the status.
async fn initialize_status(server: &TestServer, token: &str) -> u16 {
    let request = client().post(format!("http://{}/acp", server.address));
    let request = request.bearer_auth(token);
    let request = request.header("content-type", "application/json");
    let response = request
        .body(initialize_request().to_string())
        .send()
        .await
        .unwrap();
    response.status().as_u16()
}

#[tokio::test]
async fn rejected_websocket_is_closed_although_it_does_not_read() {
    let server = TestServer::start(TestServerConfig {
        acp_connections: 2,
        ..TestServerConfig::default()
    })
    .await;
    let mut owner = websockets::open(&server, OWNER).await;
    let session = websockets::create_session(&server, &mut owner).await;
    let mut unread = websockets::open(&server, OWNER).await;
    let params = json!({"sessionId": session, "cwd": server.dir.path(), "mcpServers": []});
    websockets::request(&mut unread, 1, "session/resume", params).await;
    // More than the buffers of a socket, and the turn produces all of it.
    let prompt = [json!({"type": "text", "text": "count 50000"})];
    let params = json!({"sessionId": session, "prompt": prompt});
    websockets::request(&mut owner, 2, "session/prompt", params).await;
    unread.send(Message::binary("{}")).await.unwrap();
    assert_eq!(initialize_status(&server, EVE).await, 503);
    let gone = async {
        while initialize_status(&server, EVE).await == 503 {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, gone)
        .await
        .expect("the server frees the connection in time");
}

#[tokio::test]
async fn principal_cannot_take_all_acp_connections() {
    let server = TestServer::start(TestServerConfig {
        acp_connections: 4,
        ..TestServerConfig::default()
    })
    .await;
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(initialize_status(&server, OWNER).await);
    }
    assert_eq!(statuses, [200, 200, 200, 503]);
    assert_eq!(initialize_status(&server, EVE).await, 200);
    assert_eq!(initialize_status(&server, EVE).await, 503, "now it is full");
}

#[tokio::test]
async fn new_connections_are_rate_limited_per_principal() {
    let server = TestServer::start(TestServerConfig {
        connections_per_second: 2,
        ..TestServerConfig::default()
    })
    .await;
    let mut statuses = Vec::new();
    for _ in 0..20 {
        statuses.push(initialize_status(&server, OWNER).await);
    }
    assert_eq!(statuses[..4], [200; 4]);
    assert!(statuses.contains(&429), "{statuses:?}");
    assert_eq!(initialize_status(&server, EVE).await, 200);
}

#[tokio::test]
async fn principal_cannot_take_all_tcp_connections() {
    let server = TestServer::start(TestServerConfig {
        connections: 4,
        ..TestServerConfig::default()
    })
    .await;
    let mut held = Vec::new();
    let mut ask = async |token: &str| {
        let (stream, status) = server.hold_connection(token).await;
        held.push(stream);
        status
    };
    for _ in 0..3 {
        assert_eq!(ask(OWNER).await, 404);
    }
    assert_eq!(ask(OWNER).await, 503);
}

/// Before, they took all slots, and the requests of others were answered with 503 or not at all.
#[tokio::test]
async fn silent_sockets_cost_no_client_a_request() {
    let server = TestServer::start(TestServerConfig {
        connections: 4,
        ..TestServerConfig::default()
    })
    .await;
    let held = client();
    let ask = async |client: &reqwest::Client| {
        let request = client.get(format!("http://{}/nothing", server.address));
        let response = request.bearer_auth(OWNER).send().await.unwrap();
        response.status().as_u16()
    };
    assert_eq!(ask(&held).await, 404);
    let mut silent = Vec::new();
    for _ in 0..400 {
        silent.push(TcpStream::connect(server.address).await.unwrap());
    }
    for _ in 0..10 {
        assert_eq!(ask(&held).await, 404);
        assert_eq!(ask(&client()).await, 404);
    }
}

#[tokio::test(start_paused = true)]
async fn client_without_a_token_is_disconnected() {
    let server = TestServer::start(TestServerConfig {
        connections: 1,
        ..TestServerConfig::default()
    })
    .await;
    // An HTTP/2 client that stays connected and answers pings.
    let stays = client_builder().http2_prior_knowledge().build().unwrap();
    let request = stays.get(format!("http://{}/acp", server.address));
    assert_eq!(request.send().await.unwrap().status(), 401);
    let host = server.address;
    let request =
        format!("GET /nothing HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {OWNER}\r\n\r\n");
    // Each is a second of a paused clock, which only advances while every task waits.
    for _ in 0..15 {
        if server.send_raw(&request).await.status == 404 {
            return;
        }
        sleep(Duration::from_secs(1)).await;
    }
    panic!("its seat is still taken");
}

/// Opens a session; returns its id.
async fn open(
    server: &TestServer,
    http: &mut HttpTestClient,
    own: &mut super::server::EventStreamReader,
) -> String {
    let params = json!({"cwd": server.dir.path(), "mcpServers": []});
    let id = http.request("session/new", params).await;
    loop {
        let (_, line) = own.next().await.unwrap();
        if line["id"] == id {
            return line["result"]["sessionId"].as_str().unwrap().to_owned();
        }
    }
}

#[tokio::test]
async fn closed_session_frees_its_stream_slot() {
    let server = TestServer::start(TestServerConfig {
        sessions: 3,
        ..TestServerConfig::default()
    })
    .await;
    let mut http = server.initialize(OWNER).await;
    let mut own = http.open_stream(None, None).await.unwrap();
    for _ in 0..20 {
        let session = open(&server, &mut http, &mut own).await;
        let mut events = http.open_stream(Some(&session), None).await.unwrap();
        let params = json!({"sessionId": session});
        let id = http.request("session/close", params).await;
        let answer = loop {
            let (_, line) = events.next().await.unwrap();
            if line["id"] == id {
                break line;
            }
        };
        assert!(answer.get("result").is_some(), "{answer}");
    }
    let mut statuses = Vec::new();
    for _ in 0..4 {
        let session = open(&server, &mut http, &mut own).await;
        statuses.push(http.open_stream(Some(&session), None).await.err());
    }
    assert_eq!(statuses, [None, None, None, Some(409)]);
}

#[tokio::test]
async fn message_with_two_session_ids_is_rejected() {
    let server = TestServer::start(TestServerConfig::default()).await;
    let mut owner = server.initialize(OWNER).await;
    let (theirs, _own) = owner.create_session(server.dir.path()).await;
    let mut eve = server.initialize(EVE).await;
    let (own, _streams) = eve.create_session(server.dir.path()).await;
    for method in ["session/attach", "session/takeover", "session/prompt"] {
        for (first, second) in [(&own, &theirs), (&theirs, &own)] {
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{"sessionId":"{first}","session\u0049d":"{second}"}}}}"#
            );
            let request = eve.client.post(&eve.url).bearer_auth(EVE);
            let request = request
                .header("content-type", "application/json")
                .header("acp-session-id", &own)
                .header("acp-connection-id", &eve.connection);
            let response = request.body(body).send().await.unwrap();
            assert_eq!(response.status(), 400, "{method}");
        }
    }
    assert_eq!(eve.open_stream(Some(&theirs), None).await.err(), Some(409));
}

#[tokio::test]
async fn long_line_arrives_whole_over_both_transports() {
    let long = LONG.repeat(20_000);
    let server = TestServer::start(TestServerConfig::default()).await;
    let mut http = server.initialize(OWNER).await;
    let (session, _own) = http.create_session(server.dir.path()).await;
    let mut events = http.open_stream(Some(&session), None).await.unwrap();
    let mut socket = websockets::open(&server, OWNER).await;
    let params = json!({"sessionId": session, "cwd": server.dir.path(), "mcpServers": []});
    websockets::request(&mut socket, 1, "session/resume", params).await;
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "long 20000"}]});
    http.request("session/prompt", prompt).await;
    let is_it = |line: &Value| line["params"]["update"]["content"]["text"] == long.as_str();
    while !is_it(&events.next().await.unwrap().1) {}
    while !is_it(&websockets::receive_json(&mut socket).await) {}
}

/// Connects a client that follows a session; returns its input and its output queue.
async fn follow_session(
    server: &TestServer,
    session: &str,
) -> (mpsc::Sender<ConnectionInput>, PieceReceiver) {
    let (lines, incoming) = mpsc::channel(4);
    let (outgoing, queue) = transport::outgoing();
    let hub = server.hub.clone();
    tokio::spawn(serve_connection(
        hub,
        AcpConfig::default(),
        incoming,
        outgoing,
    ));
    let params = json!({"sessionId": session, "cwd": server.dir.path(), "mcpServers": []});
    let resume = json!({"jsonrpc": "2.0", "id": 1, "method": "session/resume", "params": params});
    for message in [initialize_request(), resume] {
        let line = ConnectionInput::Line(message.to_string());
        lines.send(line).await.expect("it is served");
    }
    (lines, queue)
}

/// Returns the next queued piece that contains `text`.
async fn next_queued(queue: &mut PieceReceiver, text: &str) -> Bytes {
    loop {
        let piece = timeout(PATIENCE, queue.recv()).await.expect("a piece");
        let bytes = piece.expect("not the end").bytes;
        if str::from_utf8(&bytes).unwrap().contains(text) {
            return bytes;
        }
    }
}

#[tokio::test]
async fn observers_share_one_copy_of_a_long_prompt() {
    let server = TestServer::start(TestServerConfig::default()).await;
    let mut owner = websockets::open(&server, OWNER).await;
    let session = websockets::create_session(&server, &mut owner).await;
    let (_first, mut one) = follow_session(&server, &session).await;
    let (_second, mut other) = follow_session(&server, &session).await;
    for queue in [&mut one, &mut other] {
        next_queued(queue, r#""id":1"#).await;
    }
    let long = "x".repeat(40_000);
    let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": long}]});
    websockets::request(&mut owner, 2, "session/prompt", params).await;
    let one = next_queued(&mut one, &long).await;
    let other = next_queued(&mut other, &long).await;
    assert_eq!(one.as_ptr(), other.as_ptr());
}
