//! What a client's answer means. Only an explicit yes is a grant: an offered option that allows, or
//! `granted: true`. What is malformed, or says two things, is none.

use agent_client_protocol::{Error, ErrorCode};
use harn_model::{Decision, GrantScope, PermissionAsked, PermissionOption, PermissionOptionKind};
use serde_json::Value;

use crate::{
    Profile,
    ext::permission::{Answer, HostOutcome, Outcome},
};

/// Reads an answer of a client of this profile.
pub(crate) fn decision(
    ask: &PermissionAsked,
    profile: Profile,
    answer: Result<Value, Error>,
) -> Decision {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return unavailable(failed(&error)),
    };
    // An array would do for a struct, too; it is no answer.
    if !answer.is_object() {
        return unavailable("the client's answer was not understood");
    }
    match serde_json::from_value::<Answer>(answer) {
        Ok(answer) => read(ask, profile, answer).unwrap_or_else(unavailable),
        Err(_) => unavailable("the client's answer was not understood"),
    }
}

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

/// An answer that says two things, or not what it would have to.
type Refusal = &'static str;

fn read(ask: &PermissionAsked, profile: Profile, answer: Answer) -> Result<Decision, Refusal> {
    let recorded = answer.recorded();
    let chosen = match answer.outcome {
        Some(outcome) => Some(chosen(ask, profile, outcome)?),
        None => None,
    };
    let decision = match answer.granted {
        Some(true) => granted(ask, chosen, answer.args.map(Value::Object))?,
        Some(false) => refused(chosen, answer.reason)?,
        None if answer.args.is_some() => {
            return Err("the client's answer has arguments and does not say that they are granted");
        }
        None => chosen.ok_or("the client's answer was not understood")?,
    };
    match recorded {
        Some(recorded) if !agrees(recorded, &decision) => {
            Err("the client recorded another decision than it answered, so it was not taken as one")
        }
        _ => Ok(decision),
    }
}

/// What ACP's answer alone means.
fn chosen(ask: &PermissionAsked, profile: Profile, outcome: Outcome) -> Result<Decision, Refusal> {
    match outcome {
        Outcome::Cancelled { option_id: None } => Ok(Decision::Cancelled),
        Outcome::Cancelled { option_id: Some(_) } => {
            Err("the client answered that it is cancelled and chose an option all the same")
        }
        Outcome::Selected {
            option_id: None, ..
        } => match profile {
            // The contract's own form, from before there were options.
            Profile::Harn => once(ask, None),
            Profile::Meta | Profile::Acp => {
                Err("the client answered that an option was selected, and not which")
            }
        },
        Outcome::Selected {
            option_id: Some(id),
            ..
        } => Ok(option(ask, id)),
    }
}

fn option(ask: &PermissionAsked, option_id: String) -> Decision {
    let mut named = ask.options.iter().filter(|it| it.option_id == option_id);
    match named.clone().find(|option| !option.kind.allows()) {
        Some(option) => Decision::Rejected {
            reason: Some(rejection(option).to_owned()),
            option_id: Some(option_id),
        },
        None if named.next().is_some() => Decision::Allowed {
            option_id,
            args: None,
        },
        None => Decision::Rejected {
            option_id: None,
            reason: Some("the client chose an option that was not offered".to_owned()),
        },
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
fn once(ask: &PermissionAsked, args: Option<Value>) -> Result<Decision, Refusal> {
    let once = |option: &&PermissionOption| {
        option.kind == PermissionOptionKind::AllowOnce && option.scope == GrantScope::Once
    };
    let once = ask.options.iter().find(once);
    let once = once.ok_or("the client allowed the call once, which was not offered")?;
    let option_id = once.option_id.clone();
    Ok(Decision::Allowed { option_id, args })
}

/// What `granted: true` means beside what was chosen.
fn granted(
    ask: &PermissionAsked,
    chosen: Option<Decision>,
    args: Option<Value>,
) -> Result<Decision, Refusal> {
    match chosen {
        None => once(ask, args),
        Some(Decision::Allowed { option_id, .. }) => Ok(Decision::Allowed { option_id, args }),
        Some(Decision::Rejected { .. } | Decision::Cancelled | Decision::Unavailable { .. }) => {
            Err("the client's answer says that the call is granted and that it is not")
        }
    }
}

/// What `granted: false` means beside what was chosen.
fn refused(chosen: Option<Decision>, why: Option<String>) -> Result<Decision, Refusal> {
    match chosen {
        None => Ok(Decision::Rejected {
            option_id: None,
            reason: why,
        }),
        Some(Decision::Rejected { option_id, reason }) => Ok(Decision::Rejected {
            option_id,
            reason: why.or(reason),
        }),
        Some(Decision::Allowed { .. }) => {
            Err("the client's answer says that the call is granted and that it is not")
        }
        Some(other @ (Decision::Cancelled | Decision::Unavailable { .. })) => Ok(other),
    }
}

fn agrees(recorded: HostOutcome, decision: &Decision) -> bool {
    match decision {
        Decision::Allowed { .. } => recorded == HostOutcome::Approved,
        Decision::Rejected { .. } => recorded == HostOutcome::Rejected,
        Decision::Cancelled => recorded == HostOutcome::Cancelled,
        Decision::Unavailable { .. } => false,
    }
}
