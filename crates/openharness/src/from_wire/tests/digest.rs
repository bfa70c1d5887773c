//! Equal content has an equal digest, and other content another.

use super::*;

fn digest(message: &Value) -> String {
    read_value(message).unwrap().digest
}

/// Returns the message with the members of every object in reverse order.
fn reverse_members(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let turned = members.iter().rev();
            turned
                .map(|(name, value)| (name.clone(), reverse_value(value)))
                .collect()
        }
        other => other.clone(),
    }
}

fn reverse_value(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(reverse_value).collect(),
        other => reverse_members(other),
    }
}

#[test]
fn digest_ignores_order_ids_credentials_secrets_and_unknown_members() {
    let message = fixtures::message("request");
    let name = digest(&message);
    assert_eq!(name.len(), 32);
    assert_eq!(digest(&reverse_members(&message)), name);
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut message = message.clone();
        change(&mut message);
        digest(&message)
    };
    let changes: [&dyn Fn(&mut Value); 7] = [
        &|it| it["request_id"] = json!("other"),
        &|it| it["correlation_id"] = json!("other"),
        &|it| it["protocol_version"] = json!("1.2.3"),
        &|it| it["request"]["auth"] = json!({"tenant_id": "other"}),
        &|it| it["unknown"] = json!(1),
        &|it| it["request"]["context"]["unknown"] = json!(1),
        &|it| it["request"]["context"]["attachments"][0]["unknown"] = json!(1),
    ];
    for (at, change) in changes.iter().enumerate() {
        assert_eq!(changed(change), name, "{at}");
    }
    let secret = |value: &str| {
        let state = json!({"privacy_tier": "secret", "os": value});
        changed(&|it| it["request"]["context"]["environment_state"] = state.clone())
    };
    assert_eq!(secret("one"), secret("other"));
}

#[test]
fn digest_depends_on_every_known_member() {
    let mut names = vec![digest(&fixtures::message("request"))];
    let changes: [(&str, Value); 9] = [
        ("/request/context/user_intent", json!("Do something else.")),
        ("/request/context/session_id", json!("sess_2")),
        ("/request/context/conversation_id", json!("tab_3")),
        ("/request/context/task_hint/sop_id", json!("other")),
        ("/request/context/environment_state/os", json!("Linux")),
        (
            "/request/context/attachments/1/uri",
            json!("https://files.example/b"),
        ),
        ("/request/context/shell/shell_kind", json!("tv")),
        (
            "/request/context/continuation",
            json!({"run_id": "run_a.b"}),
        ),
        ("/capabilities/openharness.ui.rich_cards", json!(false)),
    ];
    for (place, value) in changes {
        let mut message = fixtures::message("request");
        *message.pointer_mut(place).unwrap() = value;
        names.push(digest(&message));
    }
    for name in [
        "request-approval",
        "request-answers",
        "request-cancel",
        "request-continued",
    ] {
        names.push(digest(&fixtures::message(name)));
    }
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}
