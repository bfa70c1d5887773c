//! Rejected requests, each with an envelope that has the reason.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use axum::{
    body::Body,
    http::{HeaderMap, Request, StatusCode},
};
use futures::{StreamExt, stream};
use harn_openharness::{PATHS, refusal};
use harn_testkit::openharness::{OpenHarnessShell, ShellResponse, intent_request};
use serde_json::Value;

use crate::support::Agent;

async fn send_request(shell: &OpenHarnessShell, method: &str, kind: Option<&str>) -> ShellResponse {
    let mut request = Request::builder().method(method).uri(PATHS[1]);
    if let Some(kind) = kind {
        request = request.header("content-type", kind);
    }
    let request = request.header("x-request-id", "req_h");
    let request = request.header("x-correlation-id", "no good");
    shell
        .send(request, intent_request("req_1", "hello").to_string())
        .await
}

#[tokio::test]
async fn other_methods_media_types_and_anonymous_requests_are_rejected() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::new(&hub);
    for method in ["GET", "PUT", "DELETE", "OPTIONS"] {
        let answer = send_request(&shell, method, Some("application/json")).await;
        assert_eq!(answer.http, StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(answer.headers["allow"], "POST");
        assert_eq!(answer.envelope["request_id"], "req_h");
        assert!(answer.envelope.get("correlation_id").is_none());
    }
    for kind in [
        "text/plain",
        "application/jsonp",
        "application/+json",
        "image/svg+json",
    ] {
        let answer = send_request(&shell, "POST", Some(kind)).await;
        assert_eq!(answer.http, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{kind}");
    }
    let nobody = send_request(&shell.for_principal(None), "POST", Some("application/json")).await;
    assert_eq!(nobody.http, StatusCode::UNAUTHORIZED);
    assert_eq!(agent.turns(), 0);
    let kinds = [
        None,
        Some("application/json"),
        Some("Application/JSON; charset=utf-8"),
        Some("application/vnd.openharness+json"),
    ];
    for kind in kinds {
        assert!(
            send_request(&shell, "POST", kind).await.is_success(),
            "{kind:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn slow_and_endless_bodies_are_rejected() {
    let hub = Agent::new().hub();
    let shell = OpenHarnessShell::with_config(&hub, |config| config.body_bytes = 1000);
    let post = |body| Request::post(PATHS[0]).body(body).unwrap();
    let chunk = |_| Ok::<_, std::io::Error>("          ");
    let never = stream::iter([0]).map(chunk).chain(stream::pending());
    let slow = shell.exchange(post(Body::from_stream(never))).await;
    assert_eq!(slow.http, StatusCode::REQUEST_TIMEOUT);
    let endless = stream::iter(0..).map(chunk);
    let long = shell.exchange(post(Body::from_stream(endless))).await;
    assert_eq!(long.http, StatusCode::PAYLOAD_TOO_LARGE);
    let announced = Request::post(PATHS[0]).header("content-length", "1001");
    let announced = announced.body(Body::from_stream(stream::pending::<
        Result<&str, std::io::Error>,
    >()));
    let announced = shell.exchange(announced.unwrap()).await;
    assert_eq!(
        announced.http,
        StatusCode::PAYLOAD_TOO_LARGE,
        "before it is read"
    );
}

/// Returns the status, and the number of chunks that were sent before the response.
async fn count_chunks_before_response(
    shell: &OpenHarnessShell,
    request: axum::http::request::Builder,
) -> (u16, usize) {
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = sent.clone();
    let chunks = stream::iter(0..20).map(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        Ok::<_, std::io::Error>([b' '; 100].as_slice())
    });
    let request = request.body(Body::from_stream(chunks)).unwrap();
    let answer = shell.exchange(request).await;
    (answer.http.as_u16(), sent.load(Ordering::SeqCst))
}

#[tokio::test]
async fn client_that_sends_the_whole_body_first_gets_the_error() {
    let hub = Agent::new().hub();
    let shell = OpenHarnessShell::with_config(&hub, |config| config.body_bytes = 1000);
    let post = || Request::post(PATHS[0]);
    let long = count_chunks_before_response(&shell, post()).await;
    assert_eq!(long, (413, 20));
    let announced = post().header("content-length", "2000");
    let announced = count_chunks_before_response(&shell, announced).await;
    assert_eq!(announced, (413, 20));
    let other = post().header("content-type", "text/plain");
    assert_eq!(count_chunks_before_response(&shell, other).await, (415, 20));
    let asks_first = post().header("content-length", "2000");
    let asks_first = asks_first.header("expect", "100-continue");
    let asks_first = count_chunks_before_response(&shell, asks_first).await;
    assert_eq!(asks_first, (413, 0), "it is not told to send it");
}

#[tokio::test]
async fn a_body_that_breaks_off_is_not_too_long() {
    let hub = Agent::new().hub();
    let shell = OpenHarnessShell::new(&hub);
    let broken = stream::iter([Ok("{"), Err(std::io::Error::other("gone"))]);
    let request = Request::post(PATHS[0]).body(Body::from_stream(broken));
    let answer = shell.exchange(request.unwrap()).await;
    assert_eq!(answer.http, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn requests_over_the_limit_are_rejected() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::with_config(&hub, |config| config.requests = 4);
    let (ada, bob) = (
        shell.for_principal(Some("ada")),
        shell.for_principal(Some("bob")),
    );
    let mut waiting = tokio::task::JoinSet::new();
    for number in 0..3 {
        let ada = ada.clone();
        waiting.spawn(async move {
            let mut message = intent_request(&format!("req_{number}"), "wait");
            message["request"]["context"]["session_id"] = number.to_string().into();
            ada.post(&message).await
        });
        agent.wait_for_turn().await;
    }
    let refused = ada
        .post_bytes(intent_request("req_9", "hello").to_string())
        .await;
    assert_eq!(refused.http, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers["retry-after"], "1");
    assert!(
        bob.post(&intent_request("req_1", "hello"))
            .await
            .is_success()
    );
    for _ in 0..3 {
        agent.release_turn();
    }
    while let Some(answer) = waiting.join_next().await {
        assert_eq!(answer.unwrap().text(), "Working. Done.");
    }
    assert!(
        ada.post(&intent_request("req_9", "hello"))
            .await
            .is_success()
    );
}

#[tokio::test]
async fn refusal_has_the_form_of_a_response() {
    let mut headers = HeaderMap::new();
    headers.insert("x-request-id", "req_1".parse().unwrap());
    headers.insert("x-correlation-id", "\u{e4}".parse().unwrap());
    let response = refusal(StatusCode::FORBIDDEN, "not from this origin", &headers);
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(response.headers()["x-request-id"], "req_1");
    let body = axum::body::to_bytes(response.into_body(), 4096)
        .await
        .unwrap();
    let envelope: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(envelope["request_id"], "req_1");
    assert!(envelope.get("correlation_id").is_none());
    assert_eq!(envelope["response"]["status"], "error");
    assert_eq!(envelope["response"]["error"]["code"], "forbidden");
    assert_eq!(
        envelope["response"]["error"]["message"],
        "not from this origin"
    );
}
