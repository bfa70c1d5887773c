//! The errors of a request: a table with the status, the code and whether a retry helps. No error repeats
//! content of the request.

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

/// An error, with a message for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OpenHarnessError {
    #[error(
        "The body is not a JSON object, or is nested too deeply; send one message, encoded as UTF-8."
    )]
    NotJson,
    /// A field is missing or wrong.
    #[error("`{field}` {problem}.")]
    Invalid {
        /// The path of the field, such as `request.context.user_intent`.
        field: String,
        /// What would be right: the rest of a sentence that begins with the field.
        problem: &'static str,
    },
    #[error(
        "This engine supports version 1 of the protocol; send a `protocol_version` such as \"1.0.0\"."
    )]
    Version,
    #[error("The body is longer than {limit} bytes.")]
    TooLarge { limit: usize },
    #[error("The method must be POST.")]
    Method,
    #[error("The body must be JSON; send `content-type: application/json`.")]
    MediaType,
    #[error("The body took too long to arrive.")]
    Slow,
    /// Rejected before the body was parsed, with this status.
    #[error("{words}")]
    Refused { status: StatusCode, words: String },
    #[error("This `request_id` was used for another request; use a new one.")]
    RequestIdConflict,
    #[error("Unknown continuation; send back `response.continuation` unchanged.")]
    ContinuationUnknown,
    #[error("No run is active in this session; there is nothing to cancel.")]
    Idle,
    #[error(
        "The run has no open question with this id; send the continuation alone to get the open questions."
    )]
    QuestionUnknown,
    #[error("Invalid answer: {problem}.")]
    AnswerUnfit { problem: String },
    /// The agent does not accept the content.
    #[error("{problem}")]
    Unsupported { problem: String },
    #[error("The queue of this session is full; try again later.")]
    Busy,
    #[error("Another client controls this session now; try again later.")]
    Driven,
    #[error("Another process has this session open; try again later.")]
    InUse,
    #[error("Too many requests are in progress; try again later.")]
    TooMany,
    #[error("The engine is shutting down; try again later.")]
    Ending,
    #[error("The engine cannot reach its journal; try again later.")]
    Unavailable,
    /// The agent failed with this message.
    #[error("{message}")]
    Failed { message: String },
    #[error("The run was cancelled, by a client or because the engine was stopped.")]
    Cancelled,
    #[error(
        "The engine stopped during the run; no part of it ran twice. Send the request again with a new \
         `request_id` to continue."
    )]
    Interrupted,
}

