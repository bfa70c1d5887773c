//! The envelope of JSON-RPC 2.0 messages that this project defines; ACP messages use the SDK's types. Knows no method.

use serde::Serialize;

/// A JSON-RPC message to write.
#[derive(Debug, Serialize)]
pub struct RpcMessage<'a, I, T> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<I>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RpcError<'a>>,
}

#[derive(Debug, Serialize)]
struct RpcError<'a> {
    code: i32,
    message: &'a str,
}

impl<'a, I, T> RpcMessage<'a, I, T> {
    const EMPTY: Self = Self {
        jsonrpc: "2.0",
        id: None,
        method: None,
        params: None,
        result: None,
        error: None,
    };

    /// Creates a request.
    pub fn request(id: I, method: &'a str, params: T) -> Self {
        Self {
            id: Some(id),
            method: Some(method),
            params: Some(params),
            ..Self::EMPTY
        }
    }

    /// Creates the answer to a request.
    pub fn answer(id: I, result: T) -> Self {
        Self {
            id: Some(id),
            result: Some(result),
            ..Self::EMPTY
        }
    }
}

impl<'a, T> RpcMessage<'a, (), T> {
    /// Creates a notification.
    pub fn notification(method: &'a str, params: T) -> Self {
        Self {
            method: Some(method),
            params: Some(params),
            ..Self::EMPTY
        }
    }
}

impl<'a, I> RpcMessage<'a, I, ()> {
    /// Creates the error that answers a request. An id of `None` is null on the wire: the id of the message is
    /// not known.
    pub fn error(id: I, code: i32, message: &'a str) -> Self {
        Self {
            id: Some(id),
            error: Some(RpcError { code, message }),
            ..Self::EMPTY
        }
    }
}

impl<I: Serialize, T: Serialize> RpcMessage<'_, I, T> {
    /// Returns the message as text. Messages of JSON values and numbers always serialize.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Appends the message as a line. Appends nothing if it cannot be serialized.
    pub fn write_line(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
        let start = out.len();
        let written = serde_json::to_writer(&mut *out, self);
        match written {
            Ok(()) => out.push(b'\n'),
            Err(_) => out.truncate(start),
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn line<I: Serialize, T: Serialize>(message: &RpcMessage<'_, I, T>) -> String {
        let mut out = Vec::new();
        message.write_line(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_kind_of_message_is_one_line() {
        assert_eq!(
            line(&RpcMessage::request(1, "m", [2])),
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":[2]}\n"
        );
        assert_eq!(
            line(&RpcMessage::notification("m", [2])),
            "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":[2]}\n"
        );
        assert_eq!(
            line(&RpcMessage::answer("a", ())),
            "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":null}\n"
        );
        assert_eq!(
            line(&RpcMessage::error(None::<u8>, -32600, "no")),
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"no\"}}\n"
        );
    }

    #[test]
    fn message_that_cannot_be_written_leaves_nothing_behind() {
        let mut out = b"before".to_vec();
        let params = BTreeMap::from([((1, 2), 3)]);
        let message = RpcMessage::notification("m", params);
        assert!(message.write_line(&mut out).is_err());
        assert_eq!(out, b"before");
    }
}
