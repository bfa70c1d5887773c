//! Interpretation of a client's answer. Only an explicit yes is a grant: an offered option that allows, or
//! `granted: true`. A malformed or contradictory answer is no answer.

use agent_client_protocol::{Error, ErrorCode};
use harn_model::{Decision, GrantScope, PermissionAsked, PermissionOption, PermissionOptionKind};
use serde_json::Value;

use crate::{
    Profile,
    ext::permission::{HostOutcome, PermissionOutcome, PermissionResponse},
};

/// The verdict of an answer, independent of the question.
pub(crate) enum HostVerdict {
    /// The client allowed the call with an offered option.
    Allowed {
        option_id: String,
        /// Arguments that replace the ones shown.
        args: Option<Value>,
    },
    Rejected {
        /// The chosen option, if any.
        option_id: Option<String>,
        /// The reason that the host gave.
        reason: Option<String>,
    },
    /// The client chose an option that was not offered.
    NotOffered,
    /// The turn is cancelled.
    Cancelled,
}

/// The reason why an answer is invalid: it contradicts itself or lacks a required member.
pub(crate) type NoAnswer = &'static str;

/// Interprets an answer of a client of this profile to a permission request for a tool call.
pub(crate) fn decision(
    ask: &PermissionAsked,
    profile: Profile,
    answer: Result<Value, Error>,
) -> Decision {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return unavailable(describe_failure(&error)),
    };
    match verdict(&ask.options, profile, answer) {
        Err(why) => unavailable(why),
        Ok(HostVerdict::Allowed { option_id, args }) => Decision::Allowed { option_id, args },
        Ok(HostVerdict::Rejected { option_id, reason }) => {
            let chosen = ask.options.iter();
            let chosen = chosen.filter(|it| Some(&it.option_id) == option_id.as_ref());
            let mut rejecting = chosen.filter(|option| !option.kind.allows());
            let worded = rejecting
                .next()
                .map(|option| rejection_reason(option).to_owned());
            let reason = reason.or(worded);
            Decision::Rejected { option_id, reason }
        }
        Ok(HostVerdict::NotOffered) => Decision::Rejected {
            option_id: None,
            reason: Some(NOT_OFFERED.to_owned()),
        },
        Ok(HostVerdict::Cancelled) => Decision::Cancelled,
    }
}

/// Interprets an answer of a client of this profile to a request with these options.
pub(crate) fn verdict(
    options: &[PermissionOption],
    profile: Profile,
    answer: Value,
) -> Result<HostVerdict, NoAnswer> {
    // serde would also read the struct from an array; an array is no answer.
    if !answer.is_object() {
        return Err(NOT_UNDERSTOOD);
    }
    let answer: PermissionResponse = serde_json::from_value(answer).map_err(|_| NOT_UNDERSTOOD)?;
    let recorded = answer.recorded_outcome();
    let chosen = match answer.outcome {
        Some(outcome) => Some(interpret_outcome(options, profile, outcome)?),
        None => None,
    };
    let verdict = match answer.granted {
        Some(true) => combine_with_granted(options, chosen, answer.args.map(Value::Object))?,
        Some(false) => combine_with_refused(chosen, answer.reason)?,
        None if answer.args.is_some() => {
            return Err("the client's answer has `args` without `granted`");
        }
        None => chosen.ok_or(NOT_UNDERSTOOD)?,
    };
    match recorded {
        Some(recorded) if !agrees(recorded, &verdict) => Err(
            "the client's answer contradicts the decision that it recorded, so it does not count",
        ),
        _ => Ok(verdict),
    }
}

pub(crate) const NOT_UNDERSTOOD: &str = "the client's answer was not understood";
pub(crate) const NOT_OFFERED: &str = "the client chose an option that was not offered";

fn unavailable(reason: impl Into<String>) -> Decision {
    let reason = reason.into();
    Decision::Unavailable { reason }
}

/// Describes why there is no answer.
fn describe_failure(error: &Error) -> String {
    if error.code == ErrorCode::METHOD_NOT_FOUND {
        return "the client does not offer session/request_permission, so the call could not be \
                approved and did not run"
            .to_owned();
    }
    describe_request_error(error)
}

