//! The errors of requests, and the one table that maps them to HTTP status codes.

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use harn_lines::ws::NoHandshake;
use harn_runtime::{JournalError, LiveClientError, SessionEnd, SessionError};
use serde::Serialize;

/// A request failed. Messages state what was wrong and what would be right, and repeat nothing of the request.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StateError {
    /// The session does not exist, or belongs to another principal.
    #[error("unknown session; /ws/sessions lists all sessions")]
    NoSession,
    /// The session has no such call.
    #[error("the session has no such tool call")]
    NoCall,
    /// A value of the query does not fit.
    #[error("{name} must be {wanted}")]
    BadQuery {
        name: &'static str,
        /// The value that would be right.
        wanted: &'static str,
    },
    /// A value of the query occurs more than once, so it is unclear which one counts.
    #[error("{0} is given more than once; give it once")]
    Twice(&'static str),
    /// The body has the wrong shape.
    #[error("the body must be a JSON object whose commands are a list")]
    NoBody,
    /// The body is too long.
    #[error("the body is longer than {limit} bytes; leave the state out of it")]
    TooLong {
        /// The maximum length in bytes.
        limit: usize,
    },
    /// The body did not arrive in time.
    #[error("the body took too long to arrive; send it at once")]
    Slow,
    /// The query cannot be parsed.
    #[error("the query must be name=value pairs with & between them, as percent-encoded UTF-8")]
    NoQuery,
    /// The session was closed while it was read.
    #[error("the session was closed; repeat the request to open it again")]
    Closed,
    /// The session could not be opened or read.
    #[error("{words}")]
    Session { status: StatusCode, words: String },
    /// The client cannot attach to the session.
    #[error("{0}")]
    Client(LiveClientError),
    /// The WebSocket handshake is invalid.
    #[error("{0}")]
    Handshake(#[from] NoHandshake),
    /// The route needs a WebSocket.
    #[error("this path needs a WebSocket; send an upgrade request")]
    Upgrade,
    /// The limit of connections is reached.
    #[error("too many connections; try again later")]
    TooMany,
    /// The request has no principal.
    #[error("the token is missing")]
    Nobody,
}

impl StateError {
    /// Returns the HTTP status of the error.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::NoSession | Self::NoCall => StatusCode::NOT_FOUND,
            Self::BadQuery { .. } | Self::Twice(_) | Self::NoQuery | Self::NoBody => {
                StatusCode::BAD_REQUEST
            }
            Self::TooLong { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::Closed => StatusCode::SERVICE_UNAVAILABLE,
            Self::Session { status, .. } => *status,
            Self::Client(_) => StatusCode::CONFLICT,
            Self::Handshake(_) => StatusCode::BAD_REQUEST,
            Self::Upgrade => StatusCode::UPGRADE_REQUIRED,
            Self::TooMany => StatusCode::SERVICE_UNAVAILABLE,
            Self::Nobody => StatusCode::UNAUTHORIZED,
        }
    }
}

impl From<SessionError> for StateError {
    fn from(error: SessionError) -> Self {
        let (status, words) = match &error {
            // An invalid id names no session.
            SessionError::NotFound(_)
            | SessionError::Journal(JournalError::NotFound(_) | JournalError::InvalidId) => {
                return Self::NoSession;
            }
            SessionError::WrongCwd { expected, .. } => (
                StatusCode::BAD_REQUEST,
                format!("the session belongs to {}", expected.display()),
            ),
            SessionError::BadCwd => (
                StatusCode::BAD_REQUEST,
                "cwd must be the absolute path of an existing directory".to_owned(),
            ),
            SessionError::BadCursor => (StatusCode::BAD_REQUEST, error.to_string()),
            SessionError::ShuttingDown => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
            SessionError::Journal(JournalError::Locked(_)) => (
                StatusCode::CONFLICT,
                "the session is open in another process; stop that process first".to_owned(),
            ),
            SessionError::Journal(JournalError::Exists(_)) => (
                StatusCode::CONFLICT,
                "the session exists already".to_owned(),
            ),
            SessionError::Journal(
                error @ (JournalError::Corrupt { .. } | JournalError::Io { .. }),
            ) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
        };
        Self::Session { status, words }
    }
}

impl From<SessionEnd> for StateError {
    fn from(end: SessionEnd) -> Self {
        match end {
            SessionEnd::Closed => Self::Closed,
            SessionEnd::Failed(why) => Self::Session {
                status: StatusCode::INTERNAL_SERVER_ERROR,
                words: why.to_string(),
            },
        }
    }
}

