//! `_harn/agentEvent`, the notification for what is no session update: composition runs, seams, tools, closing.
//!
//! One table gives the kinds that are advertised and those that are written.

use harn_model::{
    ChildCall, ChildResult, CompositionRun, Control, ControlOutcome, ControlTarget, LoopCheckpoint,
    PlanEntry, ProgressReport, Seam, StopReason, ToolsChange, TurnId, TurnOutcome,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::tool::Executor;

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
        pub enum Kind {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl Kind {
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
        #[derive(Serialize, JsonSchema)]
        #[serde(tag = "kind")]
        pub(crate) enum HarnEvent<'a> {
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
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct IdleFields {
    /// How often its turn had started an iteration.
    pub(crate) iteration: u64,
    /// When the next one comes, in milliseconds, unless the agent wakes.
    pub(crate) backoff_ms: u64,
}

/// A turn and the prompt that began it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnStartedFields<'a> {
    pub(crate) turn_id: &'a str,
    pub(crate) message_id: &'a str,
}

/// A turn and how it ended, as the answer to its prompt says it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnEndedFields<'a> {
    turn_id: &'a str,
    /// Why the agent stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<StopReason>,
    /// What went wrong, where it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl<'a> TurnEndedFields<'a> {
    pub(crate) fn new(turn: &'a TurnId, outcome: &'a TurnOutcome) -> Self {
        let (stop_reason, error) = match outcome {
            TurnOutcome::Stopped { stop_reason } => (Some(*stop_reason), None),
            TurnOutcome::Failed { message } => (None, Some(message.as_str())),
        };
        Self {
            turn_id: turn.as_str(),
            stop_reason,
            error,
        }
    }
}

/// One envelope for start, finish and error; absent parts are null.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunFields<'a> {
    run_id: &'a str,
    language: &'a str,
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    snippet_hash: &'a str,
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    binding_manifest_hash: &'a str,
    requested_side_effect_ceiling: harn_model::SideEffectLevel,
    stdout: Option<&'a str>,
    stderr: Option<&'a str>,
    artifacts: &'a [Value],
    result: Option<&'a Value>,
    failure_category: Option<harn_model::FailureCategory>,
    error: Option<&'a str>,
    duration_ms: Option<u64>,
    metadata: &'a Map<String, Value>,
}

impl<'a> From<&'a CompositionRun> for RunFields<'a> {
    fn from(run: &'a CompositionRun) -> Self {
        Self {
            run_id: &run.run_id,
            language: &run.language,
            snippet_hash: &run.snippet_hash,
            binding_manifest_hash: &run.binding_manifest_hash,
            requested_side_effect_ceiling: run.requested_side_effect_ceiling,
            stdout: run.stdout.as_deref(),
            stderr: run.stderr.as_deref(),
            artifacts: &run.artifacts,
            result: run.result.as_ref(),
            failure_category: run.failure_category,
            error: run.error.as_deref(),
            duration_ms: run.duration_ms,
            metadata: &run.metadata,
        }
    }
}

/// A child begins; its annotations keep snake_case.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChildCallFields<'a> {
    run_id: &'a str,
    tool_call_id: &'a str,
    tool_name: &'a str,
    operation_index: u64,
    annotations: Option<&'a harn_model::ToolAnnotations>,
    requested_side_effect_level: harn_model::SideEffectLevel,
    policy_context: &'a Map<String, Value>,
    raw_input: &'a Value,
}

impl<'a> From<&'a ChildCall> for ChildCallFields<'a> {
    fn from(call: &'a ChildCall) -> Self {
        Self {
            run_id: &call.run_id,
            tool_call_id: &call.tool_call_id,
            tool_name: &call.tool_name,
            operation_index: call.operation_index,
            annotations: call.annotations.as_ref(),
            requested_side_effect_level: call.requested_side_effect_level,
            policy_context: &call.policy_context,
            raw_input: &call.raw_input,
        }
    }
}

/// A child ended.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChildResultFields<'a> {
    run_id: &'a str,
    tool_call_id: &'a str,
    tool_name: &'a str,
    operation_index: u64,
    status: harn_model::ToolCallStatus,
    raw_output: Option<&'a Value>,
    error: Option<&'a str>,
    error_category: Option<harn_model::ErrorCategory>,
    executor: Option<Executor<'a>>,
    duration_ms: Option<u64>,
    execution_duration_ms: Option<u64>,
}

