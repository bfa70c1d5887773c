//! Our own fields, all under the key [`VENDOR`] of an `extensions` object: what a Shell decides about a run,
//! and what it is told beyond the draft. No other file reads or writes that key.

use crate::JsonSchema;
use harn_model::StopReason;
use serde::Serialize;

use crate::{
    asked::{AnswerValue, DirectiveAnswer},
    error::OpenHarnessError,
    from_wire::MessageObject,
    told::{CallSummary, RunPhase, RunReport},
};

pub(crate) const VENDOR: &str = "dev.harn";

/// What a request decides.
#[derive(Default)]
pub(crate) struct RunDecisions {
    pub(crate) verdicts: Vec<DirectiveAnswer>,
    pub(crate) cancel: bool,
}

/// What the extension of a context says.
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
            id: question(&approval)?,
            given: decision(&approval)?,
        });
    }
    for answer in ours.one_or_more("answer")? {
        let Some(text) = answer.text("text")? else {
            return Err(answer.wrong("text", "is missing; the answer stands there"));
        };
        verdicts.push(DirectiveAnswer {
            id: question(&answer)?,
            given: AnswerValue::Words(text.to_owned()),
        });
    }
    Ok(RunDecisions {
        verdicts,
        cancel: ours.flag("cancel")?,
    })
}

fn question(verdict: &MessageObject<'_>) -> Result<String, OpenHarnessError> {
    let id = verdict.id("id")?;
    id.ok_or_else(|| {
        verdict.wrong(
            "id",
            "is missing; name the question by the id of its directive",
        )
    })
}

fn decision(approval: &MessageObject<'_>) -> Result<AnswerValue, OpenHarnessError> {
    match approval.text("decision")? {
        Some("once") => Ok(AnswerValue::Once),
        Some("always") => Ok(AnswerValue::Always),
        Some("reject") => Ok(AnswerValue::Reject),
        Some(_) | None => Err(approval.wrong("decision", "has to be `once`, `always` or `reject`")),
    }
}

/// That a member of ours is wrong.
pub(crate) fn wrong(
    context: &MessageObject<'_>,
    name: &str,
    problem: &'static str,
) -> OpenHarnessError {
    let ours = context.empty("extensions").empty(VENDOR);
    ours.wrong(name, problem)
}

/// `response.extensions`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Extensions")]
pub(crate) struct ResponseExtensions<'a> {
    /// What is told of the run beyond the draft.
    #[serde(rename = "dev.harn")]
    pub(crate) run: RunExtension<'a>,
}

/// A run, beyond what the draft has words for.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Run")]
pub(crate) struct RunExtension<'a> {
    /// Where it stands.
    pub(crate) state: RunState,
    /// Why it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stop_reason: Option<StopReason>,
    /// What the engine did itself since the place the request went on from. None of it is for the Shell to
    /// do.
    pub(crate) calls: &'a [CallSummary],
}

/// Where a run stands.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunState {
    /// It goes on by itself.
    Running,
    /// It waits for a decision.
    Parked,
    /// It is over.
    Ended,
    /// The agent failed.
    Failed,
    /// The engine stopped before the run did.
    Interrupted,
}

/// What is told of a run.
pub(crate) fn run(told: &RunReport) -> ResponseExtensions<'_> {
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
