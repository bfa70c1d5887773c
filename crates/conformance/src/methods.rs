//! The methods: who may send each, and what it and its answer look like.

use super::{Direction, bridge, extensions::published, shape::Shape, steering};

/// A method of ACP.
pub(super) struct Method {
    name: &'static str,
    /// None where both sides may send it.
    pub(super) to: Option<Direction>,
    pub(super) params: Shape,
    /// None for notifications.
    pub(super) result: Option<Shape>,
}

const fn request(
    to: Direction,
    name: &'static str,
    params: &'static str,
    result: &'static str,
) -> Method {
    Method {
        name,
        to: Some(to),
        params: Shape::acp(params),
        result: Some(Shape::acp(result)),
    }
}

const fn notification(to: Option<Direction>, name: &'static str, params: &'static str) -> Method {
    Method {
        name,
        to,
        params: Shape::acp(params),
        result: None,
    }
}

use Direction::{ToAgent, ToClient};

/// The shapes are named as the types of the SDK are.
static METHODS: [Method; 29] = [
    request(
        ToAgent,
        "initialize",
        "InitializeRequest",
        "InitializeResponse",
    ),
    request(
        ToAgent,
        "authenticate",
        "AuthenticateRequest",
        "AuthenticateResponse",
    ),
    request(ToAgent, "logout", "LogoutRequest", "LogoutResponse"),
    request(
        ToAgent,
        "session/new",
        "NewSessionRequest",
        "NewSessionResponse",
    ),
    request(
        ToAgent,
        "session/load",
        "LoadSessionRequest",
        "LoadSessionResponse",
    ),
    request(
        ToAgent,
        "session/resume",
        "ResumeSessionRequest",
        "ResumeSessionResponse",
    ),
    request(
        ToAgent,
        "session/fork",
        "ForkSessionRequest",
        "ForkSessionResponse",
    ),
    request(
        ToAgent,
        "session/list",
        "ListSessionsRequest",
        "ListSessionsResponse",
    ),
    request(
        ToAgent,
        "session/close",
        "CloseSessionRequest",
        "CloseSessionResponse",
    ),
    request(
        ToAgent,
        "session/delete",
        "DeleteSessionRequest",
        "DeleteSessionResponse",
    ),
    request(
        ToAgent,
        "session/archive",
        "ArchiveSessionRequest",
        "ArchiveSessionResponse",
    ),
    request(
        ToAgent,
        "session/unarchive",
        "UnarchiveSessionRequest",
        "UnarchiveSessionResponse",
    ),
    request(
        ToAgent,
        "session/set_title",
        "SetSessionTitleRequest",
        "SetSessionTitleResponse",
    ),
    request(
        ToAgent,
        "session/set_mode",
        "SetSessionModeRequest",
        "SetSessionModeResponse",
    ),
    request(
        ToAgent,
        "session/set_config_option",
        "SetSessionConfigOptionRequest",
        "SetSessionConfigOptionResponse",
    ),
    request(ToAgent, "session/prompt", "PromptRequest", "PromptResponse"),
    notification(Some(ToAgent), "session/cancel", "CancelNotification"),
    notification(None, "$/cancel_request", "CancelRequestNotification"),
    notification(Some(ToClient), "session/update", "SessionNotification"),
    Method {
        name: "session/request_permission",
        to: Some(ToClient),
        params: Shape::acp("RequestPermissionRequest"),
        // The contract has forms of its own.
        result: Some(Shape::contract(|| published("permission-response"))),
    },
    request(
        ToClient,
        "fs/read_text_file",
        "ReadTextFileRequest",
        "ReadTextFileResponse",
    ),
    request(
        ToClient,
        "fs/write_text_file",
        "WriteTextFileRequest",
        "WriteTextFileResponse",
    ),
    request(
        ToClient,
        "terminal/create",
        "CreateTerminalRequest",
        "CreateTerminalResponse",
    ),
    request(
        ToClient,
        "terminal/output",
        "TerminalOutputRequest",
        "TerminalOutputResponse",
    ),
    request(
        ToClient,
        "terminal/wait_for_exit",
        "WaitForTerminalExitRequest",
        "WaitForTerminalExitResponse",
    ),
    request(
        ToClient,
        "terminal/kill",
        "KillTerminalRequest",
        "KillTerminalResponse",
    ),
    request(
        ToClient,
        "terminal/release",
        "ReleaseTerminalRequest",
        "ReleaseTerminalResponse",
    ),
    request(
        ToClient,
        "elicitation/create",
        "CreateElicitationRequest",
        "CreateElicitationResponse",
    ),
    notification(
        Some(ToClient),
        "elicitation/complete",
        "CompleteElicitationNotification",
    ),
];

/// The contract's own methods. Their params are not ACP's; those that steer a turn and the bridge's have schemas of ours.
const CONTRACT: [(Direction, &str); 24] = [
    (ToAgent, "agent/resume"),
    (ToAgent, "harn.hitl.respond"),
    (ToAgent, "session/attach"),
    (ToAgent, "session/detach"),
    (ToAgent, "session/heartbeat"),
    (ToAgent, "session/inject"),
    (ToAgent, "session/live_clients"),
    (ToAgent, "session/pending_injections"),
    (ToAgent, "session/remind"),
    (ToAgent, "session/replace_inject"),
    (ToAgent, "session/revoke_inject"),
    (ToAgent, "session/revoke_reminder"),
    (ToAgent, "session/stop"),
    (ToAgent, "session/takeover"),
    (ToAgent, "skills/update"),
    (ToClient, "agent/idle"),
    (ToClient, "builtin_call"),
    (ToClient, "harn.hitl.requested"),
    (ToClient, "host/call"),
    (ToClient, "host/capabilities"),
    (ToClient, "host/tools/list"),
    (ToClient, "skill/match"),
    (ToClient, "skills/fetch"),
    (ToClient, "skills/list"),
];

/// What is known of a method by its name.
pub(super) enum Known {
    Acp(&'static Method),
    Contract(Direction),
    /// It begins with `_`, so anybody may have made it up.
    Own,
    Nothing,
}

pub(super) fn known(name: &str) -> Known {
    if let Some(method) = METHODS.iter().find(|method| method.name == name) {
        return Known::Acp(method);
    }
    if let Some((to, _)) = CONTRACT.iter().find(|(_, known)| *known == name) {
        return Known::Contract(*to);
    }
    if name == harn_acp::ext::agent_event::METHOD {
        return Known::Contract(ToClient);
    }
    if steering::method(name).is_some() {
        return Known::Contract(steering::WAY);
    }
    if name.starts_with('_') {
        Known::Own
    } else {
        Known::Nothing
    }
}

/// What an error looks like.
pub(super) fn error() -> &'static Shape {
    static ERROR: Shape = Shape::acp("Error");
    &ERROR
}

/// What the answer to a method looks like, if it is ACP's, steers a turn or is of the bridge.
pub(super) fn result(name: &str) -> Option<&'static Shape> {
    if let Some(method) = steering::method(name) {
        return Some(&method.result);
    }
    if let Some(result) = bridge::result(name) {
        return Some(result);
    }
    match known(name) {
        Known::Acp(method) => method.result.as_ref(),
        Known::Contract(_) | Known::Own | Known::Nothing => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_known_and_compiles() {
        assert!(error().is_known());
        for method in &METHODS {
            assert!(method.params.is_known(), "{}", method.name);
            let result = method.result.as_ref();
            assert!(result.is_none_or(Shape::is_known), "{}", method.name);
        }
    }
}
