//! A session in a listing.

use std::path::PathBuf;

use harn_model::Timestamp;

/// A session as a server lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSession {
    /// The session.
    pub id: String,
    /// Its title; empty where it has none.
    pub title: String,
    /// The directory it works in.
    pub cwd: PathBuf,
    /// When it last changed.
    pub updated: Timestamp,
    /// Whether a server has it open.
    pub live: bool,
    /// Whether a turn runs.
    pub working: bool,
    /// The client that controls it.
    pub controller: Option<String>,
    /// Since when that client does.
    pub since: Option<Timestamp>,
}
