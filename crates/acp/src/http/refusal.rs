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
            Self::Nobody => "the token is missing",
            Self::Method => "only GET, POST and DELETE are served here",
            Self::Header => "a header is repeated, is longer than 256 characters or is not text",
            Self::ContentType => "Content-Type must be application/json",
            Self::Accept => {
                "Accept must name text/event-stream, unless the request asks for a WebSocket"
            }
            Self::TooLarge { limit } => {
                return format!("the message is longer than the limit of {limit} bytes");
            }
            Self::Slow => "the message took too long to arrive",
            Self::NotJson => "the body is not JSON; post one JSON-RPC 2.0 message",
            Self::Batch => "batches are not supported; post one message at a time",
            Self::NotAMessage => "the body is not a JSON-RPC 2.0 message",
            Self::NoSession => {
                "this method needs a session; send Acp-Session-Id, or sessionId in params"
            }
            Self::NamedTwice => "params name sessionId more than once",
            Self::OtherSession => "Acp-Session-Id and sessionId in params name different sessions",
            Self::NoConnection => {
                "Acp-Connection-Id is missing; initialize first, and send the id that it returns"
            }
            Self::UnknownConnection => "unknown connection; initialize again",
            Self::UnknownSession => "unknown session",
            Self::InitializeAgain => "this connection is initialized already",
            Self::InitializeWithoutId => "initialize is a request and needs an id",
            Self::NothingAsked => "no request of this connection waits for this answer",
            Self::LastEventId => "Last-Event-ID must be an id that this server sent",
            Self::UnknownEvent => {
                "this connection has not sent that event; open the session with session/load or \
                 session/attach, and pass the event there as lastEventId"
            }
            Self::TooFarBack => {
                "the answers since then are no longer stored; open the session again"
            }
            Self::Busy => {
                "another client reads this stream already; send Last-Event-ID to take it over"
            }
            Self::TooManyStreams => "this connection has too many sessions open",
            Self::TooManyConnections => "too many connections; try again later",
            Self::TooFast => "too many messages in a short time; slow down",
            Self::Upgrade => "not a WebSocket version 13 handshake over HTTP/1.1",
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