/// The HTTP status of an error, its code, and whether a retry helps.
type ErrorRow = (StatusCode, &'static str, bool);

impl OpenHarnessError {
    /// Returns the row of the table. A well-formed request gets status 200, because some Shells read only the
    /// status otherwise. A retry helps if the request was not the cause; a finished run has its response, and
    /// the same request would get it again.
    fn row(&self) -> ErrorRow {
        use StatusCode as S;
        match self {
            Self::NotJson | Self::Invalid { .. } => (S::BAD_REQUEST, "invalid_request", false),
            Self::Version => (S::OK, "protocol_version_unsupported", false),
            Self::TooLarge { .. } => (S::PAYLOAD_TOO_LARGE, "request_too_large", false),
            Self::Method => (S::METHOD_NOT_ALLOWED, "method_not_allowed", false),
            Self::MediaType => (S::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", false),
            Self::Slow => (S::REQUEST_TIMEOUT, "request_timeout", true),
            Self::Refused { status, .. } => refused_row(*status),
            Self::RequestIdConflict => (S::OK, "request_id_conflict", false),
            Self::ContinuationUnknown => (S::OK, "continuation_not_found", false),
            Self::Idle => (S::OK, "no_active_run", false),
            Self::QuestionUnknown => (S::OK, "approval_not_found", false),
            Self::AnswerUnfit { .. } => (S::OK, "invalid_request", false),
            Self::Unsupported { .. } => (S::OK, "unsupported_content", false),
            Self::Busy | Self::Driven | Self::InUse => (S::OK, "engine_busy", true),
            Self::TooMany => (S::TOO_MANY_REQUESTS, "too_many_requests", true),
            Self::Ending | Self::Unavailable => (S::OK, "engine_unavailable", true),
            Self::Failed { .. } => (S::OK, "engine_error", false),
            Self::Cancelled => (S::OK, "run_cancelled", false),
            Self::Interrupted => (S::OK, "run_interrupted", false),
        }
    }

    /// Returns the HTTP status.
    pub(crate) fn status(&self) -> StatusCode {
        self.row().0
    }

    /// Returns the code, for programs.
    pub(crate) fn code(&self) -> &'static str {
        self.row().1
    }

    /// Returns whether the same request may succeed later.
    pub(crate) fn is_retryable(&self) -> bool {
        self.row().2
    }

    /// Returns details for programs.
    pub(crate) fn details(&self) -> Option<Map<String, Value>> {
        let (name, value) = if let Self::Invalid { field, .. } = self {
            ("field", json!(field))
        } else if let Self::TooLarge { limit } = self {
            ("limit_bytes", json!(limit))
        } else {
            return None;
        };
        Some(Map::from_iter([(name.to_owned(), value)]))
    }
}

/// Returns the row for a request that was rejected early; only its status is known.
fn refused_row(status: StatusCode) -> ErrorRow {
    let (code, retryable) = match status {
        StatusCode::UNAUTHORIZED => ("unauthorized", false),
        StatusCode::FORBIDDEN => ("forbidden", false),
        StatusCode::NOT_FOUND => ("not_found", false),
        StatusCode::METHOD_NOT_ALLOWED => ("method_not_allowed", false),
        StatusCode::REQUEST_TIMEOUT => ("request_timeout", true),
        StatusCode::PAYLOAD_TOO_LARGE => ("request_too_large", false),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => ("unsupported_media_type", false),
        StatusCode::MISDIRECTED_REQUEST => ("misdirected_request", false),
        StatusCode::TOO_MANY_REQUESTS => ("too_many_requests", true),
        StatusCode::SERVICE_UNAVAILABLE => ("engine_unavailable", true),
        status if status.is_server_error() => ("engine_error", false),
        _ => ("invalid_request", false),
    };
    (status, code, retryable)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns every error with the name of its fixture and when it occurs.
    pub(crate) fn every_error() -> Vec<(&'static str, OpenHarnessError, &'static str)> {
        let refused = |status: StatusCode, words: &str| OpenHarnessError::Refused {
            status,
            words: words.to_owned(),
        };
        let problem = |text: &str| text.to_owned();
        vec![
            (
                "not-json",
                OpenHarnessError::NotJson,
                "the body is not JSON, or is nested too deeply",
            ),
            (
                "invalid",
                OpenHarnessError::Invalid {
                    field: "request.context.attachments[0].uri".to_owned(),
                    problem: "contains the content; send an address to load it from",
                },
                "a field is missing or wrong; `details.field` names it",
            ),
            (
                "version",
                OpenHarnessError::Version,
                "`protocol_version` has another major version",
            ),
            (
                "too-large",
                OpenHarnessError::TooLarge { limit: 1_048_576 },
                "the body is too long; `details.limit_bytes` is the limit",
            ),
            ("method", OpenHarnessError::Method, "not a POST"),
            (
                "media-type",
                OpenHarnessError::MediaType,
                "the content type is not JSON",
            ),
            (
                "slow",
                OpenHarnessError::Slow,
                "the body did not arrive in time",
            ),
            (
                "unauthorized",
                refused(StatusCode::UNAUTHORIZED, "The token is missing."),
                "the credential is missing or unknown",
            ),
            (
                "forbidden",
                refused(StatusCode::FORBIDDEN, "This origin is not allowed."),
                "the origin of the request is not allowed",
            ),
            (
                "refused-busy",
                refused(StatusCode::SERVICE_UNAVAILABLE, "Too many connections."),
                "the server accepts no requests now",
            ),
            (
                "request-id-conflict",
                OpenHarnessError::RequestIdConflict,
                "the `request_id` was used for another request",
            ),
            (
                "continuation",
                OpenHarnessError::ContinuationUnknown,
                "this tenant never received the continuation",
            ),
            (
                "idle",
                OpenHarnessError::Idle,
                "nothing runs in the session that was to be cancelled",
            ),
            (
                "question",
                OpenHarnessError::QuestionUnknown,
                "the question is not open: its id is wrong, or another client answered first",
            ),
            (
                "answer",
                OpenHarnessError::AnswerUnfit {
                    problem: problem("the answer must be one of 8080, 9090"),
                },
                "a decision or an answer does not fit its question",
            ),
            (
                "unsupported",
                OpenHarnessError::Unsupported {
                    problem: problem("this agent does not take resource_link blocks"),
                },
                "the agent does not accept some of the content",
            ),
            (
                "busy",
                OpenHarnessError::Busy,
                "the queue of this session is full",
            ),
            (
                "driven",
                OpenHarnessError::Driven,
                "another client has taken the session over",
            ),
            (
                "in-use",
                OpenHarnessError::InUse,
                "another process has the session open",
            ),
            (
                "too-many",
                OpenHarnessError::TooMany,
                "too many requests are in progress, of this tenant or of all",
            ),
            (
                "ending",
                OpenHarnessError::Ending,
                "the engine is shutting down",
            ),
            (
                "unavailable",
                OpenHarnessError::Unavailable,
                "the journal cannot be read or written",
            ),
            (
                "failed",
                OpenHarnessError::Failed {
                    message: problem("the model could not be reached"),
                },
                "the agent failed; the message is its own",
            ),
            (
                "cancelled",
                OpenHarnessError::Cancelled,
                "a client or the shutdown of the server cancelled the run",
            ),
            (
                "interrupted",
                OpenHarnessError::Interrupted,
                "the engine stopped in the middle of the run",
            ),
        ]
    }

    /// The page `docs/openharness.md` has the same table.
    #[test]
    fn docs_page_has_a_row_for_every_error() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openharness.md");
        let page = std::fs::read_to_string(page).unwrap();
        for (_, fault, when) in every_error() {
            let (code, status) = (fault.code(), fault.status().as_u16());
            let retryable = if fault.is_retryable() { "yes" } else { "no" };
            let row = format!("| `{code}` | {status} | {retryable} | {when} |");
            assert!(
                page.contains(&row),
                "docs/openharness.md lacks the row\n{row}"
            );
        }
    }
}
