//! Puts data that must not be kept into every input that could contain it, and searches every output for it.

use harn_model::{Seq, TurnId};

use super::*;
use crate::{
    digest,
    report::{RunPhase, RunReport},
    to_wire,
};

const CANARY: &str = "c4n4ry-7f3e";

/// Returns everything that results from a message.
fn outcome(message: &Value) -> String {
    match read_value(message) {
        Ok(asked) => {
            let told = RunReport {
                place: RunCursor {
                    session: "oh_1".into(),
                    turn: TurnId::new("trn_1"),
                    after: Seq(1),
                },
                state: RunPhase::Parked,
                began_at: 0,
                until: 0,
                messages: vec!["Done.".to_owned()],
                calls: Vec::new(),
                artifacts: Vec::new(),
                plan: None,
                asks: Vec::new(),
                questions: Vec::new(),
            };
            let answer = to_wire::run_response(&asked, &told, 0);
            let answer = String::from_utf8(answer).unwrap();
            format!("{asked:?} {} {answer}", digest::digest_input(&asked))
        }
        Err((echo, fault)) => {
            let answer = String::from_utf8(to_wire::error_response(&echo, &fault)).unwrap();
            format!("{echo:?} {fault:?} {answer}")
        }
    }
}

#[test]
fn secrets_and_unknown_members_reach_no_output() {
    let places: [(&str, Value); 12] = [
        ("/request/auth/tenant_id", json!(CANARY)),
        ("/request/auth/credential_ref", json!(CANARY)),
        ("/request/auth/session_id", json!(CANARY)),
        ("/request/auth", json!({"token": CANARY, CANARY: 1})),
        (
            "/request/context/environment_state",
            json!({"privacy_tier": "secret", "os": CANARY, "clipboard": [CANARY], CANARY: {}}),
        ),
        (
            "/request/context/environment_state",
            json!({"os": "x", "clipboard": {"privacy_tier": "secret", "text": CANARY}}),
        ),
        (
            "/request/extensions",
            json!({"dev.harn": {"approval": CANARY}}),
        ),
        (
            "/request/context/extensions",
            json!({"com.example": CANARY, CANARY: 1}),
        ),
        (
            "/request/context/extensions",
            json!({"dev.harn": {CANARY: CANARY}}),
        ),
        (
            "/request/context/attachments/0",
            json!({"ref_id": "r", "note": CANARY, CANARY: 1}),
        ),
        (
            "/capabilities",
            json!({CANARY: CANARY, "openharness.streaming": CANARY}),
        ),
        (
            "/request/context/shell",
            json!({"shell_kind": "x", CANARY: CANARY}),
        ),
    ];
    for (place, value) in places {
        let mut message = fixtures::message("request");
        *message.pointer_mut(place).unwrap() = value;
        assert!(read_value(&message).is_ok(), "{place}");
        assert!(!outcome(&message).contains(CANARY), "{place}");
    }
}

/// Replaces every value of a request by a wrong one that contains a secret.
#[test]
fn errors_repeat_no_value_of_the_request() {
    let wrong = [
        json!([CANARY]),
        json!({"data": CANARY, CANARY: [CANARY]}),
        json!(format!("data:{CANARY}")),
        json!(format!("{CANARY}{}", "x".repeat(5000))),
    ];
    let places = [
        "",
        "/protocol_version",
        "/request_id",
        "/correlation_id",
        "/capabilities",
        "/request",
        "/request/auth",
        "/request/auth/tenant_id",
        "/request/context",
        "/request/context/session_id",
        "/request/context/conversation_id",
        "/request/context/user_intent",
        "/request/context/continuation",
        "/request/context/continuation/run_id",
        "/request/context/environment_state",
        "/request/context/environment_state/privacy_tier",
        "/request/context/environment_state/os",
        "/request/context/attachments",
        "/request/context/attachments/0",
        "/request/context/attachments/0/ref_id",
        "/request/context/attachments/0/mime_type",
        "/request/context/attachments/0/size_bytes",
        "/request/context/attachments/1/uri",
        "/request/context/shell",
        "/request/context/shell/shell_kind",
        "/request/context/extensions",
        "/request/context/extensions/dev.harn",
        "/request/context/extensions/dev.harn/approval",
        "/request/context/extensions/dev.harn/approval/id",
        "/request/context/extensions/dev.harn/approval/decision",
        "/request/context/extensions/dev.harn/cancel",
    ];
    let mut message = fixtures::message("request");
    message["request"]["context"]["continuation"]["run_id"] = json!("run_a.b");
    message["request"]["context"]["extensions"]["dev.harn"] =
        json!({"approval": {"id": "a", "decision": "once"}, "cancel": false});
    let mut refused = 0;
    for place in places {
        for value in &wrong {
            let mut message = message.clone();
            *message.pointer_mut(place).unwrap() = value.clone();
            if read_value(&message).is_err() {
                assert!(!outcome(&message).contains(CANARY), "{place}");
                refused += 1;
            }
        }
    }
    assert!(refused > 80, "{refused}");
    let broken = format!(r#"{{"request_id":"r","request":{{"{CANARY}":"{CANARY}",}}"#);
    let (echo, fault) = read(broken.as_bytes()).unwrap_err();
    let answer = String::from_utf8(to_wire::error_response(&echo, &fault)).unwrap();
    assert!(
        answer.contains("\"r\"") && !answer.contains(CANARY),
        "{answer}"
    );
}
