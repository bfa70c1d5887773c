//! Our own fields, all under the key [`VENDOR`] of an `extensions` object: what a Shell decides about a run,
//! and what it is told beyond the draft. No other file reads or writes that key.

use crate::JsonSchema;
use harn_model::StopReason;
use serde::Serialize;

use crate::{
    asked::{Given, Verdict},
    error::Fault,
    from_wire::Object,
    told::{Call, State, Told},
};

pub(crate) const VENDOR: &str = "dev.harn";

/// What a request decides.
#[derive(Default)]
pub(crate) struct Said {
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) cancel: bool,
}

/// What the extension of a context says.
pub(crate) fn read(context: &Object<'_>) -> Result<Said, Fault> {
    let Some(extensions) = context.object("extensions")? else {
        return Ok(Said::default());
    };
    let Some(ours) = extensions.object(VENDOR)? else {
        return Ok(Said::default());
    };
    let mut verdicts = Vec::new();
    for approval in ours.one_or_more("approval")? {
        verdicts.push(Verdict {
            id: question(&approval)?,
            given: decision(&approval)?,
        });
    }
    for answer in ours.one_or_more("answer")? {
        let Some(text) = answer.text("text")? else {
            return Err(answer.wrong("text", "is missing; the answer stands there"));
        };
        verdicts.push(Verdict {
            id: question(&answer)?,
            given: Given::Words(text.to_owned()),
        });
    }
    Ok(Said {
        verdicts,
        cancel: ours.flag("cancel")?,
    })
}

fn question(verdict: &Object<'_>) -> Result<String, Fault> {
    let id = verdict.id("id")?;
    id.ok_or_else(|| {
        verdict.wrong(
            "id",
            "is missing; name the question by the id of its directive",
        )
    })
}

fn decision(approval: &Object<'_>) -> Result<Given, Fault> {
    match approval.text("decision")? {
        Some("once") => Ok(Given::Once),
        Some("always") => Ok(Given::Always),
        Some("reject") => Ok(Given::Reject),
        Some(_) | None => Err(approval.wrong("decision", "has to be `once`, `always` or `reject`")),
    }
}

/// That a member of ours is wrong.
pub(crate) fn wrong(context: &Object<'_>, name: &str, problem: &'static str) -> Fault {
    let ours = context.empty("extensions").empty(VENDOR);
    ours.wrong(name, problem)
}

/// `response.extensions`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Extensions<'a> {
    /// What is told of the run beyond the draft.
    #[serde(rename = "dev.harn")]
    pub(crate) run: Run<'a>,
}

/// A run, beyond what the draft has words for.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Run<'a> {
    /// Where it stands.
    pub(crate) state: RunState,
    /// Why it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stop_reason: Option<StopReason>,
    /// What the engine did itself since the place the request went on from. None of it is for the Shell to
    /// do.
    pub(crate) calls: &'a [Call],
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
pub(crate) fn run(told: &Told) -> Extensions<'_> {
    let (state, stop_reason) = match &told.state {
        State::Running => (RunState::Running, None),
        State::Parked => (RunState::Parked, None),
        State::Ended(reason) => (RunState::Ended, Some(*reason)),
        State::Failed(_) => (RunState::Failed, None),
        State::Interrupted => (RunState::Interrupted, None),
    };
    let run = Run {
        state,
        stop_reason,
        calls: &told.calls,
    };
    Extensions { run }
}
