//! The document of all sessions.

use crate::JsonSchema;
use harn_model::Timestamp;
use serde::Serialize;

use super::DocumentOperation;

/// A message to a client of this document.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ListingMessage<'a> {
    /// The whole document; it replaces the client's copy.
    State {
        /// The document.
        state: &'a SessionListing,
    },
    /// The changes since the last message; to be applied all, or not at all if one of them does not fit.
    Delta {
        /// The operations, to be applied in order.
        operations: &'a [DocumentOperation],
    },
}

/// The list of all sessions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Listing")]
pub struct SessionListing {
    /// The sessions, the most recently changed first.
    pub sessions: Vec<SessionRow>,
    /// The directory of a new session whose client names none.
    pub cwd: String,
    /// Example prompts that show what the agent does.
    pub examples: Vec<String>,
}

/// A session in the list.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRow {
    /// Its id.
    pub id: String,
    /// Its title, once it has one.
    pub title: Option<String>,
    /// Its working directory.
    pub cwd: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its last event happened.
    pub updated_at: Timestamp,
    /// Its state.
    pub status: SessionStatus,
    /// The name of the controller, if there is one.
    pub controller: Option<String>,
    /// How many connected clients have a name.
    pub clients: usize,
}

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// A turn is running.
    Running,
    /// The agent waits for a decision or an answer.
    Waiting,
    /// The session is open, and no turn is running.
    Idle,
    /// No turn is running, and the last one failed. The session may be open or not.
    Error,
    /// The session is not open, and its last turn did not fail.
    Closed,
}
