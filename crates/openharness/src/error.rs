//! Why a request is not answered with what it asked for: a table from what went wrong to its status, its code
//! and whether asking again helps. Nothing of the request is repeated.

use axum::http::StatusCode;

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
}
