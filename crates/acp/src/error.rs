//! From our errors to JSON-RPC's: one table, with a word a program can act on in `data.reason`.

use agent_client_protocol::Error;
use harn_model::SessionId;
use harn_runtime::{HitlError, JournalError, PromptError, SessionError, SettingError};
use serde::Serialize;

/// A turn that failed.
const EXECUTION_FAILED: i32 = -32000;
/// ACP's "resource not found".
const NOT_FOUND: i32 = -32002;
const INVALID_PARAMS: i32 = -32602;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
}

fn error(code: i32, message: impl std::fmt::Display, data: &Data<'_>) -> Error {
    let error = Error::new(code, message.to_string());
    match serde_json::to_value(data) {
        Ok(data) => error.data(data),
        Err(_) => error,
    }
}

fn simple(code: i32, message: impl std::fmt::Display, reason: &str) -> Error {
    let data = Data {
        reason,
        session_id: None,
        cwd: None,
    };
    error(code, message, &data)
}

/// A session that could not be had; `id` is what was asked for.
pub(crate) fn session_of(id: &SessionId, e: &SessionError) -> Error {
    let mut error = session(e);
    if let Some(serde_json::Value::Object(data)) = &mut error.data {
        data.entry("sessionId")
            .or_insert_with(|| id.as_str().into());
    }
    error
}

pub(crate) fn session(e: &SessionError) -> Error {
    let (code, reason) = match e {
        SessionError::NotFound(_) => (NOT_FOUND, "unknown_session"),
        SessionError::WrongCwd { .. } => (INVALID_PARAMS, "wrong_cwd"),
        SessionError::BadCwd => (INVALID_PARAMS, "bad_cwd"),
        SessionError::BadCursor => (INVALID_PARAMS, "bad_cursor"),
        SessionError::ShuttingDown => (EXECUTION_FAILED, "shutting_down"),
        SessionError::Journal(journal) => match journal {
            JournalError::NotFound(_) | JournalError::InvalidId => (NOT_FOUND, "unknown_session"),
            JournalError::Exists(_) => (EXECUTION_FAILED, "session_exists"),
            JournalError::Locked(_) => (EXECUTION_FAILED, "session_locked"),
            JournalError::Corrupt { .. } => (EXECUTION_FAILED, "session_corrupt"),
            JournalError::Io { .. } => (EXECUTION_FAILED, "journal_failed"),
        },
    };
    let (session_id, cwd) = match e {
        SessionError::NotFound(id) => (Some(id.as_str()), None),
        SessionError::WrongCwd { id, expected } => {
            (Some(id.as_str()), Some(expected.display().to_string()))
        }
        SessionError::Journal(JournalError::Locked(id) | JournalError::Exists(id)) => {
            (Some(id.as_str()), None)
        }
        SessionError::BadCwd
        | SessionError::BadCursor
        | SessionError::ShuttingDown
        | SessionError::Journal(_) => (None, None),
    };
    let data = Data {
        reason,
        session_id,
        cwd,
    };
    error(code, e, &data)
}

/// A session that is not open on this connection.
pub(crate) fn unknown_session(id: &str) -> Error {
    let data = Data {
        reason: "unknown_session",
        session_id: Some(id),
        cwd: None,
    };
    let message = format!("session {id} is not open here; create, load or resume it first");
    error(NOT_FOUND, message, &data)
}

pub(crate) fn prompt(e: &PromptError) -> Error {
    match e {
        PromptError::Empty => simple(INVALID_PARAMS, e, "empty_prompt"),
        PromptError::Unsupported { .. } => simple(INVALID_PARAMS, e, "unsupported_content"),
        PromptError::QueueFull { .. } => simple(EXECUTION_FAILED, e, "queue_full"),
        PromptError::Closed => simple(EXECUTION_FAILED, e, "session_closed"),
    }
}

