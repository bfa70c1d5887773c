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
        /// What would be right: the rest of a sentence that begins with the field.
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
    /// What was to be cancelled is over, or never was.
    Idle,
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

/// How a fault is told.
struct Row {
    status: StatusCode,
    code: &'static str,
    retryable: bool,
}

impl Fault {
    /// The table. Whatever is well-formed is answered with 200, as some Shells look no further than the status
    /// otherwise. To ask again helps where the request itself had no part in it; a run that is over has its
    /// answer, and the same request would get it once more.
    fn row(&self) -> Row {
        use StatusCode as S;
        let row = |status, code, retryable| Row {
            status,
            code,
            retryable,
        };
        match self {
            Self::NotJson | Self::Invalid { .. } => row(S::BAD_REQUEST, "invalid_request", false),
            Self::Version => row(S::OK, "protocol_version_unsupported", false),
            Self::TooLarge { .. } => row(S::PAYLOAD_TOO_LARGE, "request_too_large", false),
            Self::Method => row(S::METHOD_NOT_ALLOWED, "method_not_allowed", false),
            Self::MediaType => row(S::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", false),
            Self::Slow => row(S::REQUEST_TIMEOUT, "request_timeout", true),
            Self::Refused { status, .. } => refused(*status),
            Self::RequestIdConflict => row(S::OK, "request_id_conflict", false),
            Self::ContinuationUnknown => row(S::OK, "continuation_not_found", false),
            Self::Idle => row(S::OK, "no_active_run", false),
            Self::QuestionUnknown => row(S::OK, "approval_not_found", false),
            Self::AnswerUnfit { .. } => row(S::OK, "invalid_request", false),
            Self::Unsupported { .. } => row(S::OK, "unsupported_content", false),
            Self::Busy | Self::Driven | Self::InUse => row(S::OK, "engine_busy", true),
            Self::TooMany => row(S::TOO_MANY_REQUESTS, "too_many_requests", true),
            Self::Ending | Self::Unavailable => row(S::OK, "engine_unavailable", true),
            Self::Failed { .. } => row(S::OK, "engine_error", false),
            Self::Cancelled => row(S::OK, "run_cancelled", false),
            Self::Interrupted => row(S::OK, "run_interrupted", false),
        }
    }

    /// The status of HTTP.
    pub(crate) fn status(&self) -> StatusCode {
        self.row().status
    }

    /// Its code, for machines.
    pub(crate) fn code(&self) -> &'static str {
        self.row().code
    }

    /// Whether the same request may succeed later.
    pub(crate) fn retryable(&self) -> bool {
        self.row().retryable
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
            Self::Idle => "Nothing runs in this session; there is nothing to cancel.".into(),
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
            Self::Cancelled => {
                "The run was cancelled, by somebody or because the engine was stopped.".into()
            }
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
            Self::NotJson
            | Self::Version
            | Self::Method
            | Self::MediaType
            | Self::Slow
            | Self::Refused { .. }
            | Self::RequestIdConflict
            | Self::ContinuationUnknown
            | Self::Idle
            | Self::QuestionUnknown
            | Self::AnswerUnfit { .. }
            | Self::Unsupported { .. }
            | Self::Busy
            | Self::Driven
            | Self::InUse
            | Self::TooMany
            | Self::Ending
            | Self::Unavailable
            | Self::Failed { .. }
            | Self::Cancelled
            | Self::Interrupted => return None,
        };
        Some(Map::from_iter([(name.to_owned(), value)]))
    }
}

/// What was refused before it got here is told by its status alone.
fn refused(status: StatusCode) -> Row {
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
    Row {
        status,
        code,
        retryable,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Every fault, by the name of its fixture, with when it happens.
    pub(crate) fn every() -> Vec<(&'static str, Fault, &'static str)> {
        let refused = |status: StatusCode, words: &str| Fault::Refused {
            status,
            words: words.to_owned(),
        };
        let problem = |text: &str| text.to_owned();
        vec![
            (
                "not-json",
                Fault::NotJson,
                "the body is no JSON, or nests too deeply",
            ),
            (
                "invalid",
                Fault::Invalid {
                    field: "request.context.attachments[0].uri".to_owned(),
                    problem: "brings content along; send an address it can be had from",
                },
                "a field is missing or wrong; `details.field` names it",
            ),
            (
                "version",
                Fault::Version,
                "`protocol_version` is of another major line",
            ),
            (
                "too-large",
                Fault::TooLarge { limit: 1_048_576 },
                "the body is too long; `details.limit_bytes` is what is taken",
            ),
            ("method", Fault::Method, "not a POST"),
            (
                "media-type",
                Fault::MediaType,
                "the body says that it is not JSON",
            ),
            ("slow", Fault::Slow, "the body did not arrive in time"),
            (
                "unauthorized",
                refused(StatusCode::UNAUTHORIZED, "A token is needed."),
                "no credential, or one that is not known",
            ),
            (
                "forbidden",
                refused(StatusCode::FORBIDDEN, "This origin is not allowed."),
                "the request comes from where none is taken from",
            ),
            (
                "refused-busy",
                refused(StatusCode::SERVICE_UNAVAILABLE, "Too many connections."),
                "the server takes nothing now",
            ),
            (
                "request-id-conflict",
                Fault::RequestIdConflict,
                "the `request_id` was used for other words",
            ),
            (
                "continuation",
                Fault::ContinuationUnknown,
                "the continuation is none that was handed out to this tenant",
            ),
            (
                "idle",
                Fault::Idle,
                "nothing runs in the session that was to be cancelled",
            ),
            (
                "question",
                Fault::QuestionUnknown,
                "what is decided is not open: its id is wrong, or somebody was first",
            ),
            (
                "answer",
                Fault::AnswerUnfit {
                    problem: problem("the answer must be one of 8080, 9090"),
                },
                "a decision or an answer does not fit its question",
            ),
            (
                "unsupported",
                Fault::Unsupported {
                    problem: problem("this agent does not take resource_link blocks"),
                },
                "the agent does not take something that was sent",
            ),
            (
                "busy",
                Fault::Busy,
                "as many requests as may wait in this session already do",
            ),
            (
                "driven",
                Fault::Driven,
                "another client has taken the session over",
            ),
            (
                "in-use",
                Fault::InUse,
                "another process has the session open",
            ),
            (
                "too-many",
                Fault::TooMany,
                "too many requests of this tenant, or of all, are under way",
            ),
            ("ending", Fault::Ending, "the engine is about to stop"),
            (
                "unavailable",
                Fault::Unavailable,
                "the journal cannot be read or written",
            ),
            (
                "failed",
                Fault::Failed {
                    message: problem("the model could not be reached"),
                },
                "the agent failed; the message is its own",
            ),
            (
                "cancelled",
                Fault::Cancelled,
                "somebody cancelled the run, or the server was ended",
            ),
            (
                "interrupted",
                Fault::Interrupted,
                "the engine stopped in the middle of the run",
            ),
        ]
    }

    /// Whoever reads the page reads the table.
    #[test]
    fn the_page_has_the_table() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openharness.md");
        let page = std::fs::read_to_string(page).unwrap();
        for (_, fault, when) in every() {
            let (code, status) = (fault.code(), fault.status().as_u16());
            let retryable = if fault.retryable() { "yes" } else { "no" };
            let row = format!("| `{code}` | {status} | {retryable} | {when} |");
            assert!(
                page.contains(&row),
                "docs/openharness.md lacks the row\n{row}"
            );
        }
    }
}