/// The body of an error response.
#[derive(Serialize)]
struct ErrorBody {
    error: String,
}

impl IntoResponse for StateError {
    fn into_response(self) -> Response {
        let body = ErrorBody {
            error: self.to_string(),
        };
        // A string always serialises.
        let body = serde_json::to_vec(&body).unwrap_or_default();
        let headers = [
            (header::CONTENT_TYPE, "application/json"),
            (header::CACHE_CONTROL, "no-store"),
        ];
        (self.status(), headers, body).into_response()
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[tokio::test]
    async fn every_error_has_its_status_and_message() {
        let io = JournalError::Io {
            path: "/state".into(),
            source: std::io::Error::other("the disk is full"),
        };
        let corrupt = JournalError::Corrupt {
            path: "/state/events.jsonl".into(),
            line: 3,
            reason: "no JSON".to_owned(),
        };
        let journal = |error: JournalError| StateError::from(SessionError::Journal(error));
        let table: Vec<StateError> = vec![
            StateError::NoSession,
            StateError::NoCall,
            StateError::BadQuery {
                name: "after",
                wanted: "a number",
            },
            StateError::Twice("after"),
            StateError::NoQuery,
            StateError::NoBody,
            StateError::TooLong { limit: 1024 },
            StateError::Slow,
            SessionEnd::Closed.into(),
            SessionEnd::Failed("the journal lost events".into()).into(),
            SessionError::NotFound("secret".into()).into(),
            SessionError::WrongCwd {
                id: "secret".into(),
                expected: "/home/ada".into(),
            }
            .into(),
            SessionError::BadCwd.into(),
            SessionError::BadCursor.into(),
            SessionError::ShuttingDown.into(),
            journal(JournalError::NotFound("secret".into())),
            journal(JournalError::InvalidId),
            journal(JournalError::Locked("secret".into())),
            journal(JournalError::Exists("secret".into())),
            journal(corrupt),
            journal(io),
            StateError::Client(LiveClientError::TooMany { limit: 1024 }),
            StateError::Handshake(NoHandshake),
            StateError::Upgrade,
            StateError::TooMany,
            StateError::Nobody,
        ];
        let mut told = String::new();
        for error in table {
            let response = error.into_response();
            let status = response.status().as_u16();
            assert_eq!(response.headers()[header::CACHE_CONTROL], "no-store");
            let body = axum::body::to_bytes(response.into_body(), 1024).await;
            let body = String::from_utf8(body.unwrap().to_vec()).unwrap();
            told.push_str(&format!("{status} {body}\n"));
        }
        assert!(!told.contains("secret"), "{told}");
        expect![[r#"
            404 {"error":"unknown session; /ws/sessions lists all sessions"}
            404 {"error":"the session has no such tool call"}
            400 {"error":"after must be a number"}
            400 {"error":"after is given more than once; give it once"}
            400 {"error":"the query must be name=value pairs with & between them, as percent-encoded UTF-8"}
            400 {"error":"the body must be a JSON object whose commands are a list"}
            413 {"error":"the body is longer than 1024 bytes; leave the state out of it"}
            408 {"error":"the body took too long to arrive; send it at once"}
            503 {"error":"the session was closed; repeat the request to open it again"}
            500 {"error":"the journal lost events"}
            404 {"error":"unknown session; /ws/sessions lists all sessions"}
            400 {"error":"the session belongs to /home/ada"}
            400 {"error":"cwd must be the absolute path of an existing directory"}
            400 {"error":"the cursor does not belong to this listing; start again without a cursor"}
            503 {"error":"the agent is shutting down"}
            404 {"error":"unknown session; /ws/sessions lists all sessions"}
            404 {"error":"unknown session; /ws/sessions lists all sessions"}
            409 {"error":"the session is open in another process; stop that process first"}
            409 {"error":"the session exists already"}
            500 {"error":"/state/events.jsonl:3: the journal is damaged: no JSON"}
            500 {"error":"/state: the disk is full"}
            409 {"error":"1024 clients are attached to the session already, which is the limit"}
            400 {"error":"not a WebSocket version 13 handshake over HTTP/1.1"}
            426 {"error":"this path needs a WebSocket; send an upgrade request"}
            503 {"error":"too many connections; try again later"}
            401 {"error":"the token is missing"}
        "#]]
        .assert_eq(&told);
    }
}
