//! Queries and frames for the state wire: any query is answered, any frame is answered or executed, every
//! received frame fits the document of the client, and the socket lives until the client closes it.
#![no_main]

use std::{sync::LazyLock, time::Duration};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, Uri},
};
use futures_util::{SinkExt, StreamExt};
use harn_fuzz::{hub, seeds};
use harn_model::Principal;
use harn_state::{StateConfig, routes};
use hyper::{
    body::Incoming,
    server::conn::http1,
    service::{Service, service_fn},
};
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tokio::{
    io::{DuplexStream, duplex},
    runtime::Runtime,
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Error, Message},
};

/// The same strict applier that the tests use.
#[path = "../../crates/testkit/src/state_fold.rs"]
#[allow(unreachable_pub, reason = "it is public where it lives")]
mod state_fold;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    // The clock advances only when nothing can run, so that no test waits for a tick.
    let runtime = runtime.enable_time().start_paused(true);
    runtime.build().expect("a runtime")
});

fuzz_target!(init: seeds::write(conversations()), |data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.split('\n');
    let query = lines.next().unwrap_or_default();
    let lines: Vec<&str> = lines.collect();
    RUNTIME.block_on(async {
        let played = timeout(Duration::from_secs(60), play(query, &lines));
        played.await.expect("an answer in time");
    });
});

async fn play(query: &str, lines: &[&str]) {
    let hub = hub::hub();
    let config = StateConfig {
        messages_per_second: 1_000_000,
        ..StateConfig::new(hub.clone(), hub::directory())
    };
    let routes = routes(config);
    for path in ["/state/timeline", "/state/output"] {
        get(&routes, &format!("{path}?{query}")).await;
    }
    let named = connect(&routes, &format!("ws://localhost/ws?{query}")).await;
    if let Some(socket) = named {
        send_lines(socket, lines).await;
    }
    let plain = connect(&routes, "ws://localhost/ws").await;
    send_lines(plain.expect("a socket"), lines).await;
    hub.shutdown().await;
}

/// Checks that a request is rejected with a reason.
async fn get(routes: &Router, target: &str) {
    let Ok(uri) = target.parse::<Uri>() else {
        return;
    };
    let mut request = Request::get(uri).body(Body::empty()).expect("a request");
    request.extensions_mut().insert(Principal::owner());
    let service = TowerToHyperService::new(routes.clone());
    let answer = service.call(request).await.expect("an answer");
    let status = answer.status().as_u16();
    let body = to_bytes(answer.into_body(), usize::MAX).await;
    check_refusal(status, &body.expect("a body"));
}

fn check_refusal(status: u16, body: &[u8]) {
    let words = String::from_utf8_lossy(body);
    assert!(matches!(status, 400 | 404), "{status} {words}");
    let body: Value = serde_json::from_slice(body).expect("an object");
    assert!(body["error"].is_string(), "{body}");
}

/// Connects a socket; returns `None` if the query cannot be sent or is rejected.
async fn connect(routes: &Router, address: &str) -> Option<WebSocketStream<DuplexStream>> {
    let uri: Uri = address.parse().ok()?;
    let (near, far) = duplex(64 * 1024);
    let routes = routes.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Principal::owner());
        TowerToHyperService::new(routes.clone()).call(request)
    });
    let serving = http1::Builder::new().serve_connection(TokioIo::new(near), service);
    tokio::spawn(serving.with_upgrades());
    match client_async(uri, far).await {
        Ok((socket, _)) => Some(socket),
        Err(Error::Http(response)) => {
            let status = response.status().as_u16();
            check_refusal(status, response.body().as_deref().unwrap_or_default());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Sends every line, and then an invalid frame, which is answered last.
async fn send_lines(mut socket: WebSocketStream<DuplexStream>, lines: &[&str]) {
    let is_json = |line: &&&str| serde_json::from_str::<Value>(line).is_ok();
    let mut wrong = lines.len() - lines.iter().filter(is_json).count() + 1;
    let mut copy = Value::Null;
    for line in lines.iter().chain([&"{"]) {
        let sent = socket.send(Message::text((*line).to_owned())).await;
        sent.expect("the server reads");
    }
    while wrong > 0 {
        let message = socket.next().await.expect("a message").expect("a message");
        let Message::Text(text) = message else {
            continue;
        };
        let mut frame: Value = serde_json::from_str(&text).expect("a frame of JSON");
        match frame["type"].as_str() {
            Some("state") => copy = frame["state"].take(),
            Some("delta") => {
                let operations = frame["operations"].take();
                state_fold::apply_all(&mut copy, &operations).expect("operations that fit");
            }
            Some("error") => {
                let message = frame["message"].as_str().expect("words");
                wrong -= usize::from(message.starts_with("the frame is not JSON"));
            }
            _ => panic!("{frame}"),
        }
        assert!(copy.is_object(), "the document comes first");
    }
    socket.close(None).await.expect("a farewell");
}

/// Returns conversations, valid and invalid; the first line is a query.
fn conversations() -> Vec<Vec<u8>> {
    let commands = [
        r#"{"type":"submit","prompt":"hello"}"#,
        r#"{"type":"submit","prompt":"w"}"#,
        r#"{"type":"cancel"}"#,
        r#"{"type":"steer","message":"left"}"#,
        r#"{"type":"approve","toolCallId":"i4","optionId":"allow_once"}"#,
        r#"{"type":"deny","toolCallId":"i4","reason":"no"}"#,
        r#"{"type":"resume","sessionId":"s1","prompt":"there"}"#,
        r#"{"type":"configure","config":{"permissionMode":"auto","title":"t","model":"m","effort":1}}"#,
        r#"{"type":"answer","questionId":"a9","answer":"80","approved":true,"accepted":true}"#,
        r#"{"type":"withdraw","messageId":"i9"}"#,
        r#"{"type":"takeover"}"#,
        r#"{"type":"handback"}"#,
    ];
    let frame = |commands: &str| format!(r#"{{"type":"commands","commands":[{commands}]}}"#);
    let queries = [
        "",
        "client=ann",
        "session=s1&client=bob&role=observer",
        "session=s1&after=3&limit=10&q=caf%C3%A9",
        "session=s1&call=i4",
        "cwd=%2Ftmp",
    ];
    let mut seeds: Vec<String> = commands
        .iter()
        .map(|it| format!("client=ann\n{}", frame(it)))
        .collect();
    let all: Vec<_> = commands.iter().map(|it| frame(it)).collect();
    for query in queries {
        seeds.push(format!("{query}\n{}", all.join("\n")));
    }
    seeds.push(format!("\n{}", frame(&commands.join(","))));
    seeds.push(format!("role=king\n{}\n[]\nnull\n{{", "[".repeat(300)));
    seeds.into_iter().map(String::into_bytes).collect()
}
