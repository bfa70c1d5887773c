//! Where a run begins: in a new session, or in one that is stored.

use std::path::PathBuf;

use harn_model::SessionId;
use harn_policy::SessionMode;

/// The session that is prompted.
#[derive(Debug)]
pub enum Start {
    /// A new one.
    New,
    /// One that is stored.
    Stored {
        /// The session.
        id: SessionId,
        /// Its further roots.
        roots: Vec<PathBuf>,
        /// The mode that the command line asks for, instead of the one it has.
        mode: Option<SessionMode>,
    },
}
