//! A session in a list of sessions.

use std::path::PathBuf;

use harn_model::Timestamp;

/// A session as a server lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSession {
    /// The session's id.
    pub id: String,
    /// The title; empty if the session has none.
    pub title: String,
    /// The session's working directory.
    pub cwd: PathBuf,
    /// The time of the last change.
    pub updated: Timestamp,
    /// Whether a server has it open.
    pub live: bool,
    /// Whether a turn runs.
    pub working: bool,
    /// The name of the controller.
    pub controller: Option<String>,
    /// The time at which that client became the controller.
    pub since: Option<Timestamp>,
}
