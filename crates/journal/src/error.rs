//! The errors of a journal, with messages that a person can act on.

use std::{io, path::PathBuf};

use harn_model::SessionId;

/// A failure of the journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// No session has this id.
    #[error("unknown session {0}")]
    NotFound(SessionId),
    /// The id cannot be the name of a session folder.
    #[error(
        "the session id is not valid: it must be 1 to 128 letters, digits, '-' or '_', starting with a letter or digit"
    )]
    InvalidId,
    /// A session with this id exists already.
    #[error("session {0} exists already")]
    Exists(SessionId),
    /// Another process has the session open.
    #[error("session {0} is open in another process; close it there first")]
    Locked(SessionId),
    /// A line cannot be read, and it is not a partial last line.
    #[error("{}:{line}: the journal is damaged: {reason}", path.display())]
    Corrupt {
        /// The path of the file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The problem with it.
        reason: String,
    },
    /// A file operation failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}
