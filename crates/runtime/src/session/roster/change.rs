//! A client's attach request, and the published changes of the roster.

use std::time::Duration;

use harn_model::{AgentEvent, LiveClientAction, LiveClientChange, LiveClientLeft, LiveClientMode};
use serde_json::Value;

use super::Roster;

/// What an attach does if another client has control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlPreemption {
    /// The attach is refused.
    IfFree,
    /// The attach is refused; but a client of this name on another connection is the same client and keeps its mode.
    Again,
    /// The other client loses control.
    IfNeeded,
    /// The other client loses control; counts as a takeover even if control was free.
    Outright,
}

/// A request to attach a client to a session.
#[derive(Clone, Debug, PartialEq)]
pub struct AttachClient {
    /// The name that the client chooses.
    pub client_id: String,
    /// The requested mode.
    pub mode: LiveClientMode,
    /// What to do if another client has control.
    pub taking: ControlPreemption,
    /// Whether it may send messages to the agent; true by default for a controller.
    pub prompt_injection: Option<bool>,
    /// Whether it receives questions; true by default for a controller.
    pub permission_routing: Option<bool>,
    /// The interval at which it promises to send heartbeats.
    pub heartbeat: Option<Duration>,
    /// Its metadata; `None` retains the earlier one.
    pub metadata: Option<Value>,
}

impl AttachClient {
    /// Returns a client that only watches.
    pub fn observer(client_id: impl Into<String>) -> Self {
        Self {
            client_id: client_id.into(),
            mode: LiveClientMode::Observer,
            taking: ControlPreemption::IfFree,
            prompt_injection: None,
            permission_routing: None,
            heartbeat: None,
            metadata: None,
        }
    }

    /// Returns a client that takes control if it is free.
    pub fn controller(client_id: impl Into<String>) -> Self {
        Self {
            mode: LiveClientMode::Controller,
            ..Self::observer(client_id)
        }
    }

    /// Returns a client that takes control from any other client.
    pub fn takeover(client_id: impl Into<String>) -> Self {
        Self {
            taking: ControlPreemption::Outright,
            ..Self::controller(client_id)
        }
    }
}

/// The reason for the exit of a client whose connection ended, as the runtime and brokers report it.
pub(super) const CLIENT_EXIT: &str = "client_exit";

/// Returns the exit of a client that sent no metadata.
pub(super) fn silent_exit(client_id: String, reason: &str) -> LiveClientLeft {
    LiveClientLeft {
        client_id,
        reason: reason.to_owned(),
        metadata: Value::Null,
    }
}

/// The action of a client, and the clients after it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RosterChange {
    pub(crate) action: LiveClientAction,
    pub(crate) state: LiveClientChange,
    pub(crate) left: Option<Box<LiveClientLeft>>,
}

impl RosterChange {
    pub(crate) fn event(&self) -> AgentEvent {
        AgentEvent::LiveSessionClient {
            action: self.action,
            state: Box::new(self.state.clone()),
            left: self.left.clone(),
        }
    }
}

impl Roster {
    /// Returns the unpublished change of control that no named client caused: a connection that opened the
    /// session took control or left. Returns `None` if no named client is attached.
    pub(crate) fn unpublished_change(&self, told: Option<&str>) -> Option<RosterChange> {
        let now = self.controller_id();
        if self.rows.is_empty() || now.as_deref() == told {
            return None;
        }
        let action = match now {
            Some(_) => LiveClientAction::Takeover,
            None => LiveClientAction::Detached,
        };
        Some(self.build_change(action, None, told.map(str::to_owned), None))
    }

    /// Returns the change to publish. Names the previous controller only if it differs from the current one.
    pub(super) fn build_change(
        &self,
        action: LiveClientAction,
        client: Option<&str>,
        before: Option<String>,
        left: Option<Box<LiveClientLeft>>,
    ) -> RosterChange {
        let now = self.controller_id();
        let client = client.and_then(|id| self.row_index(id));
        RosterChange {
            action,
            state: LiveClientChange {
                client: client.map(|at| self.rows[at].client.clone()),
                previous_controller_id: before.filter(|before| Some(before) != now.as_ref()),
                active_controller_id: now,
                clients: self.clients(),
            },
            left,
        }
    }
}
