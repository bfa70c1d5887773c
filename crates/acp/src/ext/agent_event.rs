//! `_harn/agentEvent`, the notification for events that are no session update: composition runs, seams,
//! tools, closing.
//!
//! One table defines the kinds that `initialize` advertises and the kinds that are written.

#![allow(
    missing_docs,
    reason = "the fields are the contract's; the model documents them"
)]

use std::borrow::Cow;

use crate::JsonSchema;
use harn_model::{
    ChildCall, ChildResult, CompositionRun, ControlKind, ControlOutcome, ControlTarget,
    LoopCheckpoint, PlanEntry, ProgressReport, Seam, StopReason, ToolsChange, TurnId, TurnOutcome,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{lend::wire_fields, tool::Executor};

/// The method name of the notification.
pub const METHOD: &str = "_harn/agentEvent";

/// The description that `initialize` advertises.
pub(crate) const DESCRIPTION: &str =
    "Agent events that are no session update; ignore unknown kinds.";

macro_rules! agent_events {
    ($($(#[$doc:meta])* $variant:ident = $name:literal { $fields:ident $($life:lifetime)? })*) => {
        /// The kinds of the notification.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
        #[schemars(rename = "AgentEventKind")]
        pub enum AgentEventKind {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl AgentEventKind {
            /// All kinds, sorted by name.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the kind's name on the wire.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        /// The params of the notification, without `sessionId`: camelCase, not wrapped in `_meta`.
        #[derive(Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind")]
        pub enum HarnEvent<'a> {
            $($(#[$doc])* #[serde(rename = $name)] $variant($fields$(<$life>)?),)*
        }
    };
}

agent_events! {
    /// The agent waits for more to do; sent to clients that do not receive `agent/idle`.
    AgentIdle = "agent_idle" { IdleFields }
    /// A child call of a composition started.
    CompositionChildCall = "composition_child_call" { ChildCallFields 'a }
    /// A child call of a composition ended.
    CompositionChildResult = "composition_child_result" { ChildResultFields 'a }
    /// A composition ended with an error.
    CompositionError = "composition_error" { RunFields 'a }
    /// A composition ended without an error.
    CompositionFinish = "composition_finish" { RunFields 'a }
    /// A composition started.
    CompositionStart = "composition_start" { RunFields 'a }
    /// The outcome of a control request, such as an inject or a cancel.
    ControlOutcome = "control_outcome" { ControlFields 'a }
    /// A daemon agent woke repeatedly and did nothing; its turn ends.
    DaemonWatchdogTripped = "daemon_watchdog_tripped" { WatchdogFields }
    /// The agent passed a seam.
    LoopCheckpoint = "loop_checkpoint" { CheckpointFields }
    /// A progress report with neither entries nor a message.
    ProgressReported = "progress_reported" { ReportFields 'a }
    /// The session was closed on request.
    SessionClosed = "session_closed" { ClosedFields 'a }
    /// The tools that the agent may call changed.
    ToolsChanged = "tools_changed" { ToolsFields 'a }
    /// A turn ended; sent to clients that receive event ids.
    TurnEnded = "turn_ended" { TurnEndedFields 'a }
    /// A turn began; sent to clients that receive event ids.
    TurnStarted = "turn_started" { TurnStartedFields 'a }
}

/// An idle agent's iteration and the time until the next notification.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdleFields {
    /// The number of iterations that the turn has started.
    pub iteration: u64,
    /// Milliseconds until the next notification, unless the agent wakes.
    pub backoff_ms: u64,
}

wire_fields! {
    /// The common fields of start, finish and error; absent values are null.
    pub RunFields from CompositionRun {
        run_id: Cow<'a, str>,
        language: Cow<'a, str>,
        #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
        snippet_hash: Cow<'a, str>,
        #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
        binding_manifest_hash: Cow<'a, str>,
        requested_side_effect_ceiling: harn_model::SideEffectLevel,
        stdout: Option<Cow<'a, str>>,
        stderr: Option<Cow<'a, str>>,
        artifacts: Cow<'a, [Value]>,
        result: Option<Cow<'a, Value>>,
        failure_category: Option<harn_model::FailureCategory>,
        error: Option<Cow<'a, str>>,
        duration_ms: Option<u64>,
        metadata: Cow<'a, Map<String, Value>>,
    }

    /// The start of a child call; its annotations keep snake_case.
    pub ChildCallFields from ChildCall {
        run_id: Cow<'a, str>,
        tool_call_id: Cow<'a, str>,
        tool_name: Cow<'a, str>,
        operation_index: u64,
        annotations: Option<Cow<'a, harn_model::ToolAnnotations>>,
        requested_side_effect_level: harn_model::SideEffectLevel,
        policy_context: Cow<'a, Map<String, Value>>,
        raw_input: Cow<'a, Value>,
    }

    /// The end of a child call.
    pub ChildResultFields from ChildResult {
        run_id: Cow<'a, str>,
        tool_call_id: Cow<'a, str>,
        tool_name: Cow<'a, str>,
        operation_index: u64,
        status: harn_model::ToolCallStatus,
        raw_output: Option<Cow<'a, Value>>,
        error: Option<Cow<'a, str>>,
        error_category: Option<harn_model::ErrorCategory>,
        executor: Option<Executor<'a>>,
        duration_ms: Option<u64>,
        execution_duration_ms: Option<u64>,
    }

    /// The sender of a control request.
    pub ActorFields from harn_model::Actor {
        client_id: Cow<'a, str>,
        role: Cow<'a, str>,
        source: Cow<'a, str>,
    }

    /// A progress report as the agent made it. A report with a message or entries becomes a session update
    /// instead.
    pub ReportFields from ProgressReport {
        message: Option<Cow<'a, str>>,
        entries: Cow<'a, [PlanEntry]>,
        replace: bool,
        metadata: Cow<'a, Value>,
    }

    /// The changes of a tool catalogue; names are sorted.
    pub ToolsFields from ToolsChange {
        /// The tools that were added.
        added: Cow<'a, [String]>,
        /// The tools that were removed.
        removed: Cow<'a, [String]>,
        /// The tools whose description changed.
        changed: Cow<'a, [String]>,
        /// The number of tools after the change.
        total: u64,
    }

    /// A turn and the prompt that began it.
    pub TurnStartedFields {
        turn_id: Cow<'a, str>,
        message_id: Cow<'a, str>,
    }

    /// A turn and how it ended; the values equal those in the answer to its prompt.
    pub TurnEndedFields {
        turn_id: Cow<'a, str>,
        /// The agent's reason to stop; absent if the turn failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        stop_reason: Option<StopReason>,
        /// The error message; only of a failed turn.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<Cow<'a, str>>,
    }

    /// A control request and its outcome.
    pub ControlFields {
        control_id: Cow<'a, str>,
        method: Cow<'static, str>,
        outcome: Cow<'static, str>,
        status: harn_model::ControlStatus,
        /// The outcome again, if it is a rejection.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<Cow<'static, str>>,
        actor: ActorFields<'a>,
        target: TargetFields<'a>,
    }

    /// The target of a control request.
    pub TargetFields from ControlTarget {
        session_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reminder_id: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        turn_id: Option<Cow<'a, str>>,
    }

    /// The reason why a session was closed, and its status after that.
    pub ClosedFields {
        reason: Cow<'a, str>,
        status: Cow<'a, str>,
    }
}

impl<'a> TurnEndedFields<'a> {
    pub(crate) fn new(turn: &'a TurnId, outcome: &'a TurnOutcome) -> Self {
        let (stop_reason, error) = match outcome {
            TurnOutcome::Stopped { stop_reason } => (Some(*stop_reason), None),
            TurnOutcome::Failed { message } => (None, Some(message.into())),
        };
        Self {
            turn_id: turn.as_str().into(),
            stop_reason,
            error,
        }
    }
}

/// The agent's position in its loop.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointFields {
    pub iteration: u64,
    /// The contract calls this `kind`; that name is already the event's kind.
    pub seam: Seam,
    pub delivered: u64,
    /// Whether the agent skipped tools that waited to run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(!default)]
    pub dispatch_skipped: bool,
    /// The reason why the tools were skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip_reason: Option<Cow<'static, str>>,
}

impl From<&LoopCheckpoint> for CheckpointFields {
    fn from(checkpoint: &LoopCheckpoint) -> Self {
        Self {
            iteration: checkpoint.iteration,
            seam: checkpoint.seam,
            delivered: checkpoint.delivered,
            dispatch_skipped: checkpoint.dispatch_skipped,
            skip_reason: checkpoint
                .dispatch_skipped
                .then_some("interrupt_immediate".into()),
        }
    }
}

impl<'a> From<&'a ControlOutcome> for ControlFields<'a> {
    fn from(outcome: &'a ControlOutcome) -> Self {
        let status = outcome.status();
        let word = outcome.result.as_str();
        Self {
            control_id: (&outcome.control_id).into(),
            method: method(outcome.control).into(),
            outcome: word.into(),
            status,
            reason: (status == harn_model::ControlStatus::Rejected).then_some(word.into()),
            actor: (&outcome.actor).into(),
            target: (&outcome.target).into(),
        }
    }
}

/// Returns the ACP method of a control request.
fn method(control: ControlKind) -> &'static str {
    match control {
        ControlKind::Inject => "session/inject",
        ControlKind::RevokeInject => "session/revoke_inject",
        ControlKind::ReplaceInject => "session/replace_inject",
        ControlKind::Remind => "session/remind",
        ControlKind::RevokeReminder => "session/revoke_reminder",
        ControlKind::Cancel => "session/cancel",
    }
}

/// How often and how long a daemon agent woke and did nothing.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WatchdogFields {
    pub attempts: u64,
    pub elapsed_ms: u64,
}

impl<'a> ClosedFields<'a> {
    pub(crate) fn new(reason: &'a str, status: &'a str) -> Self {
        Self {
            reason: reason.into(),
            status: status.into(),
        }
    }
}
