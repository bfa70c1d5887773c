//! The response to a rejected request: a status and a sentence that states what would be right. Repeats nothing
//! of the request.

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};

use super::JSON;

/// The reason why a request is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HttpRefusal {
    /// The request has no principal.
    Nobody,
    Method,
    /// A header occurs twice, is too long or is not text.
    Header,
    ContentType,
    Accept,
    TooLarge {
        limit: usize,
    },
    Slow,
    NotJson,
    Batch,
    NotAMessage,
    /// The message must name a session and does not.
    NoSession,
    NamedTwice,
    OtherSession,
    NoConnection,
    UnknownConnection,
    UnknownSession,
    InitializeAgain,
    InitializeWithoutId,
    /// An answer to a request that was not sent over this connection.
    NothingAsked,
    LastEventId,
    UnknownEvent,
    TooFarBack,
    Busy,
    TooManyStreams,
    TooManyConnections,
    TooFast,
    Upgrade,
    /// The connection ended before it had an answer.
    Ended,
}

impl HttpRefusal {
    fn status(self) -> StatusCode {
        match self {
            Self::Nobody => StatusCode::UNAUTHORIZED,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::ContentType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Accept => StatusCode::NOT_ACCEPTABLE,
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::Header
            | Self::NotJson
            | Self::Batch
            | Self::NotAMessage
            | Self::NoSession
            | Self::NamedTwice
            | Self::OtherSession
            | Self::NoConnection
            | Self::InitializeAgain
            | Self::InitializeWithoutId
            | Self::NothingAsked
            | Self::LastEventId
            | Self::Upgrade => StatusCode::BAD_REQUEST,
            Self::UnknownConnection | Self::Ended => StatusCode::NOT_FOUND,
            // On a conflict, clients give up the session and not the whole connection.
            Self::UnknownSession
            | Self::UnknownEvent
            | Self::TooFarBack
            | Self::Busy
            | Self::TooManyStreams => StatusCode::CONFLICT,
            Self::TooFast => StatusCode::TOO_MANY_REQUESTS,
            Self::TooManyConnections => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn message(self) -> String {
        let words = match self {
            Self::Nobody => "a token is needed",
            Self::Method => "only GET, POST and DELETE are served here",
            Self::Header => "a header is there twice, is longer than 256 characters or is no text",
            Self::ContentType => "Content-Type must be application/json",
            Self::Accept => {
                "Accept must name text/event-stream, or the request ask for a WebSocket"
            }
            Self::TooLarge { limit } => {
                return format!("the message is longer than {limit} bytes, the most that is read");
            }
            Self::Slow => "the message took too long to come",
            Self::NotJson => "the body is not JSON; post one JSON-RPC 2.0 message",
            Self::Batch => "batches are not supported; post one message at a time",
            Self::NotAMessage => "the body is not a JSON-RPC 2.0 message",
            Self::NoSession => {
                "this method needs a session: Acp-Session-Id, or sessionId in params"
            }
            Self::NamedTwice => "params name sessionId more than once",
            Self::OtherSession => "Acp-Session-Id and sessionId in params name different sessions",
            Self::NoConnection => {
                "Acp-Connection-Id is missing; initialize first, and send what it answers"
            }
            Self::UnknownConnection => "there is no such connection; initialize anew",
            Self::UnknownSession => "there is no such session",
            Self::InitializeAgain => "this connection is initialized already",
            Self::InitializeWithoutId => "initialize is a request and needs an id",
            Self::NothingAsked => "this answers nothing that was asked over this connection",
            Self::LastEventId => "Last-Event-ID is not one that was sent",
            Self::UnknownEvent => {
                "this connection never came to that event; open the session with session/load or \
                 session/attach, and name the event there as lastEventId"
            }
            Self::TooFarBack => {
                "what was answered since then is not kept any more; open the session anew"
            }
            Self::Busy => {
                "somebody reads this stream already; with Last-Event-ID it is taken from them"
            }
            Self::TooManyStreams => "this connection has too many sessions open",
            Self::TooManyConnections => "there are too many connections; try again later",
            Self::TooFast => "too many messages in too short a time; go slower",
            Self::Upgrade => "this is no WebSocket handshake of version 13 over HTTP/1.1",
            Self::Ended => "the connection ended",
        };
        words.to_owned()
    }
}

impl IntoResponse for HttpRefusal {
    fn into_response(self) -> Response {
        let words = self.message();
        let status = self.status();
        match self {
            // The servers of ACP's own project answer like this.
            Self::Batch => {
                let error = serde_json::json!({
                    "jsonrpc": "2.0",
                    "id": null,
                    "error": {"code": -32600, "message": words, "data": {"details": words}},
                });
                (status, [(header::CONTENT_TYPE, JSON)], error.to_string()).into_response()
            }
            Self::TooFast | Self::TooManyConnections => {
                (status, [(header::RETRY_AFTER, "1")], words).into_response()
            }
            Self::Method => (status, [(header::ALLOW, "GET, POST, DELETE")], words).into_response(),
            _ => (status, words).into_response(),
        }
    }
}
