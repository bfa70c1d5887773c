//! Missing, blank and mistyped params of every method, and sessions that are not open.

use harn_tests::check_transcript;
use serde_json::{Value, json};

use super::{Stage, listen};
use crate::golden::open;

#[tokio::test]
async fn invalid_params_are_rejected() {
    let mut stage = Stage::with_turn(listen).await;
    let session = stage.session.clone();
    let with = |rest: Value| {
        let mut params = rest;
        params["sessionId"] = session.clone();
        params
    };
    let invalid = [
        ("session/inject", json!({"mode": "steer", "content": "c"})),
        (
            "session/inject",
            json!({"sessionId": 1, "mode": "steer", "content": "c"}),
        ),
        ("session/inject", with(json!({"content": "c"}))),
        (
            "session/inject",
            with(json!({"mode": "interrupt_immediate", "content": "c"})),
        ),
        ("session/inject", with(json!({"mode": "steer"}))),
        (
            "session/inject",
            with(json!({"mode": "steer", "content": " "})),
        ),
        (
            "session/inject",
            with(json!({"mode": "steer", "content": []})),
        ),
        (
            "session/inject",
            with(json!({"mode": "steer", "content": [{"type": "hologram"}]})),
        ),
        (
            "session/inject",
            with(json!({"mode": "steer", "content": {"text": "c"}})),
        ),
        (
            "session/inject",
            with(json!({"mode": "steer", "content": "c", "_meta": {"harn": {"actor": "ann"}}})),
        ),
        ("session/revoke_inject", with(json!({}))),
        ("session/revoke_inject", with(json!({"messageId": " "}))),
        ("session/revoke_inject", with(json!({"messageId": 1}))),
        ("session/replace_inject", with(json!({"content": "c"}))),
        (
            "session/replace_inject",
            with(json!({"messageId": "", "content": "c"})),
        ),
        ("session/replace_inject", with(json!({"messageId": "m"}))),
        (
            "session/replace_inject",
            with(json!({"messageId": "m", "content": " "})),
        ),
        ("session/pending_injections", json!({})),
        ("session/pending_injections", json!({"sessionId": null})),
        ("session/revoke_reminder", with(json!({}))),
        ("session/revoke_reminder", with(json!({"reminderId": " "}))),
        ("session/remind", json!({"sessionId": 1, "body": "b"})),
        ("session/cancel", json!({})),
        ("session/cancel", json!({"sessionId": " "})),
        ("agent/resume", json!({"sessionId": 1})),
    ];
    for (method, params) in invalid {
        let error = stage.client.request_error(method, params.clone()).await;
        assert_eq!(error["code"], -32602, "{method} {params}: {error}");
    }
    let other = json!({
        "sessionId": "other", "mode": "steer", "content": "c", "messageId": "m", "reminderId": "r",
        "body": "b",
    });
    for method in [
        "session/inject",
        "session/revoke_inject",
        "session/replace_inject",
        "session/pending_injections",
        "session/remind",
        "session/revoke_reminder",
        "session/cancel",
        "agent/resume",
    ] {
        let error = stage.client.request_error(method, other.clone()).await;
        assert_eq!(error["code"], -32004, "{method}: {error}");
        assert_eq!(error["data"]["reason"], "unknown_session");
    }
    // With two open sessions the request has to name one.
    open(&mut stage.client, &stage.test).await;
    for method in ["session/remind", "agent/resume"] {
        let error = stage
            .client
            .request_error(method, json!({"body": "b"}))
            .await;
        assert_eq!(error["code"], -32602);
        assert_eq!(error["data"]["reason"], "session_required");
    }
    stage.client.close().await;
    check_transcript("steering-refusals", stage.test.recorder());
}
