//! What a transport has to know of a message: what sort it is, and which session it names.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::value::RawValue;

/// A JSON-RPC message, as far as it matters here.
#[derive(Deserialize)]
pub(super) struct Message<'a> {
    #[serde(default)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "present")]
    result: bool,
    #[serde(default, deserialize_with = "present")]
    error: bool,
}

/// Whether a member is there, also with null.
fn present<'de, D: Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(value).map(|_| true)
}

impl<'a> Message<'a> {
    /// Reads one; none where it is no JSON object, or no message.
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

    /// The id as it is written, if it is more than null.
    pub(super) fn id(&self) -> Option<&'a str> {
        self.id.map(RawValue::get).filter(|id| *id != "null")
    }

    /// The session that its params name.
    pub(super) fn session(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Params {
            #[serde(rename = "sessionId")]
            session_id: String,
        }
        // Of the protocol itself, about a message and not a session.
        if self.method.as_deref()?.starts_with("$/") {
            return None;
        }
        let params: Params = serde_json::from_str(self.params?.get()).ok()?;
        Some(params.session_id)
    }

    /// Whether its method is about one session.
    pub(super) fn needs_session(&self) -> bool {
        const METHODS: [&str; 10] = [
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
        ];
        self.method.as_deref().is_some_and(|m| METHODS.contains(&m))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_are_told_apart() {
        let request =
            r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s"}}"#;
        let read = Message::read(request).unwrap();
        assert_eq!(
            (read.id(), read.session().as_deref()),
            (Some("1"), Some("s"))
        );
        assert!(read.needs_session() && !read.is_answer());
        let answer = Message::read(r#"{"jsonrpc":"2.0","id":"a","result":{}}"#).unwrap();
        assert!(answer.is_answer() && !answer.is_error());
        let nothing = Message::read(r#"{"jsonrpc":"2.0","id":2,"result":null}"#).unwrap();
        assert!(nothing.is_answer());
        let error = Message::read(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#).unwrap();
        assert!(error.is_error() && error.id().is_none());
        let cancel = r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"sessionId":"s"}}"#;
        assert_eq!(Message::read(cancel).unwrap().session(), None);
        let escaped = r#"{"jsonrpc":"2.0","method":"session\/prompt"}"#;
        assert!(Message::read(escaped).unwrap().needs_session());
        for odd in [
            "",
            "1",
            "null",
            "{}",
            "[]",
            r#"{"jsonrpc":"2.0"}"#,
            r#"{"id":1,"method":"x"}"#,
        ] {
            assert!(Message::read(odd).is_none(), "{odd}");
        }
    }
}
