//! What a client of a session may want, and what is told of it.

use std::time::Duration;

use harn_model::{AgentEvent, LiveClientAction, LiveClientChange, LiveClientLeft, LiveClientMode};
use serde_json::Value;

use super::Roster;

/// What happens where somebody else is in control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlPreemption {
    /// It is refused.
    IfFree,
    /// It is refused; but a client of this name that is there over another connection is the same, and goes on
    /// as what it is.
    Again,
    /// They are displaced.
    IfNeeded,
    /// They are displaced; that control is taken is the whole point, whether anybody had it or not.
    Outright,
}

/// A client that wants to be on a session.
#[derive(Clone, Debug, PartialEq)]
pub struct AttachClient {
    /// The name it gives itself.
    pub client_id: String,
    /// What it wants to be.
    pub mode: LiveClientMode,
    /// What happens where somebody else is in control.
    pub taking: ControlPreemption,
    /// Whether it may say something to the agent; in control it may unless it says otherwise.
    pub prompt_injection: Option<bool>,
    /// Whether questions go to it; in control they do unless it says otherwise.
    pub permission_routing: Option<bool>,
    /// How often it promises to be heard of.
    pub heartbeat: Option<Duration>,
    /// What it says of itself; what it said before stays where it says nothing.
    pub metadata: Option<Value>,
}

impl AttachClient {
    /// A client that only watches.
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

    /// A client that drives, if nobody else does.
    pub fn controller(client_id: impl Into<String>) -> Self {
        Self {
            mode: LiveClientMode::Controller,
            ..Self::observer(client_id)
        }
    }

    /// A client that drives from now on, whoever did.
    pub fn takeover(client_id: impl Into<String>) -> Self {
        Self {
            taking: ControlPreemption::Outright,
            ..Self::controller(client_id)
        }
    }
}

/// Why a client left whose connection ended, as the runtime and brokers report it.
pub(super) const CLIENT_EXIT: &str = "client_exit";

/// A client that leaves without a word, and why.
pub(super) fn left_silently(client_id: String, reason: &str) -> LiveClientLeft {
    LiveClientLeft {
        client_id,
        reason: reason.to_owned(),
        metadata: Value::Null,
    }
}

/// What a client did, and who is there after it.
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
    /// What there is to tell where control has passed since it was last told, without a client that did it: a
    /// connection that opened the session took it or left. Where nobody is there under a name, nobody is told.
    pub(crate) fn untold(&self, told: Option<&str>) -> Option<RosterChange> {
        let now = self.controller_id();
        if self.rows.is_empty() || now.as_deref() == told {
            return None;
        }
        let action = match now {
            Some(_) => LiveClientAction::Takeover,
            None => LiveClientAction::Detached,
        };
        Some(self.told(action, None, told.map(str::to_owned), None))
    }

    /// What is told after a change. Who was in control before it is only told where it is another now.
    pub(super) fn told(
        &self,
        action: LiveClientAction,
        client: Option<&str>,
        before: Option<String>,
        left: Option<Box<LiveClientLeft>>,
    ) -> RosterChange {
        let now = self.controller_id();
        let client = client.and_then(|id| self.row(id));
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
