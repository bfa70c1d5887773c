//! What is told of a run: a fold over the events of its turn, from where the Shell left off. Pure.

use std::sync::Arc;

use harn_model::{
    Artifact, HitlRequest, PermissionAsked, Plan, StopReason, Timestamp, ToolCallId,
    ToolCallStatus, ToolKind,
};

use crate::continuation::Place;

/// A run, as far as it has come.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    /// The run, and what of it is told with this.
    pub(crate) place: Place,
    pub(crate) state: State,
    /// When the run began, and when the last of this happened.
    pub(crate) began_at: Timestamp,
    pub(crate) until: Timestamp,
    /// What the agent said, a step each.
    pub(crate) messages: Vec<String>,
    /// What it did: told, never to be done by the Shell.
    pub(crate) calls: Vec<Call>,
    pub(crate) artifacts: Vec<Artifact>,
    pub(crate) plan: Option<Plan>,
    /// What waits for a decision.
    pub(crate) asks: Vec<PermissionAsked>,
    pub(crate) questions: Vec<Arc<HitlRequest>>,
}

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It goes on; there is more to come without anybody doing anything.
    Running,
    /// It waits for a decision.
    Parked,
    /// It is over.
    Ended(StopReason),
    /// The agent failed.
    Failed(String),
    /// The process ended before it did.
    Interrupted,
}

/// A tool call of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) id: ToolCallId,
    pub(crate) tool: String,
    pub(crate) title: Option<String>,
    pub(crate) kind: Option<ToolKind>,
    pub(crate) status: ToolCallStatus,
    pub(crate) error: Option<String>,
}