impl<'a> From<&'a ChildResult> for ChildResultFields<'a> {
    fn from(result: &'a ChildResult) -> Self {
        Self {
            run_id: &result.run_id,
            tool_call_id: &result.tool_call_id,
            tool_name: &result.tool_name,
            operation_index: result.operation_index,
            status: result.status,
            raw_output: result.raw_output.as_ref(),
            error: result.error.as_deref(),
            error_category: result.error_category,
            executor: result.executor.as_ref().map(Executor::from),
            duration_ms: result.duration_ms,
            execution_duration_ms: result.execution_duration_ms,
        }
    }
}

/// Where the loop is.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CheckpointFields {
    iteration: u64,
    /// The contract's own word for it, `kind`, is taken by the event's kind.
    seam: Seam,
    delivered: u64,
    /// Tools that waited to run were skipped.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dispatch_skipped: bool,
    /// Why they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    skip_reason: Option<&'static str>,
}

impl From<&LoopCheckpoint> for CheckpointFields {
    fn from(checkpoint: &LoopCheckpoint) -> Self {
        Self {
            iteration: checkpoint.iteration,
            seam: checkpoint.seam,
            delivered: checkpoint.delivered,
            dispatch_skipped: checkpoint.dispatch_skipped,
            skip_reason: checkpoint.dispatch_skipped.then_some("interrupt_immediate"),
        }
    }
}

/// A control and what came of it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ControlFields<'a> {
    control_id: &'a str,
    method: &'static str,
    outcome: &'static str,
    status: harn_model::ControlStatus,
    /// The outcome again, where it is a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    actor: ActorFields<'a>,
    target: TargetFields<'a>,
}

impl<'a> From<&'a ControlOutcome> for ControlFields<'a> {
    fn from(outcome: &'a ControlOutcome) -> Self {
        let status = outcome.status();
        let word = outcome.result.as_str();
        Self {
            control_id: &outcome.control_id,
            method: method(outcome.control),
            outcome: word,
            status,
            reason: (status == harn_model::ControlStatus::Rejected).then_some(word),
            actor: (&outcome.actor).into(),
            target: (&outcome.target).into(),
        }
    }
}

/// What a control is called on this wire.
fn method(control: Control) -> &'static str {
    match control {
        Control::Inject => "session/inject",
        Control::RevokeInject => "session/revoke_inject",
        Control::ReplaceInject => "session/replace_inject",
        Control::Remind => "session/remind",
        Control::RevokeReminder => "session/revoke_reminder",
        Control::Cancel => "session/cancel",
    }
}

/// Who sent a control.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ActorFields<'a> {
    client_id: &'a str,
    role: &'a str,
    source: &'a str,
}

impl<'a> From<&'a harn_model::Actor> for ActorFields<'a> {
    fn from(actor: &'a harn_model::Actor) -> Self {
        Self {
            client_id: &actor.client_id,
            role: &actor.role,
            source: &actor.source,
        }
    }
}

/// What a control was about.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TargetFields<'a> {
    session_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reminder_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_id: Option<&'a str>,
}

impl<'a> From<&'a ControlTarget> for TargetFields<'a> {
    fn from(target: &'a ControlTarget) -> Self {
        Self {
            session_id: target.session_id.as_str(),
            message_id: target
                .message_id
                .as_ref()
                .map(harn_model::MessageId::as_str),
            reminder_id: target.reminder_id.as_deref(),
            turn_id: target.turn_id.as_ref().map(harn_model::TurnId::as_str),
        }
    }
}

/// How long an agent did nothing.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WatchdogFields {
    pub(crate) attempts: u64,
    pub(crate) elapsed_ms: u64,
}

/// A report as the agent made it. One with a message or entries is a session update instead.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReportFields<'a> {
    message: Option<&'a str>,
    entries: &'a [PlanEntry],
    replace: bool,
    metadata: &'a Value,
}

impl<'a> From<&'a ProgressReport> for ReportFields<'a> {
    fn from(report: &'a ProgressReport) -> Self {
        Self {
            message: report.message.as_deref(),
            entries: &report.entries,
            replace: report.replace,
            metadata: &report.metadata,
        }
    }
}

/// Why a session was closed and what it is now.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClosedFields<'a> {
    pub(crate) reason: &'a str,
    pub(crate) status: &'a str,
}

/// How a catalogue of tools changed; names are sorted.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolsFields<'a> {
    /// Tools that came.
    added: &'a [String],
    /// Tools that went.
    removed: &'a [String],
    /// Tools that are described otherwise now.
    changed: &'a [String],
    /// How many there are.
    total: u64,
}

impl<'a> From<&'a ToolsChange> for ToolsFields<'a> {
    fn from(change: &'a ToolsChange) -> Self {
        Self {
            added: &change.added,
            removed: &change.removed,
            changed: &change.changed,
            total: change.total,
        }
    }
}
