//! The routes over a TCP port, with a connection that breaks.

use axum::Extension;
use harn_model::Principal;
use harn_openharness::{OpenHarnessConfig, PATHS, routes};
use harn_testkit::openharness::intent_request;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};

use crate::support::{Agent, PATIENCE};

async fn send(to: std::net::SocketAddr, body: &Value) -> TcpStream {
    let body = body.to_string();
    let mut stream = TcpStream::connect(to).await.unwrap();
    let (path, length) = (PATHS[0], body.len());
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn a_connection_that_breaks_changes_nothing() {
    let agent = Agent::new();
    let hub = agent.hub();
    let config = OpenHarnessConfig::new(hub.hub().clone(), hub.workspace());
    let routes = routes(config).layer(Extension(Principal::owner()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move { axum::serve(listener, routes).await });
    let message = intent_request("req_1", "wait");
    let broken = send(address, &message).await;
    agent.wait_for_turn().await;
    drop(broken);
    agent.release_turn();
    let mut whole = send(address, &message).await;
    let mut answer = String::new();
    let read = timeout(PATIENCE, whole.read_to_string(&mut answer)).await;
    read.unwrap().unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(head.contains("x-request-id: req_1"), "{head}");
    let body: Value = serde_json::from_str(body).unwrap();
    let text = &body["response"]["action_directives"][0]["payload"]["text"];
    assert_eq!(text, "Working. Done.");
    assert_eq!(agent.turns(), 1);
    serving.abort();
}
