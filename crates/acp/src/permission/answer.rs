//! What a client's answer means. Only an explicit yes is a grant: an offered option that allows, or
//! `granted: true`. What is malformed, or says two things, is none.

use agent_client_protocol::{Error, ErrorCode};
use harn_model::{Decision, GrantScope, PermissionAsked, PermissionOption, PermissionOptionKind};
use serde_json::Value;

use crate::{
    Profile,
    ext::permission::{HostOutcome, PermissionOutcome, PermissionResponse},
};

/// What an answer says, whatever it was asked about.
pub(crate) enum HostVerdict {
    /// Yes, by an option that was offered.
    Allowed {
        option_id: String,
        /// Arguments in the place of those that were shown.
        args: Option<Value>,
    },
    Rejected {
        /// The option, where one was chosen.
        option_id: Option<String>,
        /// Why, in the host's words.
        reason: Option<String>,
    },
    /// An option that was not offered.
    NotOffered,
    /// The turn is cancelled.
    Cancelled,
}

/// Why an answer is none: it says two things, or not what it would have to.
pub(crate) type NoAnswer = &'static str;

/// Reads an answer of a client of this profile to a question about a tool call.
pub(crate) fn decision(
    ask: &PermissionAsked,
    profile: Profile,
    answer: Result<Value, Error>,
) -> Decision {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return unavailable(failed(&error)),
    };
    match verdict(&ask.options, profile, answer) {
        Err(why) => unavailable(why),
        Ok(HostVerdict::Allowed { option_id, args }) => Decision::Allowed { option_id, args },
        Ok(HostVerdict::Rejected { option_id, reason }) => {
            let chosen = ask.options.iter();
            let chosen = chosen.filter(|it| Some(&it.option_id) == option_id.as_ref());
            let mut rejecting = chosen.filter(|option| !option.kind.allows());
            let worded = rejecting.next().map(|option| rejection(option).to_owned());
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

/// What an answer of a client of this profile says, where these options were offered.
pub(crate) fn verdict(
    options: &[PermissionOption],
    profile: Profile,
    answer: Value,
) -> Result<HostVerdict, NoAnswer> {
    // An array would do for a struct, too; it is no answer.
    if !answer.is_object() {
        return Err(NOT_UNDERSTOOD);
    }
    let answer: PermissionResponse = serde_json::from_value(answer).map_err(|_| NOT_UNDERSTOOD)?;
    let recorded = answer.recorded();
    let chosen = match answer.outcome {
        Some(outcome) => Some(chosen(options, profile, outcome)?),
        None => None,
    };
    let verdict = match answer.granted {
        Some(true) => granted(options, chosen, answer.args.map(Value::Object))?,
        Some(false) => refused(chosen, answer.reason)?,
        None if answer.args.is_some() => {
            return Err("the client's answer has arguments and does not say that they are granted");
        }
        None => chosen.ok_or(NOT_UNDERSTOOD)?,
    };
    match recorded {
        Some(recorded) if !agrees(recorded, &verdict) => {
            Err("the client recorded another decision than it answered, so it was not taken as one")
        }
        _ => Ok(verdict),
    }
}

pub(crate) const NOT_UNDERSTOOD: &str = "the client's answer was not understood";
pub(crate) const NOT_OFFERED: &str = "the client chose an option that was not offered";

fn unavailable(reason: impl Into<String>) -> Decision {
    let reason = reason.into();
    Decision::Unavailable { reason }
}

/// Says why there is no answer.
fn failed(error: &Error) -> String {
    if error.code == ErrorCode::METHOD_NOT_FOUND {
        return "the client does not offer session/request_permission, so nobody could be asked; the \
                call was not run"
            .to_owned();
    }
    not_asked(error)
}

/// That a client answered with an error. Of the error only its message, and no more of that than a line:
/// the rest may hold anything.
pub(crate) fn not_asked(error: &Error) -> String {
    const LIMIT: usize = 200;
    let plain = error.message.chars().filter(|c| !c.is_control());
    let message: String = plain.take(LIMIT).collect();
    format!("the client could not be asked: {message}")
}

/// What ACP's answer alone means.
fn chosen(
    options: &[PermissionOption],
    profile: Profile,
    outcome: PermissionOutcome,
) -> Result<HostVerdict, NoAnswer> {
    match outcome {
        PermissionOutcome::Cancelled { option_id: None } => Ok(HostVerdict::Cancelled),
        PermissionOutcome::Cancelled { option_id: Some(_) } => {
            Err("the client answered that it is cancelled and chose an option all the same")
        }
        PermissionOutcome::Selected {
            option_id: None, ..
        } => match profile {
            // The contract's own form, from before there were options.
            Profile::Harn => once(options, None),
            Profile::Meta | Profile::Acp => {
                Err("the client answered that an option was selected, and not which")
            }
        },
        PermissionOutcome::Selected {
            option_id: Some(id),
            ..
        } => Ok(option(options, id)),
    }
}

fn option(options: &[PermissionOption], option_id: String) -> HostVerdict {
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

fn rejection(option: &PermissionOption) -> &'static str {
    match option.scope {
        GrantScope::Once => "whoever was asked rejected the call",
        GrantScope::Session => "whoever was asked rejected such calls for this session",
        GrantScope::Always => "whoever was asked rejected such calls from now on",
    }
}

/// A yes that names no option: this once, if that was on offer.
fn once(options: &[PermissionOption], args: Option<Value>) -> Result<HostVerdict, NoAnswer> {
    let once = |option: &&PermissionOption| {
        option.kind == PermissionOptionKind::AllowOnce && option.scope == GrantScope::Once
    };
    let once = options.iter().find(once);
    let once = once.ok_or("the client allowed the call once, which was not offered")?;
    let option_id = once.option_id.clone();
    Ok(HostVerdict::Allowed { option_id, args })
}

/// What `granted: true` means beside what was chosen.
fn granted(
    options: &[PermissionOption],
    chosen: Option<HostVerdict>,
    args: Option<Value>,
) -> Result<HostVerdict, NoAnswer> {
    match chosen {
        None => once(options, args),
        Some(HostVerdict::Allowed { option_id, .. }) => {
            Ok(HostVerdict::Allowed { option_id, args })
        }
        Some(HostVerdict::Rejected { .. } | HostVerdict::NotOffered | HostVerdict::Cancelled) => {
            Err("the client's answer says that the call is granted and that it is not")
        }
    }
}

/// What `granted: false` means beside what was chosen.
fn refused(chosen: Option<HostVerdict>, why: Option<String>) -> Result<HostVerdict, NoAnswer> {
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
            Err("the client's answer says that the call is granted and that it is not")
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
