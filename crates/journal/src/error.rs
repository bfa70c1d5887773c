//! What can go wrong with a journal, said so that a person can act on it.

use std::{io, path::PathBuf};

use harn_model::SessionId;

/// A failure of the journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// No such session.
    #[error("there is no session {0}")]
    NotFound(SessionId),
    /// The id cannot name a folder of ours.
    #[error(
        "the session id is not valid: it must be 1 to 128 letters, digits, '-' or '_', starting with a letter or digit"
    )]
    InvalidId,
    /// A session of that id exists already.
    #[error("session {0} exists already")]
    Exists(SessionId),
    /// Another process has it open.
    #[error("session {0} is open in another process; close it there first")]
    Locked(SessionId),
    /// A line other than a torn last one cannot be read.
    #[error("{}:{line}: the journal is damaged: {reason}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// The disk refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}
