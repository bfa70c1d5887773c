//! Bodies for OpenHarness: for any body, the answer is an envelope of the protocol, with the ids of the request
//! if it has usable ones, and consistent with its HTTP status.
#![no_main]

use std::{sync::LazyLock, time::Duration};

use axum::{
    body::{Body, to_bytes},
    http::Request,
};
use harn_fuzz::{hub, seeds};
use harn_model::Principal;
use harn_openharness::{OpenHarnessConfig, PATHS, routes};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use tokio::{runtime::Runtime, time::timeout};

/// Short, so that bodies over it are tried.
const LIMIT: usize = 3 * 1024;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().build().expect("a runtime")
});

fuzz_target!(init: seeds::write(bodies()), |data: &[u8]| {
    let (status, body) = RUNTIME.block_on(post(data.to_vec()));
    let answer: Value = serde_json::from_slice(&body).expect("an answer of JSON");
    assert_eq!(answer["protocol_version"], "1.0.0");
    let response = &answer["response"];
    let error = &response["error"];
    match response["status"].as_str() {
        Some("success") => {
            assert_eq!(status, 200);
            assert!(error.is_null(), "{answer}");
            assert!(response["continuation"]["run_id"].is_string(), "{answer}");
        }
        Some("error") => {
            assert!(matches!(status, 200 | 400 | 413), "{status}: {answer}");
            assert!(error["code"].is_string() && error["retryable"].is_boolean(), "{answer}");
        }
        _ => panic!("neither success nor error: {answer}"),
    }
    if data.len() > LIMIT {
        assert_eq!(status, 413);
    } else if let Ok(Value::Object(request)) = serde_json::from_slice(data) {
        for id in ["request_id", "correlation_id"] {
            let usable = request.get(id).and_then(Value::as_str);
            let usable = usable.filter(|id| matches!(id.chars().count(), 1..=64));
            if let Some(sent) = usable {
                assert_eq!(answer[id], sent, "{id} is not echoed: {answer}");
            }
        }
    } else {
        assert_eq!(status, 400, "{answer}");
    }
});

async fn post(data: Vec<u8>) -> (u16, Vec<u8>) {
    let hub = hub::hub();
    let config = OpenHarnessConfig {
        body_bytes: LIMIT,
        ..OpenHarnessConfig::new(hub.clone(), hub::directory())
    };
    let routes = TowerToHyperService::new(routes(config));
    let mut request = Request::post(PATHS[0])
        .body(Body::from(data))
        .expect("a request");
    request.extensions_mut().insert(Principal::owner());
    let answered = timeout(Duration::from_secs(4), async {
        let answer = routes.call(request).await.expect("an answer");
        let status = answer.status().as_u16();
        let body = to_bytes(answer.into_body(), usize::MAX).await;
        hub.shutdown().await;
        (status, body.expect("a body").to_vec())
    });
    answered.await.expect("an answer in time")
}

/// Returns requests of every kind.
fn bodies() -> Vec<Vec<u8>> {
    let request = |context: Value| {
        json!({
            "protocol_version": "1.0.0",
            "request_id": "req_1",
            "correlation_id": "corr_1",
            "capabilities": {"openharness.ui.rich_cards": true, "openharness.streaming": true},
            "request": {"auth": {"tenant_id": "t", "credential_ref": "c"}, "context": context},
        })
    };
    let shell = json!({"shell_kind": "tv", "shell_version": "1", "locale": "de-AT", "timezone": "Europe/Vienna"});
    let bodies = [
        request(
            json!({"session_id": "s", "conversation_id": "c", "user_intent": "hello", "shell": shell}),
        ),
        request(json!({"user_intent": "write", "task_hint": {"sop_id": "s"}})),
        request(
            json!({"user_intent": "hi", "attachments": [{"ref_id": "r", "uri": "https://a/b", "mime_type": "image/png", "filename": "b", "size_bytes": 3}]}),
        ),
        request(
            json!({"user_intent": "hi", "environment_state": {"privacy_tier": "secret", "os": "x"}}),
        ),
        request(json!({"continuation": {"run_id": "run_a.b", "continuation_token": "ctok_a.b.1"}})),
        request(
            json!({"continuation": {"run_id": "run_a.b"}, "extensions": {"dev.harn": {"approval": {"id": "a1", "decision": "once"}, "cancel": true}}}),
        ),
        json!({"protocol_version": "2.0.0", "request": {}}),
        json!({"protocol_version": "1.0.0", "request": {}}),
        json!([]),
    ];
    bodies
        .iter()
        .map(|body| body.to_string().into_bytes())
        .collect()
}
