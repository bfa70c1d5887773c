//! The errors of requests, and the one table that maps them to the codes of the wire.

use harn_runtime::{JournalError, NotInControl, PromptError, SessionError, SettingError};

/// A request failed. Messages state what was wrong and what would be right, and repeat nothing of the request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ThreadsError {
    /// The line is not JSON.
    #[error("{0}")]
    Parse(&'static str),
    /// The message is not a request.
    #[error("{0}")]
    InvalidRequest(String),
    /// There is no such method.
    #[error("unknown method; known methods: {}", crate::router::METHODS.join(", "))]
    MethodNotFound,
    /// The params do not fit the method.
    #[error("{0}")]
    InvalidParams(String),
    /// The server failed.
    #[error("{0}")]
    Internal(String),
    /// There is no such thread.
    #[error("unknown threadId; thread.list returns all threads")]
    ThreadNotFound,
    /// The thread's turn has not ended.
    #[error("a turn of this thread is running; wait for its end, or cancel it with turn.cancel")]
    TurnBusy,
    /// There is no such turn.
    #[error(
        "this thread has no turn with this turnId; leave turnId out to cancel the running turn"
    )]
    TurnNotFound,
    /// No open question has this id; it may be decided already.
    #[error("no open request has this requestId; it may be decided already")]
    ApprovalNotFound,
}

impl ThreadsError {
    /// Returns the code on the wire.
    pub fn code(&self) -> i32 {
        match self {
            Self::Parse(_) => -32700,
            Self::InvalidRequest(_) => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams(_) => -32602,
            Self::Internal(_) => -32603,
            Self::ThreadNotFound => -32001,
            Self::TurnBusy => -32002,
            Self::TurnNotFound => -32003,
            Self::ApprovalNotFound => -32004,
        }
    }

    /// Returns the error for a thread that was closed while a request waited for it.
    pub(crate) fn thread_closed() -> Self {
        Self::Internal("the thread was closed; repeat the request to open it again".to_owned())
    }

    /// Returns the error for requests that arrive faster than they are executed.
    pub(crate) fn too_many_requests() -> Self {
        let why = "too many requests for this thread are pending; wait for their answers";
        Self::Internal(why.to_owned())
    }
}

impl From<SessionError> for ThreadsError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::NotFound(_) => Self::ThreadNotFound,
            SessionError::BadCwd => Self::InvalidParams(
                "directory must be the path of an existing directory".to_owned(),
            ),
            SessionError::ShuttingDown => Self::Internal("the server is shutting down".to_owned()),
            // No request here can cause these; their messages are true in any case.
            SessionError::WrongCwd { .. } | SessionError::BadCursor => {
                Self::Internal(error.to_string())
            }
            SessionError::Journal(error) => error.into(),
        }
    }
}

impl From<JournalError> for ThreadsError {
    fn from(error: JournalError) -> Self {
        match error {
            // An invalid id names no thread.
            JournalError::NotFound(_) | JournalError::InvalidId => Self::ThreadNotFound,
            JournalError::Locked(_) => Self::Internal(
                "the thread is open in another process; stop that process first".to_owned(),
            ),
            JournalError::Exists(_) => Self::Internal("the thread exists already".to_owned()),
            JournalError::Corrupt { .. } | JournalError::Io { .. } => {
                Self::Internal(error.to_string())
            }
        }
    }
}

impl From<PromptError> for ThreadsError {
    fn from(error: PromptError) -> Self {
        match error {
            PromptError::Empty => {
                Self::InvalidParams("input must have at least one part".to_owned())
            }
            PromptError::Unsupported { .. } => Self::InvalidParams(format!("input: {error}")),
            PromptError::QueueFull { .. } => Self::TurnBusy,
            PromptError::Closed => Self::thread_closed(),
        }
    }
}

impl From<NotInControl> for ThreadsError {
    fn from(error: NotInControl) -> Self {
        Self::Internal(error.to_string())
    }
}

