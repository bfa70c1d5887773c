//! Our names have one position and one spelling: the vendor's name is the key of a `_meta` member or the
//! beginning of a method, envelope keys are camelCase, records are snake_case inside.

use serde_json::Value;

use crate::wire::lines;

const VENDOR: &str = "harn";

/// Records that hosts receive unchanged: their keys, and all keys below them, are snake_case or chosen by the
/// agent.
const RECORDS: [&str; 16] = [
    "annotations",
    "approvalRequest",
    "audit",
    "candidates",
    "client",
    "clients",
    "events",
    "handoff",
    "left",
    "live_session",
    "metadata",
    "mutation",
    "plan",
    "policyContext",
    "policyDecision",
    "state",
];

/// Values of the agent or of a tool; their keys are not checked.
const OPEN: [&str; 16] = [
    "args",
    "artifacts",
    "compactionPolicy",
    "data",
    "fields",
    "keptToolDetails",
    "payload",
    "policy",
    "provenance",
    "query",
    "rawInput",
    "rawOutput",
    "redactionPointers",
    "removedToolDetails",
    "result",
    "spec",
];

/// Snake_case in the contract, outside a record.
const SNAKE: [&str; 7] = [
    "active_controller_id",
    "backoff_ms",
    "live_session",
    "previous_controller_id",
    "visible_delta",
    "visible_text",
    "working_files",
];

/// Where editors look for `_session/steering`, which another vendor defined.
const STEERING: [&str; 2] = ["/_meta", "/result/_meta"];

/// Where older clients look for a command to run in a terminal, which another vendor defined, too.
const TERMINAL_AUTH: [&str; 2] = ["/authMethods/_meta", "/result/authMethods/_meta"];

/// The result of a request is not a value of a tool.
fn is_open(path: &str, key: &str) -> bool {
    OPEN.contains(&key) && path != "/result"
}

#[test]
fn vendor_name_is_a_key_of_meta_and_of_nothing_else() {
    for (name, message) in messages() {
        check_vendor_name(&name, &message, "");
    }
}

/// Checks that no member outside `_meta` has the vendor's name, and that `_meta` contains nothing else.
fn check_vendor_name(place: &str, value: &Value, path: &str) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                let path = format!("{path}/{key}");
                if is_open(&path, key) {
                    continue;
                }
                if key == "_meta" {
                    let keys: Vec<_> = value.as_object().unwrap().keys().collect();
                    if keys == ["steering"] {
                        assert!(STEERING.contains(&path.as_str()), "{place}{path}");
                        continue;
                    }
                    if keys == ["terminal-auth"] {
                        assert!(TERMINAL_AUTH.contains(&path.as_str()), "{place}{path}");
                        continue;
                    }
                    assert_eq!(keys, [VENDOR], "{place}{path}");
                    assert_ne!(
                        value[VENDOR],
                        serde_json::json!({}),
                        "{place}{path} is empty"
                    );
                    // The content is checked by its schema.
                    continue;
                }
                let ours = key.to_lowercase().contains(VENDOR);
                assert!(
                    !ours,
                    "{place}{path}: a name of the vendor's outside `_meta`"
                );
                check_vendor_name(place, value, &path);
            }
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| check_vendor_name(place, item, path)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn keys_are_spelled_one_way() {
    for (name, message) in messages() {
        // The params of `harn.hitl.requested` are a record themselves.
        let is_record = message.get("request_id").is_some();
        check_spelling(&name, &message, "", is_record);
    }
}

fn check_spelling(place: &str, value: &Value, path: &str, in_record: bool) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                let path = format!("{path}/{key}");
                // Keys that are method names keep their spelling.
                let method = path.ends_with(&format!("/extensionMethods/{key}"));
                let known = method || key.starts_with('_') || SNAKE.contains(&key.as_str());
                let right = if in_record {
                    is_snake(key)
                } else {
                    is_camel(key)
                };
                assert!(known || right, "{place}{path}: wrong case");
                let inside = in_record || RECORDS.contains(&key.as_str());
                if !is_open(&path, key) {
                    check_spelling(place, value, &path, inside);
                }
            }
        }
        Value::Array(items) => {
            let each = items.iter();
            each.for_each(|item| check_spelling(place, item, path, in_record));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_camel(key: &str) -> bool {
    !key.contains('_') && key.starts_with(|c: char| c.is_ascii_lowercase())
}

fn is_snake(key: &str) -> bool {
    key.chars()
        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// Returns every single message, and every line to a client of every transcript.
fn messages() -> Vec<(String, Value)> {
    let singles = lines::read_single_messages().into_iter();
    let singles = singles.map(|single| (single.name, single.message));
    let transcripts = lines::read_transcripts().into_iter();
    let lines = transcripts.flat_map(|(name, lines)| {
        lines
            .into_iter()
            .map(move |line| (name.clone(), line.value))
    });
    singles.chain(lines).collect()
}
