//! The methods: who may send each, and what it and its answer look like.

use agent_client_protocol::v1::schema as acp;
use schemars::JsonSchema;

use super::{Direction, shape::Shape};

/// A method of ACP.
pub(super) struct Method {
    name: &'static str,
    /// None where both sides may send it.
    pub(super) to: Option<Direction>,
    pub(super) params: Shape,
    /// None for notifications.
    pub(super) result: Option<Shape>,
    /// Members of the params that the contract adds beside ACP's.
    pub(super) beside: &'static [&'static str],
}

impl Method {
    const fn beside(mut self, names: &'static [&'static str]) -> Self {
        self.beside = names;
        self
    }
}

const fn request<P: JsonSchema, R: JsonSchema>(to: Direction, name: &'static str) -> Method {
    Method {
        name,
        to: Some(to),
        params: Shape::acp::<P>(),
        result: Some(Shape::acp::<R>()),
        beside: &[],
    }
}

const fn notification<P: JsonSchema>(to: Option<Direction>, name: &'static str) -> Method {
    Method {
        name,
        to,
        params: Shape::acp::<P>(),
        result: None,
        beside: &[],
    }
}

use Direction::{ToAgent, ToClient};

static METHODS: [Method; 26] = [
    request::<acp::InitializeRequest, acp::InitializeResponse>(ToAgent, "initialize"),
    request::<acp::AuthenticateRequest, acp::AuthenticateResponse>(ToAgent, "authenticate"),
    request::<acp::LogoutRequest, acp::LogoutResponse>(ToAgent, "logout"),
    request::<acp::NewSessionRequest, acp::NewSessionResponse>(ToAgent, "session/new"),
    request::<acp::LoadSessionRequest, acp::LoadSessionResponse>(ToAgent, "session/load"),
    request::<acp::ResumeSessionRequest, acp::ResumeSessionResponse>(ToAgent, "session/resume"),
    request::<acp::ForkSessionRequest, acp::ForkSessionResponse>(ToAgent, "session/fork"),
    request::<acp::ListSessionsRequest, acp::ListSessionsResponse>(ToAgent, "session/list"),
    request::<acp::CloseSessionRequest, acp::CloseSessionResponse>(ToAgent, "session/close"),
    request::<acp::DeleteSessionRequest, acp::DeleteSessionResponse>(ToAgent, "session/delete"),
    request::<acp::SetSessionModeRequest, acp::SetSessionModeResponse>(ToAgent, "session/set_mode"),
    request::<acp::SetSessionConfigOptionRequest, acp::SetSessionConfigOptionResponse>(
        ToAgent,
        "session/set_config_option",
    ),
    request::<acp::PromptRequest, acp::PromptResponse>(ToAgent, "session/prompt"),
    notification::<acp::CancelNotification>(Some(ToAgent), "session/cancel"),
    notification::<acp::CancelRequestNotification>(None, "$/cancel_request"),
    notification::<acp::SessionNotification>(Some(ToClient), "session/update"),
    request::<acp::RequestPermissionRequest, acp::RequestPermissionResponse>(
        ToClient,
        "session/request_permission",
    )
    .beside(&[
        "approvalRequest",
        "declaredPaths",
        "mutation",
        "policyDecision",
    ]),
    request::<acp::ReadTextFileRequest, acp::ReadTextFileResponse>(ToClient, "fs/read_text_file"),
    request::<acp::WriteTextFileRequest, acp::WriteTextFileResponse>(
        ToClient,
        "fs/write_text_file",
    ),
    request::<acp::CreateTerminalRequest, acp::CreateTerminalResponse>(ToClient, "terminal/create"),
    request::<acp::TerminalOutputRequest, acp::TerminalOutputResponse>(ToClient, "terminal/output"),
    request::<acp::WaitForTerminalExitRequest, acp::WaitForTerminalExitResponse>(
        ToClient,
        "terminal/wait_for_exit",
    ),
    request::<acp::KillTerminalRequest, acp::KillTerminalResponse>(ToClient, "terminal/kill"),
    request::<acp::ReleaseTerminalRequest, acp::ReleaseTerminalResponse>(
        ToClient,
        "terminal/release",
    ),
    request::<acp::CreateElicitationRequest, acp::CreateElicitationResponse>(
        ToClient,
        "elicitation/create",
    ),
    notification::<acp::CompleteElicitationNotification>(Some(ToClient), "elicitation/complete"),
];

/// The contract's own methods. Their params are not ACP's and have no schema here.
const CONTRACT: [(Direction, &str); 22] = [
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
    (ToClient, "host/call"),
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
    if name == crate::ext::agent_event::METHOD {
        return Known::Contract(ToClient);
    }
    if name.starts_with('_') {
        Known::Own
    } else {
        Known::Nothing
    }
}

/// What an error looks like.
pub(super) fn error() -> &'static Shape {
    static ERROR: Shape = Shape::acp::<acp::Error>();
    &ERROR
}

/// What the answer to a method looks like, if it is ACP's.
pub(super) fn result(name: &str) -> Option<&'static Shape> {
    match known(name) {
        Known::Acp(method) => method.result.as_ref(),
        Known::Contract(_) | Known::Own | Known::Nothing => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_compiles() {
        for method in &METHODS {
            assert!(method.params.compiles(), "{}", method.name);
            let result = method.result.as_ref();
            assert!(result.is_none_or(Shape::compiles), "{}", method.name);
        }
    }
}
