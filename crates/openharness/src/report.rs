//! The report of a run: a fold over the events of its turn, from the Shell's position on. Pure.

use std::sync::Arc;

use harn_model::{
    Artifact, HitlRequest, PermissionAsked, Plan, StopReason, Timestamp, ToolCallId,
    ToolCallStatus, ToolKind,
};
use serde::Serialize;

use crate::{JsonSchema, continuation::RunCursor};

/// The state of a run, and what happened since a position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunReport {
    /// The run, and the last event that this report covers.
    pub(crate) place: RunCursor,
    pub(crate) state: RunPhase,
    /// When the run began, and when its last event happened.
    pub(crate) began_at: Timestamp,
    pub(crate) until: Timestamp,
    /// The agent's messages, one for each step.
    pub(crate) messages: Vec<String>,
    /// The tool calls of the engine; the Shell must not run them.
    pub(crate) calls: Vec<CallSummary>,
    pub(crate) artifacts: Vec<Artifact>,
    pub(crate) plan: Option<Plan>,
    /// The permission requests that wait for a decision.
    pub(crate) asks: Vec<PermissionAsked>,
    pub(crate) questions: Vec<Arc<HitlRequest>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RunPhase {
    /// The run continues without any action of a person.
    Running,
    /// It waits for a decision.
    Parked,
    Ended(StopReason),
    Failed(String),
    /// The process ended before the run did.
    Interrupted,
}

/// A tool call that the engine made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "CallSummary", deny_unknown_fields)]
pub(crate) struct CallSummary {
    /// The id of the call.
    #[schemars(with = "String")]
    pub(crate) id: ToolCallId,
    /// The name of the tool.
    pub(crate) tool: String,
    /// The title to show to a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// The kind of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<ToolKind>,
    /// The status of the call.
    pub(crate) status: ToolCallStatus,
    /// The error of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}