/// Describes a failed request to a client. It quotes only the start of the error's message, in one line: the
/// rest may contain anything.
pub(crate) fn describe_request_error(error: &Error) -> String {
    const LIMIT: usize = 200;
    let plain = error.message.chars().filter(|c| !c.is_control());
    let message: String = plain.take(LIMIT).collect();
    format!("the client could not be asked: {message}")
}

/// Interprets ACP's member of the answer alone.
fn interpret_outcome(
    options: &[PermissionOption],
    profile: Profile,
    outcome: PermissionOutcome,
) -> Result<HostVerdict, NoAnswer> {
    match outcome {
        PermissionOutcome::Cancelled { option_id: None } => Ok(HostVerdict::Cancelled),
        PermissionOutcome::Cancelled { option_id: Some(_) } => {
            Err("the client answered `cancelled` and also chose an option")
        }
        PermissionOutcome::Selected {
            option_id: None, ..
        } => match profile {
            // The contract's own form, which is older than options.
            Profile::Harn => allow_once(options, None),
            Profile::Meta | Profile::Acp => {
                Err("the client answered `selected` without an option id")
            }
        },
        PermissionOutcome::Selected {
            option_id: Some(id),
            ..
        } => Ok(interpret_option(options, id)),
    }
}

fn interpret_option(options: &[PermissionOption], option_id: String) -> HostVerdict {
    let mut named = options.iter().filter(|it| it.option_id == option_id);
    match named.clone().find(|option| !option.kind.allows()) {
        Some(_) => HostVerdict::Rejected {
            option_id: Some(option_id),
            reason: None,
        },
        None if named.next().is_some() => HostVerdict::Allowed {
            option_id,
            args: None,
        },
        None => HostVerdict::NotOffered,
    }
}

fn rejection_reason(option: &PermissionOption) -> &'static str {
    match option.scope {
        GrantScope::Once => "the client rejected the call",
        GrantScope::Session => "the client rejected such calls for this session",
        GrantScope::Always => "the client rejected such calls from now on",
    }
}

/// Interprets a yes without an option: allow once, if that was offered.
fn allow_once(options: &[PermissionOption], args: Option<Value>) -> Result<HostVerdict, NoAnswer> {
    let once = |option: &&PermissionOption| {
        option.kind == PermissionOptionKind::AllowOnce && option.scope == GrantScope::Once
    };
    let once = options.iter().find(once);
    let once = once.ok_or("the client allowed the call once, which was not offered")?;
    let option_id = once.option_id.clone();
    Ok(HostVerdict::Allowed { option_id, args })
}

/// Combines `granted: true` with the chosen option.
fn combine_with_granted(
    options: &[PermissionOption],
    chosen: Option<HostVerdict>,
    args: Option<Value>,
) -> Result<HostVerdict, NoAnswer> {
    match chosen {
        None => allow_once(options, args),
        Some(HostVerdict::Allowed { option_id, .. }) => {
            Ok(HostVerdict::Allowed { option_id, args })
        }
        Some(HostVerdict::Rejected { .. } | HostVerdict::NotOffered | HostVerdict::Cancelled) => {
            Err("the client's answer contradicts itself about whether the call is granted")
        }
    }
}

/// Combines `granted: false` with the chosen option.
fn combine_with_refused(
    chosen: Option<HostVerdict>,
    why: Option<String>,
) -> Result<HostVerdict, NoAnswer> {
    match chosen {
        None => Ok(HostVerdict::Rejected {
            option_id: None,
            reason: why,
        }),
        Some(HostVerdict::Rejected { option_id, .. }) => Ok(HostVerdict::Rejected {
            option_id,
            reason: why,
        }),
        Some(HostVerdict::Allowed { .. }) => {
            Err("the client's answer contradicts itself about whether the call is granted")
        }
        Some(other @ (HostVerdict::NotOffered | HostVerdict::Cancelled)) => Ok(other),
    }
}

fn agrees(recorded: HostOutcome, verdict: &HostVerdict) -> bool {
    match verdict {
        HostVerdict::Allowed { .. } => recorded == HostOutcome::Approved,
        HostVerdict::Rejected { .. } | HostVerdict::NotOffered => recorded == HostOutcome::Rejected,
        HostVerdict::Cancelled => recorded == HostOutcome::Cancelled,
    }
}