pub(crate) fn setting(e: &SettingError) -> Error {
    match e {
        SettingError::UnknownMode { .. } => simple(INVALID_PARAMS, e, "unknown_mode"),
        SettingError::UnknownOption { .. } => simple(INVALID_PARAMS, e, "unknown_option"),
        SettingError::UnknownValue { .. } => simple(INVALID_PARAMS, e, "unknown_value"),
        SettingError::Closed => simple(EXECUTION_FAILED, e, "session_closed"),
    }
}

pub(crate) fn hitl(e: &HitlError) -> Error {
    match e {
        HitlError::Unknown(_) => simple(EXECUTION_FAILED, e, "unknown_request"),
        HitlError::Unfit(_) => simple(INVALID_PARAMS, e, "invalid_params"),
        HitlError::NotAReviewer { .. } => simple(INVALID_PARAMS, e, "not_a_reviewer"),
        HitlError::Twice(_) => simple(INVALID_PARAMS, e, "answered_already"),
        HitlError::Closed => simple(EXECUTION_FAILED, e, "session_closed"),
    }
}

/// The turn itself failed.
pub(crate) fn turn_failed(message: &str) -> Error {
    simple(EXECUTION_FAILED, message, "turn_failed")
}

/// The session ended under a prompt.
pub(crate) fn session_ended(end: &harn_runtime::SessionEnd) -> Error {
    match end {
        harn_runtime::SessionEnd::Closed => {
            simple(EXECUTION_FAILED, "the session is closed", "session_closed")
        }
        harn_runtime::SessionEnd::Failed(reason) => {
            let message = format!(
                "the session's journal failed: {reason}; what was shown is safe, load the session again once that is mended"
            );
            simple(EXECUTION_FAILED, message, "journal_failed")
        }
    }
}

/// Params that do not fit. serde's words name the field and what was expected, not the value of a secret.
pub(crate) fn params(method: &str, e: &serde_json::Error) -> Error {
    simple(INVALID_PARAMS, format!("{method}: {e}"), "invalid_params")
}

pub(crate) fn bad_params(message: &str) -> Error {
    simple(INVALID_PARAMS, message, "invalid_params")
}

/// No authentication method has this id.
pub(crate) fn no_auth_method() -> Error {
    simple(
        INVALID_PARAMS,
        "this agent has no authentication methods; skip authenticate",
        "unknown_auth_method",
    )
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// Code and reason of each, in one place.
    #[test]
    fn table() {
        let id = harn_model::SessionId::new("s");
        let corrupt = JournalError::Corrupt {
            path: PathBuf::from("events.jsonl"),
            line: 3,
            reason: "a gap".to_owned(),
        };
        let cases = [
            (
                session(&SessionError::NotFound(id.clone())),
                -32002,
                "unknown_session",
            ),
            (unknown_session("s"), -32002, "unknown_session"),
            (
                session(&SessionError::WrongCwd {
                    id: id.clone(),
                    expected: PathBuf::from("/w"),
                }),
                -32602,
                "wrong_cwd",
            ),
            (session(&SessionError::BadCwd), -32602, "bad_cwd"),
            (session(&SessionError::BadCursor), -32602, "bad_cursor"),
            (
                session(&SessionError::Journal(JournalError::Locked(id))),
                -32000,
                "session_locked",
            ),
            (
                session(&SessionError::Journal(corrupt)),
                -32000,
                "session_corrupt",
            ),
            (
                session(&SessionError::Journal(JournalError::InvalidId)),
                -32002,
                "unknown_session",
            ),
            (
                prompt(&PromptError::Unsupported { kind: "audio" }),
                -32602,
                "unsupported_content",
            ),
            (
                prompt(&PromptError::QueueFull { waiting: 64 }),
                -32000,
                "queue_full",
            ),
            (turn_failed("no"), -32000, "turn_failed"),
        ];
        for (error, code, reason) in cases {
            assert_eq!(i32::from(error.code), code, "{error:?}");
            let data = error.data.as_ref().and_then(|d| d.get("reason"));
            assert_eq!(data.and_then(|r| r.as_str()), Some(reason), "{error:?}");
        }
    }
}
