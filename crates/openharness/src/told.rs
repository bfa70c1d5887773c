//! What is told of a run: a fold over the events of its turn, from where the Shell left off. Pure.

use std::sync::Arc;

use harn_model::{
    Artifact, HitlRequest, PermissionAsked, Plan, StopReason, Timestamp, ToolCallId,
    ToolCallStatus, ToolKind,
};
use serde::Serialize;

use crate::{JsonSchema, continuation::RunCursor};

/// A run, as far as it has come.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunReport {
    /// The run, and what of it is told with this.
    pub(crate) place: RunCursor,
    pub(crate) state: RunPhase,
    /// When the run began, and when the last of this happened.
    pub(crate) began_at: Timestamp,
    pub(crate) until: Timestamp,
    /// What the agent said, a step each.
    pub(crate) messages: Vec<String>,
    /// What it did: told, never to be done by the Shell.
    pub(crate) calls: Vec<CallSummary>,
    pub(crate) artifacts: Vec<Artifact>,
    pub(crate) plan: Option<Plan>,
    /// What waits for a decision.
    pub(crate) asks: Vec<PermissionAsked>,
    pub(crate) questions: Vec<Arc<HitlRequest>>,
}

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RunPhase {
    /// It goes on; there is more to come without anybody doing anything.
    Running,
    /// It waits for a decision.
    Parked,
    Ended(StopReason),
    Failed(String),
    /// The process ended before it did.
    Interrupted,
}

/// A tool call that the engine made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "CallSummary", deny_unknown_fields)]
pub(crate) struct CallSummary {
    /// Its id.
    #[schemars(with = "String")]
    pub(crate) id: ToolCallId,
    /// The tool.
    pub(crate) tool: String,
    /// What to show a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// What sort of tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<ToolKind>,
    /// Where it stands.
    pub(crate) status: ToolCallStatus,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}
