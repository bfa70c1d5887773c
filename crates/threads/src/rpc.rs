//! JSON-RPC 2.0 on lines: parses lines, and writes answers and notifications. Knows no method.

use harn_lines::{
    IncomingLine,
    rpc::RpcMessage,
    rpc_line::{RpcLine, RpcLineFault},
};
use serde::Serialize;
use serde_json::{Value, value::RawValue};

use crate::{ThreadsError, wire::ThreadNotification};

/// A request or a notification.
#[derive(Debug, PartialEq)]
pub(crate) struct RpcCall {
    /// The id to answer; `None` for a notification.
    pub(crate) id: Option<RpcRequestId>,
    pub(crate) method: String,
    pub(crate) params: Option<Value>,
}

/// The id of a request, as it was received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum RpcRequestId {
    Number(serde_json::Number),
    Text(String),
}

/// A line that is no valid request, and the id to answer; an unknown id is null on the wire.
#[derive(Debug, PartialEq)]
pub(crate) struct RpcRejection {
    pub(crate) id: Option<RpcRequestId>,
    pub(crate) error: ThreadsError,
}

impl RpcRejection {
    fn parse(reason: &'static str) -> Self {
        Self {
            id: None,
            error: ThreadsError::Parse(reason),
        }
    }
}

/// Parses a line; returns `None` for an answer, which nothing here waits for.
pub(crate) fn read(line: IncomingLine) -> Result<Option<RpcCall>, RpcRejection> {
    match line {
        IncomingLine::Text(text) => parse_message(&text),
        IncomingLine::TooLong { limit } => Err(reject_without_id(format!(
            "the line is longer than {limit} bytes"
        ))),
        IncomingLine::NotUtf8 => Err(reject_without_id("the line is not UTF-8")),
    }
}

fn parse_message(text: &str) -> Result<Option<RpcCall>, RpcRejection> {
    match RpcLine::read(text) {
        Ok(line) => parse_call(&line),
        Err(RpcLineFault::NotJson) => Err(RpcRejection::parse(
            "the line is not JSON; send one JSON object per line",
        )),
        Err(RpcLineFault::TooDeep) => Err(RpcRejection::parse(
            "the line is nested too deeply; the limit is 127 levels",
        )),
        Err(fault @ RpcLineFault::TooManyValues) => Err(reject_without_id(fault.to_string())),
        Err(RpcLineFault::Batch) => Err(reject_without_id(
            "batches are not supported; send one request per line, as an object",
        )),
        Err(RpcLineFault::NotAnObject) => Err(reject_without_id("a request must be an object")),
    }
}

fn parse_call(line: &RpcLine<'_>) -> Result<Option<RpcCall>, RpcRejection> {
    let id = match line.id.map(parse_member) {
        None => None,
        Some(Value::String(id)) => Some(RpcRequestId::Text(id)),
        Some(Value::Number(id)) if id.is_i64() || id.is_u64() => Some(RpcRequestId::Number(id)),
        Some(_) => return Err(reject_without_id("id must be a string or a whole number")),
    };
    let refuse = |why: &str| {
        let error = ThreadsError::InvalidRequest(why.to_owned());
        Err(RpcRejection {
            id: id.clone(),
            error,
        })
    };
    if line.jsonrpc.map(parse_member) != Some(Value::from("2.0")) {
        return refuse("jsonrpc must be \"2.0\"");
    }
    let method = match line.method.map(parse_member) {
        Some(Value::String(method)) => method,
        Some(_) => return refuse("method must be a string"),
        // This server sends no requests, so this answers nothing; a reply to it could start an endless exchange.
        None if line.is_answer() => return Ok(None),
        None => return refuse("a request must have a method"),
    };
    let params = line.params.map(parse_member);
    Ok(Some(RpcCall { id, method, params }))
}

/// Parses a member of a line, which is known to be JSON.
fn parse_member(member: &RawValue) -> Value {
    serde_json::from_str(member.get()).unwrap_or_default()
}

fn reject_without_id(why: impl Into<String>) -> RpcRejection {
    RpcRejection {
        id: None,
        error: ThreadsError::InvalidRequest(why.into()),
    }
}

