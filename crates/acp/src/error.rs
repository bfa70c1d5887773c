//! Conversion of our errors to JSON-RPC errors: one table, with a machine-readable word in `data.reason`.
//!
//! No code here is ACP's -32000: clients treat that as "authentication required" and drop the message.

use agent_client_protocol::{Error, RawJsonRpcError, schema::MaybeUndefined};
use harn_model::{Actor, ControlResult, SessionId};
use harn_runtime::{
    ControlError, HitlError, JournalError, LiveClientError, NotInControl, PromptError,
    SessionError, SettingError,
};
use serde_json::{Map, Value};

use crate::ext::{agent_event::ActorFields, reminder::InvalidReminder};

/// JSON-RPC's "internal error": the agent or the disk failed.
const FAILED: i32 = -32603;
/// Our own code: the request is well formed, but the session or the process cannot serve it now. It is
/// outside the range -32768 to -32000 that JSON-RPC reserves, so no edition of ACP can give it a meaning.
const UNAVAILABLE: i32 = -31000;
/// ACP's "resource not found".
const NOT_FOUND: i32 = -32002;
/// The contract's "no such session, or no turn runs in it", for the methods that steer a turn.
const NOTHING_RUNS: i32 = -32004;
const INVALID_PARAMS: i32 = -32602;

/// Builds an error with its reason.
fn error(code: i32, message: impl std::fmt::Display, reason: &str) -> Error {
    let data = Map::from_iter([("reason".to_owned(), reason.into())]);
    Error::new(code, message.to_string()).data(Value::Object(data))
}

/// Adds a member to an error's data, unless it exists.
fn with_member(mut error: Error, member: &str, value: impl Into<Value>) -> Error {
    if let Some(Value::Object(data)) = &mut error.data {
        data.entry(member).or_insert(value.into());
    }
    error
}

/// Copies the message into `data.details`, the one member that some clients show. The SDK's own errors have a
/// sentence as `data`; it is appended to the message.
pub(crate) fn add_details(error: &mut RawJsonRpcError) {
    let mut data = match std::mem::take(&mut error.data).take() {
        Some(Value::Object(data)) => data,
        Some(Value::String(more)) => {
            let details = format!("{}: {more}", error.message);
            Map::from_iter([("details".to_owned(), details.into())])
        }
        Some(_) | None => Map::new(),
    };
    data.entry("details")
        .or_insert_with(|| error.message.as_str().into());
    error.data = MaybeUndefined::Value(data.into());
}

/// The error for a session that could not be opened; `id` is the requested session.
pub(crate) fn session_error_for(id: &SessionId, e: &SessionError) -> Error {
    with_member(session(e), "sessionId", id.as_str())
}

pub(crate) fn session(e: &SessionError) -> Error {
    let (code, reason) = match e {
        SessionError::NotFound(_) => (NOT_FOUND, "unknown_session"),
        SessionError::WrongCwd { .. } => (INVALID_PARAMS, "wrong_cwd"),
        SessionError::BadCwd => (INVALID_PARAMS, "bad_cwd"),
        SessionError::BadCursor => (INVALID_PARAMS, "bad_cursor"),
        SessionError::ShuttingDown => (UNAVAILABLE, "shutting_down"),
        SessionError::Journal(journal) => match journal {
            JournalError::NotFound(_) | JournalError::InvalidId => (NOT_FOUND, "unknown_session"),
            JournalError::Exists(_) => (UNAVAILABLE, "session_exists"),
            JournalError::Locked(_) => (UNAVAILABLE, "session_locked"),
            JournalError::Corrupt { .. } => (FAILED, "session_corrupt"),
            JournalError::Io { .. } => (FAILED, "journal_failed"),
        },
    };
    let error = error(code, e, reason);
    match e {
        SessionError::NotFound(id)
        | SessionError::Journal(JournalError::Locked(id) | JournalError::Exists(id)) => {
            with_member(error, "sessionId", id.as_str())
        }
        SessionError::WrongCwd { id, expected } => {
            let error = with_member(error, "sessionId", id.as_str());
            with_member(error, "cwd", expected.display().to_string())
        }
        SessionError::BadCwd
        | SessionError::BadCursor
        | SessionError::ShuttingDown
        | SessionError::Journal(_) => error,
    }
}

/// The error for an event id that the session has not reached.
pub(crate) fn unknown_event(id: &SessionId) -> Error {
    let message = "lastEventId: the session has no such event";
    let error = error(INVALID_PARAMS, message, "unknown_event_id");
    with_member(error, "sessionId", id.as_str())
}

/// The error for a text that is no event id.
pub(crate) fn bad_event_id(method: &str) -> Error {
    bad_params(&format!(
        "{method}: lastEventId must be an event id from this agent"
    ))
}

