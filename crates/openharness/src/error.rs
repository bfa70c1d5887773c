//! Why a request is not answered with what it asked for: a table from what went wrong to its status, its code
//! and whether asking again helps. Nothing of the request is repeated.

use std::borrow::Cow;

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The body is not JSON, or nests too deeply.
    NotJson,
    /// A field has no meaning, or the wrong one.
    Invalid {
        /// Where it is, such as `request.context.user_intent`.
        field: String,
        /// What would be right.
        problem: &'static str,
    },
    /// The message is of another major version.
    Version,
    /// The body is too long.
    TooLarge {
        /// What is allowed.
        limit: usize,
    },
    /// Not a POST.
    Method,
    /// Not JSON by its own word.
    MediaType,
    /// The body took too long to come.
    Slow,
    /// Refused before it got here.
    Refused {
        /// With this status.
        status: StatusCode,
        /// And these words.
        words: String,
    },
    /// The request id was used for something else.
    RequestIdConflict,
    /// The continuation is none that was handed out to this tenant.
    ContinuationUnknown,
    /// The question is none of the run, or has its answer.
    QuestionUnknown,
    /// An answer that does not fit its question.
    AnswerUnfit {
        /// What would be right.
        problem: String,
    },
    /// The agent does not take what was sent.
    Unsupported {
        /// What.
        problem: String,
    },
    /// Too much waits in this session.
    Busy,
    /// Somebody else drives this session.
    Driven,
    /// Another process has this session open.
    InUse,
    /// Too many requests are under way.
    TooMany,
    /// The process ends.
    Ending,
    /// The journal could not be read or written.
    Unavailable,
    /// The agent failed.
    Failed {
        /// What it said.
        message: String,
    },
    /// The run was cancelled.
    Cancelled,
    /// The process ended in the middle of the run.
    Interrupted,
}