/// Adds the line that answers a request.
pub(crate) fn write_answer<T: Serialize>(
    id: &RpcRequestId,
    result: Result<T, ThreadsError>,
    out: &mut Vec<u8>,
) {
    let result = match result {
        Ok(result) => result,
        Err(error) => return write_error(Some(id), &error, out),
    };
    if RpcMessage::answer(id, result).write_line(out).is_err() {
        // The client must not wait for ever for a result that cannot be written.
        let error = ThreadsError::Internal("the answer could not be written".to_owned());
        write_error(Some(id), &error, out);
    }
}

/// Adds the line of an error; without an id if the line had none.
pub(crate) fn write_error(id: Option<&RpcRequestId>, error: &ThreadsError, out: &mut Vec<u8>) {
    let message = error.to_string();
    // Numbers and strings always serialise.
    let _ = RpcMessage::error(id, error.code(), &message).write_line(out);
}

/// Adds the line of a notification.
pub(crate) fn write_notification(notification: &ThreadNotification, out: &mut Vec<u8>) {
    let method = notification.method();
    if let Err(error) = RpcMessage::notification(method, notification).write_line(out) {
        tracing::error!(%error, method, "a notification could not be written");
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(line: &str, expect: Expect) {
        let said = match read(IncomingLine::Text(line.to_owned())) {
            Ok(Some(call)) => format!("{call:?}"),
            Ok(None) => "nothing".to_owned(),
            Err(refused) => {
                let mut out = Vec::new();
                write_error(refused.id.as_ref(), &refused.error, &mut out);
                String::from_utf8(out).unwrap()
            }
        };
        expect.assert_eq(&said);
    }

    #[test]
    fn requests_and_notifications_are_parsed() {
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"thread.list"}"#,
            expect![[
                r#"RpcCall { id: Some(Number(Number(1))), method: "thread.list", params: None }"#
            ]],
        );
        check(
            r#"{"id":"a","method":"m","params":{"x":1},"jsonrpc":"2.0","trace":true}"#,
            expect![[
                r#"RpcCall { id: Some(Text("a")), method: "m", params: Some(Object {"x": Number(1)}) }"#
            ]],
        );
        check(
            r#"{"jsonrpc":"2.0","method":"m"}"#,
            expect![[r#"RpcCall { id: None, method: "m", params: None }"#]],
        );
        check(
            r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
            expect!["nothing"],
        );
    }

    #[test]
    fn malformed_requests_are_rejected() {
        for (line, answer) in [
            (
                r#"{"jsonrpc":"2.0","id":1"#,
                expect![[r#"
                {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is not JSON; send one JSON object per line"}}
            "#]],
            ),
            (
                "secret",
                expect![[r#"
                {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is not JSON; send one JSON object per line"}}
            "#]],
            ),
            (
                "[]",
                expect![[r#"
                {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported; send one request per line, as an object"}}
            "#]],
            ),
            (
                "17",
                expect![[r#"
                {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a request must be an object"}}
            "#]],
            ),
            (
                r#"{"id":1,"method":"m"}"#,
                expect![[r#"
                {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"jsonrpc must be \"2.0\""}}
            "#]],
            ),
            (
                r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#,
                expect![[r#"
                    {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"jsonrpc must be \"2.0\""}}
                "#]],
            ),
            (
                r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#,
                expect![[r#"
                    {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"id must be a string or a whole number"}}
                "#]],
            ),
            (
                r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#,
                expect![[r#"
                    {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"id must be a string or a whole number"}}
                "#]],
            ),
            (
                r#"{"jsonrpc":"2.0","id":[1],"method":"m"}"#,
                expect![[r#"
                    {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"id must be a string or a whole number"}}
                "#]],
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":17}"#,
                expect![[r#"
                    {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"method must be a string"}}
                "#]],
            ),
            (
                r#"{"jsonrpc":"2.0","id":1}"#,
                expect![[r#"
                {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"a request must have a method"}}
            "#]],
            ),
        ] {
            check(line, answer);
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        check(
            &deep,
            expect![[r#"
            {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is nested too deeply; the limit is 127 levels"}}
        "#]],
        );
    }

    #[test]
    fn unreadable_lines_are_rejected() {
        let long = read(IncomingLine::TooLong { limit: 10 }).unwrap_err();
        assert_eq!(long.error.code(), -32600);
        let odd = read(IncomingLine::NotUtf8).unwrap_err();
        assert_eq!((odd.id, odd.error.code()), (None, -32600));
    }
}