/// The error for a session that is not open on this connection.
pub(crate) fn unknown_session(id: &str) -> Error {
    not_open(NOT_FOUND, id)
}

/// The same error, for the methods that steer a turn.
pub(crate) fn nothing_to_steer(id: &str) -> Error {
    not_open(NOTHING_RUNS, id)
}

fn not_open(code: i32, id: &str) -> Error {
    let message = format!("session {id} is not open here; create, load or resume it first");
    with_member(error(code, message, "unknown_session"), "sessionId", id)
}

/// The error for a request that omits the session while the choice is ambiguous.
pub(crate) fn ambiguous_session() -> Error {
    error(
        INVALID_PARAMS,
        "sessionId is required unless exactly one session is open",
        "session_required",
    )
}

/// The subject of a control request.
#[derive(Clone, Copy)]
pub(crate) enum ControlSubject<'a> {
    Session(&'a str),
    /// The running turn of a session.
    Turn(&'a str),
    Message(&'a str),
    Reminder(&'a str),
}

/// The error for a control request that was not carried out.
pub(crate) fn control(e: &ControlError, about: ControlSubject<'_>) -> Error {
    let (code, reason) = match e {
        ControlError::Refused { result, .. } => (refusal_code(*result), result.as_str()),
        ControlError::Unfit(_) => (INVALID_PARAMS, "invalid_content"),
        ControlError::Closed => (UNAVAILABLE, "session_closed"),
    };
    let message = match (about, e) {
        (
            ControlSubject::Turn(_),
            ControlError::Refused {
                result: ControlResult::NoActivePrompt,
                ..
            },
        ) => "nothing to cancel: no turn is running".to_owned(),
        _ => e.to_string(),
    };
    let error = error(code, message, reason);
    let error = match about {
        ControlSubject::Session(id) | ControlSubject::Turn(id) => {
            with_member(error, "sessionId", id)
        }
        ControlSubject::Message(id) => with_member(error, "messageId", id),
        ControlSubject::Reminder(id) => with_member(error, "reminderId", id),
    };
    match e {
        // The requesting actor and the owner are reported together.
        ControlError::Refused {
            actor,
            owner: Some(owner),
            ..
        } => with_member(
            with_member(error, "actor", actor_value(actor)),
            "owner",
            actor_value(owner),
        ),
        ControlError::Refused { .. } | ControlError::Unfit(_) | ControlError::Closed => error,
    }
}

fn actor_value(actor: &Actor) -> Value {
    // Three strings always serialise.
    serde_json::to_value(ActorFields::from(actor)).unwrap_or_default()
}

fn refusal_code(result: ControlResult) -> i32 {
    match result {
        ControlResult::NoActivePrompt => NOTHING_RUNS,
        ControlResult::QueueFull => UNAVAILABLE,
        ControlResult::AlreadyRevoked
        | ControlResult::AlreadyDelivered
        | ControlResult::UnknownMessageId
        | ControlResult::UnknownReminderId
        | ControlResult::NotOwnerOrNotAuthorized
        | ControlResult::IdInUse => INVALID_PARAMS,
        // Not refusals; no client receives them as errors.
        ControlResult::Accepted
        | ControlResult::Revoked
        | ControlResult::Replaced
        | ControlResult::Cancelled
        | ControlResult::AlreadyCancelled => FAILED,
    }
}

/// The error for a client that sent a controller's request without control.
pub(crate) fn not_in_control(e: &NotInControl) -> Error {
    let (reason, controller, message) = match e {
        NotInControl::NotController { controller } => {
            let controller = controller.as_deref();
            let message = match controller {
                Some(_) => format!("{e}; take control with session/takeover"),
                None => format!("{e}; take control with session/takeover, or attach as controller"),
            };
            ("not_controller", controller, message)
        }
        NotInControl::PromptInjectionOff { controller } => {
            let message = format!("{e}; it may attach again with promptInjection");
            ("prompt_injection_off", Some(&**controller), message)
        }
        NotInControl::PermissionRoutingOff { controller } => {
            let message = format!("{e}; it may attach again with permissionRouting");
            ("permission_routing_off", Some(&**controller), message)
        }
    };
    with_member(
        error(INVALID_PARAMS, message, reason),
        "controller",
        controller,
    )
}

/// The error for a client that could not attach, detach or send a heartbeat.
pub(crate) fn live_client(e: &LiveClientError) -> Error {
    match e {
        LiveClientError::ControllerExists { controller } => {
            let how = "attach with takeover, or call session/takeover, to take control";
            let error = error(INVALID_PARAMS, format!("{e}; {how}"), "controller_exists");
            with_member(error, "controller", controller.as_str())
        }
        LiveClientError::NotAttached { client_id } => {
            let error = error(INVALID_PARAMS, e, "not_attached");
            with_member(error, "clientId", client_id.as_str())
        }
        LiveClientError::TooMany { .. } => error(INVALID_PARAMS, e, "too_many_clients"),
        LiveClientError::TooMuchMetadata { .. } => error(INVALID_PARAMS, e, "too_much_metadata"),
        LiveClientError::Closed => error(UNAVAILABLE, e, "session_closed"),
    }
}

/// The error for a session that is not open in this process, for the methods that need an open one.
pub(crate) fn not_live(id: &str) -> Error {
    let message = format!("session {id} is not live here; load or resume it first");
    let error = error(INVALID_PARAMS, message, "unknown_session");
    with_member(error, "sessionId", id)
}

/// The error for an invalid reminder.
pub(crate) fn reminder(e: &InvalidReminder) -> Error {
    let message = format!("{}: {}", e.code, e.message);
    let error = error(INVALID_PARAMS, message, "invalid_reminder");
    with_member(error, "code", e.code)
}

pub(crate) fn prompt(e: &PromptError) -> Error {
    match e {
        PromptError::Empty => error(INVALID_PARAMS, e, "empty_prompt"),
        PromptError::Unsupported { .. } => error(INVALID_PARAMS, e, "unsupported_content"),
        PromptError::QueueFull { .. } => error(UNAVAILABLE, e, "queue_full"),
        PromptError::Closed => error(UNAVAILABLE, e, "session_closed"),
    }
}

pub(crate) fn setting(e: &SettingError) -> Error {
    match e {
        SettingError::UnknownMode { .. } => error(INVALID_PARAMS, e, "unknown_mode"),
        SettingError::UnknownOption { .. } => error(INVALID_PARAMS, e, "unknown_option"),
        SettingError::UnknownValue { .. } => error(INVALID_PARAMS, e, "unknown_value"),
        SettingError::Closed => error(UNAVAILABLE, e, "session_closed"),
    }
}

pub(crate) fn hitl(e: &HitlError) -> Error {
    match e {
        HitlError::Unknown(_) => error(UNAVAILABLE, e, "unknown_request"),
        HitlError::Unfit(_) => error(INVALID_PARAMS, e, "invalid_params"),
        HitlError::NotAReviewer { .. } => error(INVALID_PARAMS, e, "not_a_reviewer"),
        HitlError::Twice(_) => error(INVALID_PARAMS, e, "answered_already"),
        HitlError::Closed => error(UNAVAILABLE, e, "session_closed"),
    }
}

/// The error for a failed turn.
pub(crate) fn turn_failed(message: &str) -> Error {
    error(FAILED, message, "turn_failed")
}

/// The error for a prompt whose session ended.
pub(crate) fn session_ended(end: &harn_runtime::SessionEnd) -> Error {
    match end {
        harn_runtime::SessionEnd::Closed => {
            error(UNAVAILABLE, "the session is closed", "session_closed")
        }
        harn_runtime::SessionEnd::Failed(reason) => {
            let message = format!(
                "the session's journal failed: {reason}; fix the cause, then load the session again"
            );
            error(FAILED, message, "journal_failed")
        }
    }
}

/// The error for params that do not parse. serde's message states what was expected, and may quote the
/// client's value.
pub(crate) fn params(method: &str, e: &serde_json::Error) -> Error {
    error(INVALID_PARAMS, format!("{method}: {e}"), "invalid_params")
}

pub(crate) fn bad_params(message: &str) -> Error {
    error(INVALID_PARAMS, message, "invalid_params")
}

/// The error for an authentication method that the client was not offered; `offered` is the one that it was.
pub(crate) fn unknown_auth_method(offered: Option<&str>) -> Error {
    let message = match offered {
        Some(id) => format!(
            "unknown authentication method; the only one is `{id}`, and no session needs it"
        ),
        None => "this agent has no authentication methods; skip authenticate".to_owned(),
    };
    error(INVALID_PARAMS, message, "unknown_auth_method")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// Checks the code and the reason of each error.
    #[test]
    fn errors_have_their_code_and_reason() {
        let id = harn_model::SessionId::new("s");
        let corrupt = JournalError::Corrupt {
            path: PathBuf::from("events.jsonl"),
            line: 3,
            reason: "a gap".to_owned(),
        };
        let cases = [
            (
                session(&SessionError::NotFound(id.clone())),
                -32002,
                "unknown_session",
            ),
            (unknown_session("s"), -32002, "unknown_session"),
            (
                session(&SessionError::WrongCwd {
                    id: id.clone(),
                    expected: PathBuf::from("/w"),
                }),
                -32602,
                "wrong_cwd",
            ),
            (session(&SessionError::BadCwd), -32602, "bad_cwd"),
            (session(&SessionError::BadCursor), -32602, "bad_cursor"),
            (
                session(&SessionError::Journal(JournalError::Locked(id))),
                -31000,
                "session_locked",
            ),
            (
                session(&SessionError::Journal(corrupt)),
                -32603,
                "session_corrupt",
            ),
            (
                session(&SessionError::Journal(JournalError::InvalidId)),
                -32002,
                "unknown_session",
            ),
            (
                prompt(&PromptError::Unsupported { kind: "audio" }),
                -32602,
                "unsupported_content",
            ),
            (
                prompt(&PromptError::QueueFull { waiting: 64 }),
                -31000,
                "queue_full",
            ),
            (turn_failed("no"), -32603, "turn_failed"),
            (nothing_to_steer("s"), -32004, "unknown_session"),
            (ambiguous_session(), -32602, "session_required"),
        ];
        for (error, code, reason) in cases {
            assert_eq!(i32::from(error.code), code, "{error:?}");
            let data = error.data.as_ref().and_then(|d| d.get("reason"));
            assert_eq!(data.and_then(|r| r.as_str()), Some(reason), "{error:?}");
        }
    }

    #[test]
    fn every_error_has_details() {
        let details = |error: Error| {
            let mut raw = RawJsonRpcError::from(error);
            add_details(&mut raw);
            raw.into_acp_error().data.unwrap()
        };
        let ours = details(turn_failed("the model is gone"));
        let expected = serde_json::json!({"reason": "turn_failed", "details": "the model is gone"});
        assert_eq!(ours, expected);
        let sdk = details(Error::method_not_found().data("session/teleport"));
        let expected = serde_json::json!({"details": "Method not found: session/teleport"});
        assert_eq!(sdk, expected);
        let bare = details(Error::new(-32600, "no message"));
        assert_eq!(bare, serde_json::json!({"details": "no message"}));
        let null = details(Error::new(-32600, "no").data(serde_json::Value::Null));
        assert_eq!(null, serde_json::json!({"details": "no"}));
    }

    /// Checks a refused control: the contract's word, its code, and its subject.
    #[test]
    fn refused_controls_have_the_contracts_code_and_subject() {
        use ControlResult as R;
        let actor = |client: &str| harn_model::Actor {
            client_id: client.to_owned(),
            role: "observer".to_owned(),
            source: "acp".to_owned(),
        };
        let refused = |result, owner| ControlError::Refused {
            result,
            actor: actor("desk"),
            owner,
        };
        let cases = [
            (R::AlreadyDelivered, -32602, "already_delivered"),
            (R::AlreadyRevoked, -32602, "already_revoked"),
            (R::UnknownMessageId, -32602, "unknown_message_id"),
            (R::UnknownReminderId, -32602, "unknown_reminder_id"),
            (R::IdInUse, -32602, "id_in_use"),
            (R::NoActivePrompt, -32004, "no_active_prompt"),
            (R::QueueFull, -31000, "queue_full"),
        ];
        for (result, code, reason) in cases {
            let error = control(&refused(result, None), ControlSubject::Message("m"));
            assert_eq!(i32::from(error.code), code, "{reason}");
            let data = serde_json::json!({"reason": reason, "messageId": "m"});
            assert_eq!(error.data, Some(data));
        }
        let owned = refused(R::NotOwnerOrNotAuthorized, Some(actor("pad")));
        let error = control(&owned, ControlSubject::Reminder("r"));
        assert_eq!(i32::from(error.code), -32602);
        let data = serde_json::json!({
            "reason": "not_owner_or_not_authorized",
            "reminderId": "r",
            "actor": {"clientId": "desk", "role": "observer", "source": "acp"},
            "owner": {"clientId": "pad", "role": "observer", "source": "acp"},
        });
        assert_eq!(error.data, Some(data));
        let unfit = control(
            &ControlError::Unfit("no".to_owned()),
            ControlSubject::Session("s"),
        );
        assert_eq!(
            (i32::from(unfit.code), unfit.message.as_str()),
            (-32602, "no")
        );
        let invalid = reminder(&InvalidReminder {
            code: "HARN-RMD-001",
            message: "unknown key `x`".to_owned(),
        });
        assert_eq!(invalid.message, "HARN-RMD-001: unknown key `x`");
        let data = serde_json::json!({"reason": "invalid_reminder", "code": "HARN-RMD-001"});
        assert_eq!(invalid.data, Some(data));
    }
}
