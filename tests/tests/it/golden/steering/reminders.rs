//! Reminders: their forms, their errors, and their revocation.

use harn_tests::check_transcript;
use serde_json::{Value, json};

use super::{Stage, code_and_reason, listen};

const REMIND: &str = "session/remind";
const REVOKE: &str = "session/revoke_reminder";

#[tokio::test]
async fn reminders_are_listed_delivered_and_revoked() {
    let mut stage = Stage::with_turn(listen).await;
    let go = stage.begin().await;
    let full = json!({
        "mode": "finish_step",
        "reminder": {
            "id": "tests-first",
            "body": "Run the tests before you answer.",
            "tags": ["tests", "tests"],
            "dedupe_key": "tests",
            "ttl_turns": 2,
            "preserve_on_compact": true,
            "propagate": "all",
            "role_hint": "developer",
            "_meta": {"rule": 7},
        },
    });
    let answer = stage.send_control(REMIND, full.clone()).await;
    assert_eq!(answer, json!({"reminderId": "tests-first"}));
    let error = stage.send_rejected_control(REMIND, full).await;
    assert_eq!(
        code_and_reason(&error),
        (&json!(-32602), &json!("id_in_use"))
    );
    stage.inject("steer", "And mind b.txt.").await;
    // One session is open, so the request need not name it.
    let plain = json!({"body": "The person looked at the plan."});
    let noted = stage.client.request(REMIND, plain).await;
    stage.client.expect_event_of("control_outcome").await;
    // As notifications, without a response. The second is invalid and changes nothing.
    let silent = json!({"body": "Be brief.", "mode": "after_current_operation"});
    stage.client.notify(REMIND, silent).await;
    let told = stage.client.expect_event_of("control_outcome").await;
    let brief = told["target"]["reminderId"].clone();
    stage
        .client
        .notify(REMIND, json!({"content": "Be brief."}))
        .await;

    let rows = stage.pending().await;
    let kinds: Vec<_> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["kind"])
        .collect();
    assert_eq!(kinds, ["reminder", "user", "reminder", "reminder"]);
    assert_eq!(rows[2]["reminderId"], noted["reminderId"]);
    assert_eq!(rows[2]["mode"], "audit_only");
    assert_eq!(rows[3]["mode"], "finish_step");
    let sent: Vec<_> = (0..4).map(|at| &rows[at]["sentMode"]).collect();
    let words = [
        "finish_step",
        "steer",
        "audit_only",
        "after_current_operation",
    ];
    assert_eq!(sent, words);

    for status in ["revoked", "already_revoked"] {
        let answer = stage
            .send_control(REVOKE, json!({"reminder_id": brief}))
            .await;
        assert_eq!(answer, json!({"reminderId": brief, "status": status}));
    }
    let error = stage
        .send_rejected_control(REVOKE, json!({"reminderId": "other"}))
        .await;
    assert_eq!(
        code_and_reason(&error),
        (&json!(-32602), &json!("unknown_reminder_id"))
    );

    stage.go.notify_one();
    let update = stage.client.expect_update_of("user_message").await;
    assert_eq!(update["content"][0]["text"], "And mind b.txt.");
    let update = stage.client.expect_update_of("reminder_emitted").await;
    assert_eq!(
        update["_meta"]["harn"]["reminder"]["reminderId"],
        "tests-first"
    );
    stage.client.expect_event_of("loop_checkpoint").await;
    for _ in 0..2 {
        stage.client.expect_update_of("agent_message_chunk").await;
    }
    let error = stage
        .send_rejected_control(REVOKE, json!({"reminderId": "tests-first"}))
        .await;
    assert_eq!(
        code_and_reason(&error),
        (&json!(-32602), &json!("already_delivered"))
    );
    assert_eq!(error["data"]["reminderId"], "tests-first");
    stage.go.notify_one();
    let (_, result) = stage.client.collect_updates_until(&go).await;
    assert_eq!(result["stopReason"], "end_turn");

    // Without a running turn, a reminder waits for the next prompt.
    stage
        .send_control(REMIND, json!({"body": "Later.", "mode": "steer"}))
        .await;
    assert_eq!(stage.pending().await[0]["body"], "Later.");
    stage.client.close().await;
    check_transcript("steering-reminders", stage.test.recorder());
}

#[tokio::test]
async fn invalid_reminders_are_rejected_with_a_code() {
    let mut stage = Stage::with_turn(listen).await;
    let cases: [(Value, &str, &str); 9] = [
        (
            json!({"body": "b", "mode": "interupt"}),
            "HARN-RMD-002",
            "`mode`",
        ),
        (
            json!({"body": "b", "urgency": 3}),
            "HARN-RMD-001",
            "`urgency`",
        ),
        (
            json!({"reminder": {"body": "b", "ttlTurns": 1}}),
            "HARN-RMD-001",
            "`ttlTurns`",
        ),
        (json!({}), "HARN-RMD-002", "`body`"),
        (json!({"body": " "}), "HARN-RMD-002", "`body`"),
        (json!({"content": "A message"}), "HARN-RMD-002", "`content`"),
        (
            json!({"body": "b", "ttl_turns": 0}),
            "HARN-RMD-002",
            "`ttl_turns`",
        ),
        (
            json!({"body": "b", "source": "hook"}),
            "HARN-RMD-002",
            "`source`",
        ),
        (
            json!({"body": "b", "propagate": "everywhere"}),
            "HARN-RMD-005",
            "`propagate`",
        ),
    ];
    for (params, code, word) in cases {
        let params = stage.session_params(params);
        let error = stage.client.request_error(REMIND, params).await;
        assert_eq!(
            code_and_reason(&error),
            (&json!(-32602), &json!("invalid_reminder"))
        );
        assert_eq!(error["data"]["code"], code);
        let message = error["message"].as_str().unwrap();
        assert!(
            message.starts_with(code) && message.contains(word),
            "{message}"
        );
    }
    assert_eq!(stage.pending().await, json!([]));
    stage.client.close().await;
    check_transcript("steering-invalid-reminders", stage.test.recorder());
}
