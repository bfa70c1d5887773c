//! JSON-RPC 2.0: parses a value into one of its messages.

use serde_json::{Map, Value};

/// A message, borrowed from its line.
pub(super) enum RecordedMessage<'a> {
    Request {
        id: String,
        method: &'a str,
        params: Option<&'a Value>,
    },
    Notification {
        method: &'a str,
        params: Option<&'a Value>,
    },
    Answer {
        /// None for null: the sender could not read the request.
        id: Option<String>,
        outcome: RpcOutcome<'a>,
    },
}

#[derive(Clone, Copy)]
pub(super) enum RpcOutcome<'a> {
    Result(&'a Value),
    Error(&'a Value),
}

/// Returns the message, or why the value is none. Ignores members that JSON-RPC does not define: some clients
/// add them to every line.
pub(super) fn read(value: &Value) -> Result<RecordedMessage<'_>, &'static str> {
    let members = match value {
        Value::Object(members) => members,
        Value::Array(_) => return Err("batches are not supported; send one message per line"),
        _ => return Err("the line is not an object"),
    };
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err("`jsonrpc` is not \"2.0\"");
    }
    match (
        members.get("method"),
        members.get("result"),
        members.get("error"),
    ) {
        (Some(Value::String(method)), None, None) => read_request_or_notification(members, method),
        (Some(_), None, None) => Err("`method` is not a string"),
        (Some(_), ..) => Err("`method` beside `result` or `error`"),
        (None, Some(_), Some(_)) => Err("`result` beside `error`"),
        (None, None, None) => Err("neither `method`, `result` nor `error`"),
        (None, Some(result), None) => match members.get("id") {
            Some(id @ (Value::String(_) | Value::Number(_))) => Ok(RecordedMessage::Answer {
                id: Some(id.to_string()),
                outcome: RpcOutcome::Result(result),
            }),
            _ => Err("a `result` without the `id` of its request"),
        },
        (None, None, Some(error)) => {
            let id = match members.get("id") {
                Some(Value::Null) => None,
                Some(id @ (Value::String(_) | Value::Number(_))) => Some(id.to_string()),
                _ => return Err("an `error` without `id`"),
            };
            let outcome = RpcOutcome::Error(error);
            Ok(RecordedMessage::Answer { id, outcome })
        }
    }
}

fn read_request_or_notification<'a>(
    members: &'a Map<String, Value>,
    method: &'a str,
) -> Result<RecordedMessage<'a>, &'static str> {
    let params = members.get("params");
    if !matches!(params, None | Some(Value::Object(_) | Value::Array(_))) {
        return Err("`params` is neither an object nor an array");
    }
    match members.get("id") {
        None => Ok(RecordedMessage::Notification { method, params }),
        Some(id @ (Value::String(_) | Value::Number(_))) => Ok(RecordedMessage::Request {
            id: id.to_string(),
            method,
            params,
        }),
        Some(_) => Err("`id` is neither a string nor a number"),
    }
}
