//! The document of all sessions.

use crate::JsonSchema;
use harn_model::Timestamp;
use serde::Serialize;

use super::DocumentOperation;

/// What a client of that document is sent.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ListingMessage<'a> {
    /// The whole document; takes the place of whatever the client had.
    State {
        /// The document.
        state: &'a SessionListing,
    },
    /// What changed since the last frame; all of it, or none where an operation does not fit.
    Delta {
        /// To be applied in order.
        operations: &'a [DocumentOperation],
    },
}

/// The sessions there are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Listing")]
pub struct SessionListing {
    /// The most recently changed first.
    pub sessions: Vec<SessionRow>,
    /// The directory of a new session whose client names none.
    pub cwd: String,
    /// Prompts that show what the agent does.
    pub examples: Vec<String>,
}

/// A session, as whoever looks for one sees it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRow {
    /// Its id.
    pub id: String,
    /// Its title, once it has one.
    pub title: Option<String>,
    /// Where it works.
    pub cwd: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When something last happened there.
    pub updated_at: Timestamp,
    /// Whether somebody is at work there.
    pub status: SessionStatus,
    /// Who controls it, if anybody does.
    pub controller: Option<String>,
    /// How many clients are there under a name.
    pub clients: usize,
}

/// Whether somebody is at work in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// The agent is.
    Running,
    /// The agent waits for somebody's decision or answer.
    Waiting,
    /// Nobody is.
    Idle,
    /// Nobody is, and the last run failed. The session may be open or not.
    Error,
    /// It is not open, and its last run did not fail.
    Closed,
}
