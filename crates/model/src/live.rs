//! Clients on a live session, as hosts receive them.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a live client did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LiveClientAction {
    /// It came.
    Attached,
    /// It took control.
    Takeover,
    /// It left.
    Detached,
    /// It is still there.
    Heartbeat,
}

/// What a live client may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LiveClientMode {
    /// Watch.
    Observer,
    /// Drive; at most one client does.
    Controller,
}

/// A client on a session. Times are Unix seconds as text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct LiveClient {
    /// The name it gave itself.
    pub client_id: String,
    /// What it may do.
    pub mode: LiveClientMode,
    /// When it came.
    pub attached_at: String,
    /// When it was last heard of.
    pub last_seen_at: String,
    /// Whether it may inject prompts.
    pub prompt_injection: bool,
    /// Whether permission requests go to it.
    pub permission_routing: bool,
    /// What it said of itself.
    pub metadata: Value,
}

/// Which client said something, as it stays with a message of the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct LiveAuthor {
    /// The name it gave itself.
    pub client_id: String,
    /// What it was then.
    pub mode: LiveClientMode,
    /// How it came to the session.
    pub source: String,
    /// What it said of itself.
    pub metadata: Value,
}

impl LiveAuthor {
    /// The client that controls the session, which alone says something to the agent.
    #[must_use]
    pub fn controller(client_id: impl Into<String>, metadata: Value) -> Self {
        Self {
            client_id: client_id.into(),
            mode: LiveClientMode::Controller,
            source: "live_session_attach".to_owned(),
            metadata,
        }
    }
}

/// A client that left, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct LiveClientLeft {
    /// The name it gave itself.
    pub client_id: String,
    /// Why: `client_detached`, `client_exit`, `heartbeat_missed`, or a word of its own.
    pub reason: String,
    /// What it said when it left.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub metadata: Value,
}

/// The clients of a session after one of them did something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct LiveClientChange {
    /// Who did it; nobody after a detach.
    pub client: Option<LiveClient>,
    /// Who controlled the session before.
    pub previous_controller_id: Option<String>,
    /// Who controls it now.
    pub active_controller_id: Option<String>,
    /// Everyone.
    pub clients: Vec<LiveClient>,
}
