//! `_harn/agentEvent`, the notification for what is no session update: composition runs, seams, tools, closing.
//!
//! One table gives the kinds that are advertised and those that are written.

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

/// The notification's method.
pub const METHOD: &str = "_harn/agentEvent";

/// What it is for, told at `initialize`.
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
            /// All of them, sorted.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The word on the wire.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        /// The params of the notification, without `sessionId`: camelCase, no `_meta` around them.
        #[derive(Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind")]
        pub enum HarnEvent<'a> {
            $($(#[$doc])* #[serde(rename = $name)] $variant($fields$(<$life>)?),)*
        }
    };
}

agent_events! {
    /// The agent waits for more to do; to clients that are not sent `agent/idle`.
    AgentIdle = "agent_idle" { IdleFields }
    /// A child of a composition begins.
    CompositionChildCall = "composition_child_call" { ChildCallFields 'a }
    /// A child of a composition ended.
    CompositionChildResult = "composition_child_result" { ChildResultFields 'a }
    /// A composition ended badly.
    CompositionError = "composition_error" { RunFields 'a }
    /// A composition ended well.
    CompositionFinish = "composition_finish" { RunFields 'a }
    /// A composition begins.
    CompositionStart = "composition_start" { RunFields 'a }
    /// Somebody wanted something of the running session.
    ControlOutcome = "control_outcome" { ControlFields 'a }
    /// An agent that stays was woken again and again and did nothing; its turn ends.
    DaemonWatchdogTripped = "daemon_watchdog_tripped" { WatchdogFields }
    /// The agent passed a seam.
    LoopCheckpoint = "loop_checkpoint" { CheckpointFields }
    /// A progress report with neither entries nor a message.
    ProgressReported = "progress_reported" { ReportFields 'a }
    /// The session was closed on request.
    SessionClosed = "session_closed" { ClosedFields 'a }
    /// The tools that the agent may call are others now.
    ToolsChanged = "tools_changed" { ToolsFields 'a }
    /// A turn ended; to clients that have event ids.
    TurnEnded = "turn_ended" { TurnEndedFields 'a }
    /// A turn began; to clients that have event ids.
    TurnStarted = "turn_started" { TurnStartedFields 'a }
}

/// How long an agent waits until it is told again.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdleFields {
    /// How often its turn had started an iteration.
    pub iteration: u64,
    /// When the next one comes, in milliseconds, unless the agent wakes.
    pub backoff_ms: u64,
}

wire_fields! {
    /// One envelope for start, finish and error; absent parts are null.
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

    /// A child begins; its annotations keep snake_case.
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

    /// A child ended.
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

    /// Who sent a control.
    pub ActorFields from harn_model::Actor {
        client_id: Cow<'a, str>,
        role: Cow<'a, str>,
        source: Cow<'a, str>,
    }

    /// A report as the agent made it. One with a message or entries is a session update instead.
    pub ReportFields from ProgressReport {
        message: Option<Cow<'a, str>>,
        entries: Cow<'a, [PlanEntry]>,
        replace: bool,
        metadata: Cow<'a, Value>,
    }

    /// How a catalogue of tools changed; names are sorted.
    pub ToolsFields from ToolsChange {
        /// Tools that came.
        added: Cow<'a, [String]>,
        /// Tools that went.
        removed: Cow<'a, [String]>,
        /// Tools that are described otherwise now.
        changed: Cow<'a, [String]>,
        /// How many there are.
        total: u64,
    }

    /// A turn and the prompt that began it.
    pub TurnStartedFields {
        turn_id: Cow<'a, str>,
        message_id: Cow<'a, str>,
    }

    /// A turn and how it ended, as the answer to its prompt says it.
    pub TurnEndedFields {
        turn_id: Cow<'a, str>,
        /// Why the agent stopped.
        #[serde(skip_serializing_if = "Option::is_none")]
        stop_reason: Option<StopReason>,
        /// What went wrong, where it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<Cow<'a, str>>,
    }

    /// A control and what came of it.
    pub ControlFields {
        control_id: Cow<'a, str>,
        method: Cow<'static, str>,
        outcome: Cow<'static, str>,
        status: harn_model::ControlStatus,
        /// The outcome again, where it is a refusal.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<Cow<'static, str>>,
        actor: ActorFields<'a>,
        target: TargetFields<'a>,
    }

    /// What a control was about.
    pub TargetFields from ControlTarget {
        session_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reminder_id: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        turn_id: Option<Cow<'a, str>>,
    }

    /// Why a session was closed and what it is now.
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

/// Where the loop is.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointFields {
    pub iteration: u64,
    /// The contract's own word for it, `kind`, is taken by the event's kind.
    pub seam: Seam,
    pub delivered: u64,
    /// Tools that waited to run were skipped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(!default)]
    pub dispatch_skipped: bool,
    /// Why they were.
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

/// What a control is called on this wire.
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

/// How long an agent did nothing.
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