impl Fault {
    /// The status of HTTP: 200 for whatever is well-formed.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::NotJson | Self::Invalid { .. } => StatusCode::BAD_REQUEST,
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::Refused { status, .. } => *status,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::Version
            | Self::RequestIdConflict
            | Self::ContinuationUnknown
            | Self::QuestionUnknown
            | Self::AnswerUnfit { .. }
            | Self::Unsupported { .. }
            | Self::Busy
            | Self::Driven
            | Self::InUse
            | Self::Ending
            | Self::Unavailable
            | Self::Failed { .. }
            | Self::Cancelled
            | Self::Interrupted => StatusCode::OK,
        }
    }

    /// Its code, for machines.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::NotJson | Self::Invalid { .. } | Self::AnswerUnfit { .. } => "invalid_request",
            Self::Version => "protocol_version_unsupported",
            Self::TooLarge { .. } => "request_too_large",
            Self::Method => "method_not_allowed",
            Self::MediaType => "unsupported_media_type",
            Self::Slow => "request_timeout",
            Self::Refused { status, .. } => refused(*status),
            Self::RequestIdConflict => "request_id_conflict",
            Self::ContinuationUnknown => "continuation_not_found",
            Self::QuestionUnknown => "approval_not_found",
            Self::Unsupported { .. } => "unsupported_content",
            Self::Busy | Self::Driven | Self::InUse => "engine_busy",
            Self::TooMany => "too_many_requests",
            Self::Ending | Self::Unavailable => "engine_unavailable",
            Self::Failed { .. } => "engine_error",
            Self::Cancelled => "run_cancelled",
            Self::Interrupted => "run_interrupted",
        }
    }

    /// Whether the same request may succeed later. A run that is over has its answer, and the same request
    /// would get the same one again.
    pub(crate) fn retryable(&self) -> bool {
        match self {
            Self::Slow
            | Self::Busy
            | Self::Driven
            | Self::InUse
            | Self::TooMany
            | Self::Ending
            | Self::Unavailable => true,
            Self::Refused { status, .. } => matches!(
                *status,
                StatusCode::REQUEST_TIMEOUT
                    | StatusCode::TOO_MANY_REQUESTS
                    | StatusCode::SERVICE_UNAVAILABLE
            ),
            Self::NotJson
            | Self::Invalid { .. }
            | Self::Version
            | Self::TooLarge { .. }
            | Self::Method
            | Self::MediaType
            | Self::RequestIdConflict
            | Self::ContinuationUnknown
            | Self::QuestionUnknown
            | Self::AnswerUnfit { .. }
            | Self::Unsupported { .. }
            | Self::Failed { .. }
            | Self::Cancelled
            | Self::Interrupted => false,
        }
    }

    /// What to tell a person.
    pub(crate) fn words(&self) -> Cow<'_, str> {
        match self {
            Self::NotJson => {
                "The body is no JSON object, or nests too deeply; send one message, encoded as \
                              UTF-8."
                    .into()
            }
            Self::Invalid { field, problem } => format!("`{field}` {problem}.").into(),
            Self::Version => {
                "This engine speaks version 1 of the protocol; send a `protocol_version` such \
                              as \"1.0.0\"."
                    .into()
            }
            Self::TooLarge { limit } => format!("The body is longer than {limit} bytes.").into(),
            Self::Method => "Requests are taken by POST.".into(),
            Self::MediaType => {
                "The body has to be JSON; send `content-type: application/json`.".into()
            }
            Self::Slow => "The body took too long to arrive.".into(),
            Self::Refused { words, .. } => words.as_str().into(),
            Self::RequestIdConflict => {
                "This `request_id` was used for another request; use a new one.".into()
            }
            Self::ContinuationUnknown => {
                "The continuation is none of yours; send `response.continuation` \
                                          back as it was handed out."
                    .into()
            }
            Self::QuestionUnknown => {
                "The run asks no such question, or it has its answer already; ask with \
                                      the continuation alone to see what is open."
                    .into()
            }
            Self::AnswerUnfit { problem } => format!("The answer does not fit: {problem}.").into(),
            Self::Unsupported { problem } => problem.as_str().into(),
            Self::Busy => "Too much waits in this session already; try again later.".into(),
            Self::Driven => "Somebody else drives this session now; try again later.".into(),
            Self::InUse => "Another process has this session open; try again later.".into(),
            Self::TooMany => "Too many requests are under way; try again later.".into(),
            Self::Ending => "The engine is about to stop; try again later.".into(),
            Self::Unavailable => "The engine cannot reach its journal; try again later.".into(),
            Self::Failed { message } => message.as_str().into(),
            Self::Cancelled => "The run was cancelled.".into(),
            Self::Interrupted => {
                "The engine stopped in the middle of the run; nothing of it was done twice. \
                                  Ask again with a new `request_id` to go on."
                    .into()
            }
        }
    }

    /// What a machine can do something with.
    pub(crate) fn details(&self) -> Option<Map<String, Value>> {
        let (name, value) = match self {
            Self::Invalid { field, .. } => ("field", json!(field)),
            Self::TooLarge { limit } => ("limit_bytes", json!(limit)),
            _ => return None,
        };
        Some(Map::from_iter([(name.to_owned(), value)]))
    }
}

/// The code of a refusal by HTTP's rules alone.
fn refused(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "unauthorized",
        StatusCode::FORBIDDEN => "forbidden",
        StatusCode::NOT_FOUND => "not_found",
        StatusCode::METHOD_NOT_ALLOWED => "method_not_allowed",
        StatusCode::REQUEST_TIMEOUT => "request_timeout",
        StatusCode::PAYLOAD_TOO_LARGE => "request_too_large",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "unsupported_media_type",
        StatusCode::MISDIRECTED_REQUEST => "misdirected_request",
        StatusCode::TOO_MANY_REQUESTS => "too_many_requests",
        StatusCode::SERVICE_UNAVAILABLE => "engine_unavailable",
        status if status.is_server_error() => "engine_error",
        _ => "invalid_request",
    }
}
