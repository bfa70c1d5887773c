//! Parses frames into commands, or reports what is wrong with them.

use harn_model::{Decision, PermissionAsked, PermissionOption, PermissionOptionKind};
use serde::Deserialize;
use serde_json::Value;

use crate::{command_error::ClientCommandError, wire::ClientCommand};

/// The commands and their members, for error messages.
const KNOWN: [(&str, &str); 11] = [
    ("submit", "prompt, a string"),
    ("cancel", "nothing"),
    ("steer", "message, a string"),
    ("approve", "toolCallId and optionally optionId, strings"),
    (
        "deny",
        "toolCallId and optionally reason and optionId, all of them strings",
    ),
    ("resume", "sessionId and optionally prompt, strings"),
    (
        "configure",
        "config, an object; permissionMode and title in it are strings",
    ),
    (
        "answer",
        "questionId, a string, with answer, a string, or approved or accepted, true or false, and optionally \
         reason, a string",
    ),
    ("withdraw", "messageId, a string"),
    ("takeover", "nothing"),
    ("handback", "nothing"),
];

/// The maximum number of commands in a frame or request.
pub(crate) const MOST: usize = 64;

/// Parses the commands of a frame, each by itself: a malformed one does not undo those before it.
pub(crate) fn parse_commands(
    frame: &str,
) -> Result<Vec<Result<ClientCommand, ClientCommandError>>, ClientCommandError> {
    let Ok(frame) = serde_json::from_str::<Value>(frame) else {
        return Err(ClientCommandError::bad(
            "the frame is not JSON; send {\"type\":\"commands\",\"commands\":[…]}",
        ));
    };
    let is_commands = frame.get("type").and_then(Value::as_str) == Some("commands");
    let commands = frame.get("commands").and_then(Value::as_array);
    let Some(commands) = commands.filter(|_| is_commands) else {
        return Err(ClientCommandError::bad(
            "the frame does not contain commands; send {\"type\":\"commands\",\"commands\":[…]}",
        ));
    };
    if commands.len() > MOST {
        return Err(ClientCommandError::bad(format!(
            "the frame has more than {MOST} commands; send them in several"
        )));
    }
    Ok(commands.iter().map(parse_command).collect())
}

/// Parses one command. The error does not repeat the input, which may be confidential.
pub(crate) fn parse_command(given: &Value) -> Result<ClientCommand, ClientCommandError> {
    let name = given.get("type").and_then(Value::as_str);
    let known = KNOWN.iter().find(|(known, _)| name == Some(known));
    match known {
        Some((name, takes)) => ClientCommand::deserialize(given).map_err(|_| {
            ClientCommandError::bad(format!("invalid command {name}; it takes {takes}"))
        }),
        None => {
            let names: Vec<_> = KNOWN.iter().map(|(name, _)| *name).collect();
            let names = names.join(", ");
            Err(ClientCommandError::bad(format!(
                "unknown command type; known types: {names}"
            )))
        }
    }
}

/// Checks that a text is not blank.
pub(crate) fn require_text(name: &str, text: String) -> Result<String, ClientCommandError> {
    match text.trim().is_empty() {
        true => Err(ClientCommandError::bad(format!("{name} must not be empty"))),
        false => Ok(text),
    }
}

/// Returns the decision that allows a call.
pub(crate) fn approval_decision(
    ask: &PermissionAsked,
    option: Option<&str>,
) -> Result<Decision, ClientCommandError> {
    let option = choose(ask, option, PermissionOptionKind::AllowOnce)?;
    let option =
        option.ok_or_else(|| ClientCommandError::bad("this call cannot be allowed once"))?;
    if !option.kind.allows() {
        return Err(ClientCommandError::bad(format!(
            "optionId {:?} rejects the call; send it with deny",
            option.option_id
        )));
    }
    Ok(Decision::Allowed {
        option_id: option.option_id.clone(),
        args: None,
    })
}

/// Returns the decision that rejects a call.
pub(crate) fn rejection_decision(
    ask: &PermissionAsked,
    option: Option<&str>,
    reason: Option<String>,
) -> Result<Decision, ClientCommandError> {
    let option = choose(ask, option, PermissionOptionKind::RejectOnce)?;
    if let Some(option) = option.filter(|option| option.kind.allows()) {
        return Err(ClientCommandError::bad(format!(
            "optionId {:?} allows the call; send it with approve",
            option.option_id
        )));
    }
    Ok(Decision::Rejected {
        option_id: option.map(|option| option.option_id.clone()),
        reason,
    })
}

/// Returns the named option, or the first of a kind.
fn choose<'a>(
    ask: &'a PermissionAsked,
    named: Option<&str>,
    otherwise: PermissionOptionKind,
) -> Result<Option<&'a PermissionOption>, ClientCommandError> {
    let mut options = ask.options.iter();
    let Some(named) = named else {
        return Ok(options.find(|option| option.kind == otherwise));
    };
    match options.find(|option| option.option_id == named) {
        Some(option) => Ok(Some(option)),
        None => {
            let known: Vec<_> = ask.options.iter().map(|it| it.option_id.as_str()).collect();
            let known = known.join(", ");
            Err(ClientCommandError::bad(format!(
                "unknown optionId; known optionIds: {known}"
            )))
        }
    }
}

#[cfg(test)]
mod tests;
