//! The methods: which side may send each, and the schemas of its params and result.

use super::{TrafficDirection, bridge, extensions::published_schema, shape::LazySchema, steering};

pub(super) struct AcpMethod {
    name: &'static str,
    /// None if both sides may send it.
    pub(super) to: Option<TrafficDirection>,
    pub(super) params: LazySchema,
    /// A notification has none.
    pub(super) result: Option<LazySchema>,
}

/// The schemas have the names of the SDK's types.
macro_rules! request {
    ($to:ident, $name:literal, $shape:literal) => {
        AcpMethod {
            name: $name,
            to: Some($to),
            params: LazySchema::acp(concat!($shape, "Request")),
            result: Some(LazySchema::acp(concat!($shape, "Response"))),
        }
    };
}

const fn notification(
    to: Option<TrafficDirection>,
    name: &'static str,
    params: &'static str,
) -> AcpMethod {
    AcpMethod {
        name,
        to,
        params: LazySchema::acp(params),
        result: None,
    }
}

use TrafficDirection::{ToAgent, ToClient};

static METHODS: [AcpMethod; 29] = [
    request!(ToAgent, "initialize", "Initialize"),
    request!(ToAgent, "authenticate", "Authenticate"),
    request!(ToAgent, "logout", "Logout"),
    request!(ToAgent, "session/new", "NewSession"),
    request!(ToAgent, "session/load", "LoadSession"),
    request!(ToAgent, "session/resume", "ResumeSession"),
    request!(ToAgent, "session/fork", "ForkSession"),
    request!(ToAgent, "session/list", "ListSessions"),
    request!(ToAgent, "session/close", "CloseSession"),
    request!(ToAgent, "session/delete", "DeleteSession"),
    request!(ToAgent, "session/archive", "ArchiveSession"),
    request!(ToAgent, "session/unarchive", "UnarchiveSession"),
    request!(ToAgent, "session/set_title", "SetSessionTitle"),
    request!(ToAgent, "session/set_mode", "SetSessionMode"),
    request!(
        ToAgent,
        "session/set_config_option",
        "SetSessionConfigOption"
    ),
    request!(ToAgent, "session/prompt", "Prompt"),
    notification(Some(ToAgent), "session/cancel", "CancelNotification"),
    notification(None, "$/cancel_request", "CancelRequestNotification"),
    notification(Some(ToClient), "session/update", "SessionNotification"),
    AcpMethod {
        name: "session/request_permission",
        to: Some(ToClient),
        params: LazySchema::acp("RequestPermissionRequest"),
        // The contract adds forms of its own.
        result: Some(LazySchema::contract(|| {
            published_schema("permission-response")
        })),
    },
    request!(ToClient, "fs/read_text_file", "ReadTextFile"),
    request!(ToClient, "fs/write_text_file", "WriteTextFile"),
    request!(ToClient, "terminal/create", "CreateTerminal"),
    request!(ToClient, "terminal/output", "TerminalOutput"),
    request!(ToClient, "terminal/wait_for_exit", "WaitForTerminalExit"),
    request!(ToClient, "terminal/kill", "KillTerminal"),
    request!(ToClient, "terminal/release", "ReleaseTerminal"),
    request!(ToClient, "elicitation/create", "CreateElicitation"),
    notification(
        Some(ToClient),
        "elicitation/complete",
        "CompleteElicitationNotification",
    ),
];

/// The contract's own methods. Their params are not ACP's; the steering methods and the bridge have our
/// schemas.
const CONTRACT: [(TrafficDirection, &str); 24] = [
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

/// The protocol that defines a method.
pub(super) enum MethodOrigin {
    Acp(&'static AcpMethod),
    Contract(TrafficDirection),
    /// The name begins with `_`, so any party may define it.
    Own,
    Nothing,
}

pub(super) fn find_origin(name: &str) -> MethodOrigin {
    if let Some(method) = METHODS.iter().find(|method| method.name == name) {
        return MethodOrigin::Acp(method);
    }
    if let Some((to, _)) = CONTRACT.iter().find(|(_, known)| *known == name) {
        return MethodOrigin::Contract(*to);
    }
    if name == harn_acp::ext::agent_event::METHOD {
        return MethodOrigin::Contract(ToClient);
    }
    if steering::find_method(name).is_some() {
        return MethodOrigin::Contract(steering::WAY);
    }
    if name.starts_with('_') {
        MethodOrigin::Own
    } else {
        MethodOrigin::Nothing
    }
}

/// Returns the schema of an error.
pub(super) fn error_schema() -> &'static LazySchema {
    static ERROR: LazySchema = LazySchema::acp("Error");
    &ERROR
}

/// Returns the schema of a method's result, for methods of ACP, of steering and of the bridge.
pub(super) fn result_schema(name: &str) -> Option<&'static LazySchema> {
    if let Some(method) = steering::find_method(name) {
        return Some(&method.result);
    }
    if let Some(result) = bridge::result_schema(name) {
        return Some(result);
    }
    match find_origin(name) {
        MethodOrigin::Acp(method) => method.result.as_ref(),
        MethodOrigin::Contract(_) | MethodOrigin::Own | MethodOrigin::Nothing => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_known_and_compiles() {
        assert!(error_schema().is_known());
        for method in &METHODS {
            assert!(method.params.is_known(), "{}", method.name);
            let result = method.result.as_ref();
            assert!(result.is_none_or(LazySchema::is_known), "{}", method.name);
        }
    }
}
