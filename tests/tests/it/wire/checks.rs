//! How a line is checked: as an extension by its schema, or as ACP by both editions, with and without `_meta`.

use serde_json::Value;

use crate::wire::{
    editions::{Edition, NEWEST, PINNED},
    extensions::Extensions,
    lines::{Line, What},
};

/// The updates of ACP that we send.
pub(crate) const STANDARD: [&str; 11] = [
    "agent_message_chunk",
    "agent_thought_chunk",
    "available_commands_update",
    "config_option_update",
    "current_mode_update",
    "plan",
    "session_info_update",
    "tool_call",
    "tool_call_update",
    "usage_update",
    "user_message_chunk",
];

/// The contract's members of a permission request that ACP does not have, in the profile `harn`.
pub(crate) const BESIDE: [&str; 4] = [
    "approvalRequest",
    "declaredPaths",
    "mutation",
    "policyDecision",
];

/// A user's message as a whole: part of the contract, and of ACP from its second version on.
pub(crate) const WHOLE_MESSAGE: &str = "user_message";

/// Splits a whole message into the chunks that both editions know; returns any other line unchanged.
fn split_whole_message(line: &Line) -> Vec<Line> {
    let update = &line.value["update"];
    if line.what != What::Update || update["sessionUpdate"] != WHOLE_MESSAGE {
        return vec![line.clone()];
    }
    let members: Vec<_> = update.as_object().unwrap().keys().collect();
    // The optional `_meta` names the client that sent the message.
    assert_eq!(members[..3], ["sessionUpdate", "messageId", "content"]);
    assert!(matches!(members[3..], [] | [_]) && members[3..].iter().all(|it| *it == "_meta"));
    let blocks = update["content"].as_array().unwrap();
    assert!(!blocks.is_empty());
    let pieces = blocks.iter().map(|block| {
        let mut piece = line.clone();
        piece.value["update"]["sessionUpdate"] = "user_message_chunk".into();
        piece.value["update"]["content"] = block.clone();
        piece
    });
    pieces.collect()
}

pub(crate) fn is_extension(line: &Line) -> bool {
    match &line.what {
        What::AgentEvent => true,
        What::Update => {
            let name = line.value["update"]["sessionUpdate"].as_str();
            !name.is_some_and(|name| STANDARD.contains(&name) || name == WHOLE_MESSAGE)
        }
        What::Notification(method) | What::Request(method) => method.starts_with('_'),
        What::Response(_) | What::Error => false,
    }
}

pub(crate) fn check(place: &str, line: &Line) {
    for piece in split_whole_message(line) {
        check_piece(place, &piece);
    }
}

fn check_piece(place: &str, line: &Line) {
    let extensions = Extensions::load();
    if is_extension(line) {
        if let Err(problem) = extensions.check(line) {
            panic!("{place}: {problem}\n{}", line.value);
        }
        return;
    }
    if let Err(problem) = extensions.check_meta(line) {
        panic!("{place}: {problem}\n{}", line.value);
    }
    for edition in [&PINNED, &NEWEST] {
        let read = edition.round_trip(line);
        assert!(read.is_none_or(|it| it.is_ok()), "{place}: {}", line.value);
    }
    let line = without_contract_members(line);
    let plain = Line {
        what: line.what.clone(),
        value: without_meta(line.value.clone()),
    };
    for edition in [&PINNED, &NEWEST] {
        for line in [&line, &plain] {
            check_round_trip(place, edition, line);
        }
    }
}

/// Removes the contract's own members from a permission request; returns any other line unchanged. Both
/// editions also read it with these members, and drop them.
fn without_contract_members(line: &Line) -> Line {
    let mut line = line.clone();
    if let What::Request(method) = &line.what
        && method == "session/request_permission"
    {
        let members = line.value.as_object_mut().unwrap();
        members.retain(|name, _| !BESIDE.contains(&name.as_str()));
        let call = members["toolCall"].as_object_mut().unwrap();
        call.remove("toolName");
    }
    line
}

/// Reads a line and writes it again: every member must still be there, because decoding ignores much.
fn check_round_trip(place: &str, edition: &Edition, line: &Line) {
    let Some(result) = edition.round_trip(line) else {
        return;
    };
    let name = edition.name;
    let back = match result {
        Ok(back) => back,
        Err(error) => panic!(
            "{place}: {name} cannot read {:?}: {error}\n{}",
            line.what, line.value
        ),
    };
    let mut lost = Vec::new();
    compare(&line.value, &back, String::new(), &mut lost);
    lost.retain(|path| !edition.unknown.contains(&path.as_str()));
    assert!(
        lost.is_empty(),
        "{place}: {name} loses {lost:?} of {:?}\n{}\n{back}",
        line.what,
        line.value
    );
}

/// Collects the paths of members that `before` has and `after` lacks.
fn compare(before: &Value, after: &Value, path: String, lost: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in before {
                let path = format!("{path}/{key}");
                match after.get(key) {
                    Some(after) => compare(value, after, path, lost),
                    None if is_default(key, value) => {}
                    None => lost.push(path),
                }
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (at, (before, after)) in before.iter().zip(after).enumerate() {
                compare(before, after, format!("{path}/{at}"), lost);
            }
        }
        _ if before == after => {}
        _ => lost.push(path),
    }
}

/// Returns whether a member means the same when it is left out.
fn is_default(key: &str, value: &Value) -> bool {
    value.is_null()
        || (key == "status" && value == "pending")
        || (key == "kind" && value == "other")
}

fn without_meta(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(key, _)| key != "_meta");
            kept.map(|(key, value)| (key, without_meta(value)))
                .collect()
        }
        Value::Array(items) => items.into_iter().map(without_meta).collect(),
        other => other,
    }
}
