//! The clients of a live session, as hosts receive them.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An action of a live client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LiveClientAction {
    /// It attached to the session.
    Attached,
    /// It became the controller in place of another client.
    Takeover,
    /// It left the session.
    Detached,
    /// It sent a heartbeat.
    Heartbeat,
}

/// The rights of a live client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LiveClientMode {
    /// It only receives events.
    Observer,
    /// It controls the session; at most one client does.
    Controller,
}

/// A client of a session. Times are Unix seconds as text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct LiveClient {
    /// The name it gave itself.
    pub client_id: String,
    /// Its rights.
    pub mode: LiveClientMode,
    /// When it attached.
    pub attached_at: String,
    /// When it last sent something.
    pub last_seen_at: String,
    /// Whether it may inject prompts.
    pub prompt_injection: bool,
    /// Whether it receives permission requests.
    pub permission_routing: bool,
    /// Its own metadata.
    pub metadata: Value,
}

/// The client that sent a message, stored with the message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct LiveAuthor {
    /// The name it gave itself.
    pub client_id: String,
    /// Its rights at that time.
    pub mode: LiveClientMode,
    /// How it joined the session.
    pub source: String,
    /// Its own metadata.
    pub metadata: Value,
}

impl LiveAuthor {
    /// Builds the author record of the controller, the only client that sends messages to the agent.
    pub fn controller(client_id: impl Into<String>, metadata: Value) -> Self {
        Self {
            client_id: client_id.into(),
            mode: LiveClientMode::Controller,
            source: "live_session_attach".to_owned(),
            metadata,
        }
    }
}

/// A client that left, and the reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct LiveClientLeft {
    /// The name it gave itself.
    pub client_id: String,
    /// The reason: `client_detached`, `client_exit`, `heartbeat_missed`, or the client's own word.
    pub reason: String,
    /// The metadata it sent when it left.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub metadata: Value,
}

/// The clients of a session after an action of one of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct LiveClientChange {
    /// The client that acted; none after a detach.
    pub client: Option<LiveClient>,
    /// The previous controller of the session.
    pub previous_controller_id: Option<String>,
    /// The current controller of the session.
    pub active_controller_id: Option<String>,
    /// All clients of the session.
    pub clients: Vec<LiveClient>,
}
