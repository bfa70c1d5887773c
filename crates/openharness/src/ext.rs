//! Our own fields, all under the key [`VENDOR`] of an `extensions` object: a Shell's decisions about a run,
//! and the report beyond the draft. No other file reads or writes that key.

use crate::JsonSchema;
use harn_model::StopReason;
use serde::Serialize;

use crate::{
    error::OpenHarnessError,
    from_wire::MessageObject,
    report::{CallSummary, RunPhase, RunReport},
    request::{AnswerValue, DirectiveAnswer},
};

pub(crate) const VENDOR: &str = "dev.harn";

/// The decisions in a request.
#[derive(Default)]
pub(crate) struct RunDecisions {
    pub(crate) verdicts: Vec<DirectiveAnswer>,
    pub(crate) cancel: bool,
}

/// Reads the decisions from the extension of a context.
pub(crate) fn read(context: &MessageObject<'_>) -> Result<RunDecisions, OpenHarnessError> {
    let Some(extensions) = context.object("extensions")? else {
        return Ok(RunDecisions::default());
    };
    let Some(ours) = extensions.object(VENDOR)? else {
        return Ok(RunDecisions::default());
    };
    let mut verdicts = Vec::new();
    for approval in ours.one_or_more("approval")? {
        verdicts.push(DirectiveAnswer {
            id: question_id(&approval)?,
            given: decision(&approval)?,
        });
    }
    for answer in ours.one_or_more("answer")? {
        let Some(text) = answer.text("text")? else {
            return Err(answer.wrong_member("text", "is missing; send the answer there"));
        };
        verdicts.push(DirectiveAnswer {
            id: question_id(&answer)?,
            given: AnswerValue::Words(text.to_owned()),
        });
    }
    Ok(RunDecisions {
        verdicts,
        cancel: ours.flag("cancel")?,
    })
}

fn question_id(verdict: &MessageObject<'_>) -> Result<String, OpenHarnessError> {
    let id = verdict.id("id")?;
    id.ok_or_else(|| {
        verdict.wrong_member("id", "is missing; send the id of the question's directive")
    })
}

fn decision(approval: &MessageObject<'_>) -> Result<AnswerValue, OpenHarnessError> {
    match approval.text("decision")? {
        Some("once") => Ok(AnswerValue::Once),
        Some("always") => Ok(AnswerValue::Always),
        Some("reject") => Ok(AnswerValue::Reject),
        Some(_) | None => {
            Err(approval.wrong_member("decision", "must be `once`, `always` or `reject`"))
        }
    }
}

/// Returns the error for a wrong member of our extension.
pub(crate) fn wrong_member(
    context: &MessageObject<'_>,
    name: &str,
    problem: &'static str,
) -> OpenHarnessError {
    let ours = context.missing_member("extensions").missing_member(VENDOR);
    ours.wrong_member(name, problem)
}

/// The value of `response.extensions`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Extensions")]
pub(crate) struct ResponseExtensions<'a> {
    /// The report of the run beyond the draft.
    #[serde(rename = "dev.harn")]
    pub(crate) run: RunExtension<'a>,
}

/// The data of a run that the draft does not cover.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Run")]
pub(crate) struct RunExtension<'a> {
    /// The state of the run.
    pub(crate) state: RunState,
    /// The reason why the run ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stop_reason: Option<StopReason>,
    /// The tool calls of the engine since the position in the request. The Shell must not run them.
    pub(crate) calls: &'a [CallSummary],
}

/// The state of a run.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunState {
    /// The run continues by itself.
    Running,
    /// The run waits for a decision.
    Parked,
    /// The run is over.
    Ended,
    /// The agent failed.
    Failed,
    /// The engine stopped before the run did.
    Interrupted,
}

/// Returns the extension that reports a run.
pub(crate) fn run_extension(told: &RunReport) -> ResponseExtensions<'_> {
    let (state, stop_reason) = match &told.state {
        RunPhase::Running => (RunState::Running, None),
        RunPhase::Parked => (RunState::Parked, None),
        RunPhase::Ended(reason) => (RunState::Ended, Some(*reason)),
        RunPhase::Failed(_) => (RunState::Failed, None),
        RunPhase::Interrupted => (RunState::Interrupted, None),
    };
    let run = RunExtension {
        state,
        stop_reason,
        calls: &told.calls,
    };
    ResponseExtensions { run }
}
