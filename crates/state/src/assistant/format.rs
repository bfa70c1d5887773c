//! The two formats that clients of assistant-ui read. A client's format is its own setting, which its request does
//! not contain, so the less usual one must be requested.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use serde::Serialize;

use crate::{room, to_wire::document_writer, wire::DocumentState};

/// The format of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamFormat {
    /// Lines with a prefix for their type: `data-stream`.
    Lines,
    /// Server-sent events: `assistant-transport`.
    Events,
}

/// An error in a response of events.
#[derive(Serialize)]
#[serde(tag = "type", rename = "error")]
struct ErrorEvent<'a> {
    path: [&'a str; 0],
    error: &'a str,
}

impl StreamFormat {
    /// Selects the format from the `Accept` headers of a client.
    pub(super) fn from_headers(headers: &HeaderMap) -> Self {
        let mut accepts = headers.get_all(header::ACCEPT).iter();
        let events = accepts.any(|accept| {
            let accept = accept.to_str().unwrap_or_default();
            accept.to_ascii_lowercase().contains("text/event-stream")
        });
        match events {
            true => Self::Events,
            false => Self::Lines,
        }
    }

    /// Builds a response with this body. The texts in it may come from anyone: a browser must not interpret them
    /// as a page.
    pub(super) fn response(self, body: Body) -> Response {
        const NOSNIFF: (HeaderName, &str) = (header::X_CONTENT_TYPE_OPTIONS, "nosniff");
        const KIND: HeaderName = HeaderName::from_static("x-vercel-ai-data-stream");
        match self {
            Self::Lines => {
                let headers = [
                    (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
                    (header::CACHE_CONTROL, "no-store"),
                    (KIND, "v1"),
                    NOSNIFF,
                ];
                (headers, body).into_response()
            }
            Self::Events => {
                let headers = [
                    (header::CONTENT_TYPE, "text/event-stream"),
                    (header::CACHE_CONTROL, "no-cache"),
                    NOSNIFF,
                ];
                (headers, body).into_response()
            }
        }
    }

    /// Writes the whole document, which replaces the client's copy.
    pub(super) fn write_document(
        self,
        state: DocumentState,
    ) -> Box<dyn Iterator<Item = Bytes> + Send> {
        let (before, behind) = match self {
            Self::Lines => (r#"aui-state:[{"type":"set","path":[],"value":"#, "}]\n"),
            Self::Events => (
                r#"data: {"type":"update-state","path":[],"operations":[{"type":"set","path":[],"value":"#,
                "}]}\n\n",
            ),
        };
        Box::new(document_writer::pieces(state, before, behind).map(rename_rejected_keys))
    }

    /// Writes changes of the document.
    pub(super) fn write_delta(self, operations: &[Bytes]) -> Bytes {
        let (before, behind) = match self {
            Self::Lines => ("aui-state:[", "]\n"),
            Self::Events => (
                r#"data: {"type":"update-state","path":[],"operations":["#,
                "]}\n\n",
            ),
        };
        rename_rejected_keys(room::join_operations(operations, before, behind))
    }

    /// Writes an error message.
    pub(super) fn write_error(self, words: &str) -> Bytes {
        // A string always serialises.
        let written = match self {
            Self::Lines => {
                let words = serde_json::to_string(words).unwrap_or_default();
                format!("3:{words}\n")
            }
            Self::Events => {
                let (path, error) = ([], words);
                let event = serde_json::to_string(&ErrorEvent { path, error }).unwrap_or_default();
                format!("data: {event}\n\n")
            }
        };
        written.into()
    }

    /// Returns a sign of life that clients ignore.
    pub(super) fn keep_alive(self) -> Bytes {
        Bytes::from_static(match self {
            Self::Lines => b"\n",
            Self::Events => b":\n\n",
        })
    }

    /// Returns the end marker, if the format has one.
    pub(super) fn end_marker(self) -> Option<Bytes> {
        match self {
            Self::Lines => None,
            Self::Events => Some(Bytes::from_static(b"data: [DONE]\n\n")),
        }
    }
}

/// Renames keys for which a client drops the whole message, because it takes them for an attack on its own
/// objects. A tool may well be called with such keys. Our JSON escapes quotes inside texts, so each match is the
/// end of a key.
fn rename_rejected_keys(written: Bytes) -> Bytes {
    const NAMES: [(&str, &str); 2] = [
        (r#""__proto__":"#, r#""(__proto__)":"#),
        (r#""constructor":{"#, r#""(constructor)":{"#),
    ];
    let Ok(text) = std::str::from_utf8(&written) else {
        return written;
    };
    if NAMES.iter().all(|(name, _)| !text.contains(name)) {
        return written;
    }
    let renamed = NAMES.iter().fold(text.to_owned(), |text, (name, other)| {
        text.replace(name, other)
    });
    renamed.into()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    use super::*;
    use crate::{to_wire::Document, wire::SessionFacts};

    fn check(format: StreamFormat, expect: Expect) {
        let state = Document::new(SessionFacts::default()).state().clone();
        let mut told: Vec<u8> = format.write_document(state).flatten().collect();
        let operations = [
            r#"{"type":"set","path":["status"],"value":"running"}"#,
            r#"{"type":"append-text","path":["messages","1","content"],"value":"a\n\"é"}"#,
        ];
        let operations = operations.map(|it| Bytes::from_static(it.as_bytes()));
        told.extend(format.write_delta(&operations));
        told.extend(format.keep_alive());
        told.extend(format.write_error("somebody \"else\"\nis in control"));
        told.extend(format.end_marker().into_iter().flatten());
        expect.assert_eq(std::str::from_utf8(&told).unwrap());
    }

    #[test]
    fn lines_have_a_prefix() {
        check(
            StreamFormat::Lines,
            expect![[r#"
            aui-state:[{"type":"set","path":[],"value":{"status":"idle","messages":[],"session":{"id":"","title":null,"cwd":"","agent":"","createdAt":0,"mode":"","modes":[],"options":[],"commands":[]},"plan":[],"workers":[],"skills":[],"usage":null,"approvals":[],"questions":[],"clients":[],"controller":null}}]
            aui-state:[{"type":"set","path":["status"],"value":"running"},{"type":"append-text","path":["messages","1","content"],"value":"a\n\"é"}]

            3:"somebody \"else\"\nis in control"
        "#]],
        );
    }

    #[test]
    fn events_are_server_sent_events() {
        check(
            StreamFormat::Events,
            expect![[r#"
            data: {"type":"update-state","path":[],"operations":[{"type":"set","path":[],"value":{"status":"idle","messages":[],"session":{"id":"","title":null,"cwd":"","agent":"","createdAt":0,"mode":"","modes":[],"options":[],"commands":[]},"plan":[],"workers":[],"skills":[],"usage":null,"approvals":[],"questions":[],"clients":[],"controller":null}}]}

            data: {"type":"update-state","path":[],"operations":[{"type":"set","path":["status"],"value":"running"},{"type":"append-text","path":["messages","1","content"],"value":"a\n\"é"}]}

            :

            data: {"type":"error","path":[],"error":"somebody \"else\"\nis in control"}

            data: [DONE]

        "#]],
        );
    }

    #[test]
    fn events_must_be_requested() {
        for (accept, format) in [
            (None, StreamFormat::Lines),
            (Some("*/*"), StreamFormat::Lines),
            (Some("text/event-stream"), StreamFormat::Events),
            (
                Some("text/plain, Text/Event-Stream;q=0.9"),
                StreamFormat::Events,
            ),
        ] {
            let accept = accept.map(|accept| (header::ACCEPT, accept.parse().unwrap()));
            let headers: HeaderMap = accept.into_iter().collect();
            assert_eq!(StreamFormat::from_headers(&headers), format, "{headers:?}");
        }
    }

    #[test]
    fn keys_that_a_client_rejects_are_renamed() {
        let told = |value: Value| {
            let harmless = rename_rejected_keys(value.to_string().into());
            serde_json::from_slice::<Value>(&harmless).unwrap()
        };
        let plain =
            json!({"__proto__ ": 1, "a": "\"__proto__\":", "constructor": "x", "b": ["__proto__"]});
        assert_eq!(told(plain.clone()), plain);
        let bad = json!({"a": {"__proto__": {"constructor": {"prototype": 1}}}});
        let good = json!({"a": {"(__proto__)": {"(constructor)": {"prototype": 1}}}});
        assert_eq!(told(bad), good);
        // The end of a longer key is harmless, and the result is still JSON.
        assert!(told(json!({"x\"__proto__": 1})).is_object());
    }
}