impl From<SettingError> for ThreadsError {
    fn from(error: SettingError) -> Self {
        match error {
            SettingError::UnknownMode { known, .. } => {
                Self::InvalidParams(format!("unknown mode; known modes: {known}"))
            }
            SettingError::UnknownOption { known, .. } => {
                Self::InvalidParams(format!("unknown option; known options: {known}"))
            }
            SettingError::UnknownValue { option, known, .. } => {
                Self::InvalidParams(format!("{option} must be one of {known}"))
            }
            SettingError::Closed => Self::thread_closed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn every_error_has_its_code_and_message() {
        let io = JournalError::Io {
            path: "/state".into(),
            source: std::io::Error::other("the disk is full"),
        };
        let corrupt = JournalError::Corrupt {
            path: "/state/events.jsonl".into(),
            line: 3,
            reason: "no JSON".to_owned(),
        };
        let secret = || "secret".to_owned();
        let known = || "small, large".to_owned();
        let controller = || "editor".to_owned();
        let table: Vec<ThreadsError> = vec![
            ThreadsError::Parse("the line is not JSON"),
            ThreadsError::InvalidRequest("a request must have a method".to_owned()),
            ThreadsError::MethodNotFound,
            ThreadsError::InvalidParams("threadId must be a string".to_owned()),
            ThreadsError::TurnNotFound,
            ThreadsError::ApprovalNotFound,
            ThreadsError::thread_closed(),
            ThreadsError::too_many_requests(),
            SessionError::NotFound("secret".into()).into(),
            SessionError::BadCwd.into(),
            SessionError::BadCursor.into(),
            SessionError::ShuttingDown.into(),
            SessionError::Journal(JournalError::InvalidId).into(),
            SessionError::Journal(JournalError::Locked("secret".into())).into(),
            SessionError::Journal(JournalError::Exists("secret".into())).into(),
            SessionError::Journal(corrupt).into(),
            SessionError::Journal(io).into(),
            PromptError::Empty.into(),
            PromptError::Unsupported { kind: "image" }.into(),
            PromptError::QueueFull { waiting: 0 }.into(),
            PromptError::Closed.into(),
            NotInControl::NotController {
                controller: Some(controller()),
            }
            .into(),
            NotInControl::PromptInjectionOff {
                controller: controller(),
            }
            .into(),
            SettingError::UnknownMode {
                given: secret(),
                known: known(),
            }
            .into(),
            SettingError::UnknownOption {
                given: secret(),
                known: known(),
            }
            .into(),
            SettingError::UnknownValue {
                option: "model".to_owned(),
                given: secret(),
                known: known(),
            }
            .into(),
            SettingError::Closed.into(),
        ];
        let rows = table
            .iter()
            .map(|error| format!("{} {error}\n", error.code()));
        let rows: String = rows.collect();
        assert!(!rows.contains("secret"), "{rows}");
        expect![[r#"
            -32700 the line is not JSON
            -32600 a request must have a method
            -32601 unknown method; known methods: initialize, thread.create, thread.list, thread.get, turn.start, turn.cancel, approval.respond
            -32602 threadId must be a string
            -32003 this thread has no turn with this turnId; leave turnId out to cancel the running turn
            -32004 no open request has this requestId; it may be decided already
            -32603 the thread was closed; repeat the request to open it again
            -32603 too many requests for this thread are pending; wait for their answers
            -32001 unknown threadId; thread.list returns all threads
            -32602 directory must be the path of an existing directory
            -32603 the cursor does not belong to this listing; start again without a cursor
            -32603 the server is shutting down
            -32001 unknown threadId; thread.list returns all threads
            -32603 the thread is open in another process; stop that process first
            -32603 the thread exists already
            -32603 /state/events.jsonl:3: the journal is damaged: no JSON
            -32603 /state: the disk is full
            -32602 input must have at least one part
            -32602 input: this agent does not accept image blocks in a prompt
            -32002 a turn of this thread is running; wait for its end, or cancel it with turn.cancel
            -32603 the thread was closed; repeat the request to open it again
            -32603 only editor, which controls the session, may do this
            -32603 editor controls the session but gave up sending messages to the agent
            -32602 unknown mode; known modes: small, large
            -32602 unknown option; known options: small, large
            -32602 model must be one of small, large
            -32603 the thread was closed; repeat the request to open it again
        "#]].assert_eq(&rows);
    }
}
