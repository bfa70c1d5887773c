//! Parses the parts of a message that a transport needs: its kind, and the session it names.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::value::RawValue;

/// The members of a JSON-RPC message that a transport reads.
#[derive(Deserialize)]
pub(super) struct RpcEnvelope<'a> {
    #[serde(default)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "is_present")]
    result: bool,
    #[serde(default, deserialize_with = "is_present")]
    error: bool,
}

/// Whether a member exists, even if it is null.
fn is_present<'de, D: Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(value).map(|_| true)
}

/// The error of params that name the session more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NamedTwice;

impl<'a> RpcEnvelope<'a> {
    /// Parses a message; none if the text is not a JSON object, or not a message.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let message: Self = serde_json::from_str(text).ok()?;
        let version = message.jsonrpc.as_deref() == Some("2.0");
        let known = message.method.is_some() || message.is_answer();
        (version && known).then_some(message)
    }

    pub(super) fn is_answer(&self) -> bool {
        self.method.is_none() && (self.result || self.error)
    }

    pub(super) fn is_error(&self) -> bool {
        self.is_answer() && self.error
    }

    /// Returns the id as it is written, unless it is null.
    pub(super) fn id(&self) -> Option<&'a str> {
        self.id.map(RawValue::get).filter(|id| *id != "null")
    }

    /// Returns the session that the params name, if any. Naming it twice is an error: parsers would disagree on
    /// the session.
    pub(super) fn session(&self) -> Result<Option<String>, NamedTwice> {
        #[derive(Deserialize)]
        struct SessionIdParams<'a> {
            #[serde(rename = "sessionId", borrow, default)]
            session_id: Option<&'a RawValue>,
        }
        // Methods with `$/` belong to the protocol itself and concern a message, not a session.
        let ours = self.method.as_deref().filter(|m| !m.starts_with("$/"));
        let Some(params) = self.params.filter(|_| ours.is_some()) else {
            return Ok(None);
        };
        if !params.get().starts_with('{') {
            return Ok(None);
        }
        // In an object, a repeated key is the only possible error.
        let params: SessionIdParams<'_> =
            serde_json::from_str(params.get()).map_err(|_| NamedTwice)?;
        let text = params.session_id.map(RawValue::get);
        Ok(text.and_then(|text| serde_json::from_str(text).ok()))
    }

    /// Whether its method closes or removes a session.
    pub(super) fn closes_session(&self) -> bool {
        let method = self.method.as_deref();
        matches!(
            method,
            Some("session/archive" | "session/close" | "session/delete")
        )
    }

    /// Whether its method is about one session.
    pub(super) fn needs_session(&self) -> bool {
        const METHODS: [&str; 13] = [
            "session/archive",
            "session/cancel",
            "session/close",
            "session/delete",
            "session/fork",
            "session/load",
            "session/prompt",
            "session/resume",
            "session/set_config_option",
            "session/set_mode",
            "session/set_model",
            "session/set_title",
            "session/unarchive",
        ];
        self.method.as_deref().is_some_and(|m| METHODS.contains(&m))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_messages_are_distinguished() {
        let request =
            r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s"}}"#;
        let read = RpcEnvelope::read(request).unwrap();
        assert_eq!(
            (read.id(), read.session()),
            (Some("1"), Ok(Some("s".to_owned())))
        );
        assert!(read.needs_session() && !read.is_answer());
        let answer = RpcEnvelope::read(r#"{"jsonrpc":"2.0","id":"a","result":{}}"#).unwrap();
        assert!(answer.is_answer() && !answer.is_error());
        let nothing = RpcEnvelope::read(r#"{"jsonrpc":"2.0","id":2,"result":null}"#).unwrap();
        assert!(nothing.is_answer());
        let error = RpcEnvelope::read(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#).unwrap();
        assert!(error.is_error() && error.id().is_none());
        let cancel = r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"sessionId":"s"}}"#;
        assert_eq!(RpcEnvelope::read(cancel).unwrap().session(), Ok(None));
        let escaped = r#"{"jsonrpc":"2.0","method":"session\/prompt"}"#;
        assert!(RpcEnvelope::read(escaped).unwrap().needs_session());
        for odd in [
            "",
            "1",
            "null",
            "{}",
            "[]",
            r#"{"jsonrpc":"2.0"}"#,
            r#"{"id":1,"method":"x"}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"x","m\u0065thod":"y"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{},"params":{}}"#,
        ] {
            assert!(RpcEnvelope::read(odd).is_none(), "{odd}");
        }
    }

    #[test]
    fn session_named_twice_is_an_error() {
        let session = |params: &str| {
            let text = format!(r#"{{"jsonrpc":"2.0","method":"x","params":{params}}}"#);
            RpcEnvelope::read(&text).unwrap().session()
        };
        assert_eq!(
            session(r#"{"a":1,"sessionId":"\u0073"}"#),
            Ok(Some("s".to_owned()))
        );
        for none in [
            "{}",
            "[]",
            "7",
            "null",
            r#"{"sessionId":7}"#,
            r#"{"a":1,"a":2}"#,
        ] {
            assert_eq!(session(none), Ok(None), "{none}");
        }
        for twice in [
            r#"{"sessionId":"s","sessionId":"t"}"#,
            r#"{"sessionId":null,"session\u0049d":"t"}"#,
            r#"{"sessionId":"s","sessionId":{}}"#,
        ] {
            assert_eq!(session(twice), Err(NamedTwice), "{twice}");
        }
    }
}
