//! Two editions of the ACP schema, and how each reads a line.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Result, Value};

use crate::wire::lines::{Line, What};

/// An edition of the schema.
pub(crate) struct Edition {
    pub(crate) name: &'static str,
    read: fn(&What) -> Option<RoundTrip>,
    /// Members that it does not know yet and drops without harm.
    pub(crate) unknown: &'static [&'static str],
}

/// The edition to which the wire is pinned.
pub(crate) const PINNED: Edition = Edition {
    name: "schema 0.12.2",
    read: pinned::reader,
    unknown: &[
        "/agentCapabilities/session",
        "/agentCapabilities/sessionCapabilities/delete",
        // Sent only to clients of a newer schema; a client that proposes a later version counts as one.
        "/agentCapabilities/sessionCapabilities/archive",
        "/agentCapabilities/sessionCapabilities/title",
    ],
};

/// The edition of current editors.
pub(crate) const NEWEST: Edition = Edition {
    name: "schema 1",
    read: newest::reader,
    unknown: &["/agentCapabilities/session"],
};

impl Edition {
    /// Reads the line and writes it again. Returns `None` for a method that this edition does not have.
    pub(crate) fn round_trip(&self, line: &Line) -> Option<Result<Value>> {
        let round_trip = (self.read)(&line.what)?;
        Some(round_trip(line.value.clone()))
    }
}

type RoundTrip = fn(Value) -> Result<Value>;

fn through<T: DeserializeOwned + Serialize>(value: Value) -> Result<Value> {
    serde_json::to_value(serde_json::from_value::<T>(value)?)
}

macro_rules! edition {
    ($name:ident, $($schema:ident)::+, { $($arm:tt)* }) => {
        mod $name {
            use $($schema)::+ as s;

            use super::{RoundTrip, through};
            use crate::wire::lines::What;

            pub(super) fn reader(what: &What) -> Option<RoundTrip> {
                Some(match what {
                    What::Update => through::<s::SessionNotification>,
                    What::Notification(method) => match method.as_str() {
                        "$/cancel_request" => through::<s::CancelRequestNotification>,
                        // Part of the host bridge; sent only to hosts that requested it.
                        "harn.hitl.requested" => return None,
                        // Sent to hosts that take the extensions.
                        "agent/idle" => return None,
                        other => panic!("{other} is no notification of ours"),
                    },
                    What::Request(method) => match method.as_str() {
                        "session/request_permission" => through::<s::RequestPermissionRequest>,
                        "fs/read_text_file" => through::<s::ReadTextFileRequest>,
                        "fs/write_text_file" => through::<s::WriteTextFileRequest>,
                        "terminal/create" => through::<s::CreateTerminalRequest>,
                        "terminal/wait_for_exit" => through::<s::WaitForTerminalExitRequest>,
                        "terminal/output" => through::<s::TerminalOutputRequest>,
                        "terminal/kill" => through::<s::KillTerminalRequest>,
                        "terminal/release" => through::<s::ReleaseTerminalRequest>,
                        "elicitation/create" => through::<s::CreateElicitationRequest>,
                        // Part of the host bridge; sent only to hosts that requested it.
                        "builtin_call" | "host/call" | "host/capabilities" | "host/tools/list"
                        | "skill/match" | "skills/fetch" | "skills/list" => return None,
                        other => panic!("{other} is no request of ours"),
                    },
                    What::Response(method) => match method.as_str() {
                        "initialize" => through::<s::InitializeResponse>,
                        "authenticate" => through::<s::AuthenticateResponse>,
                        "logout" => through::<s::LogoutResponse>,
                        "session/new" => through::<s::NewSessionResponse>,
                        "session/load" => through::<s::LoadSessionResponse>,
                        "session/resume" => through::<s::ResumeSessionResponse>,
                        "session/fork" => through::<s::ForkSessionResponse>,
                        "session/list" => through::<s::ListSessionsResponse>,
                        "session/close" => through::<s::CloseSessionResponse>,
                        "session/prompt" => through::<s::PromptResponse>,
                        "harn.hitl.respond" => return None,
                        // Part of the contract; `session/cancel` is no request in ACP.
                        "agent/resume"
                        | "session/attach"
                        | "session/cancel"
                        | "session/detach"
                        | "session/heartbeat"
                        | "session/inject"
                        | "session/live_clients"
                        | "session/pending_injections"
                        | "session/remind"
                        | "session/replace_inject"
                        | "session/revoke_inject"
                        | "session/revoke_reminder"
                        | "session/takeover"
                        | "_session/steering" => return None,
                        "session/set_mode" => through::<s::SetSessionModeResponse>,
                        "session/set_config_option" => through::<s::SetSessionConfigOptionResponse>,
                        $($arm)*
                        other => panic!("{other} has no answer of ours"),
                    },
                    What::Error => through::<s::Error>,
                    What::AgentEvent => return None,
                })
            }
        }
    };
}

edition!(pinned, schema_0_12, {
    "session/archive" | "session/delete" | "session/set_title" | "session/unarchive" => return None,
});
edition!(newest, schema_1::v1, {
    "session/archive" => through::<s::ArchiveSessionResponse>,
    "session/delete" => through::<s::DeleteSessionResponse>,
    "session/set_title" => through::<s::SetSessionTitleResponse>,
    "session/unarchive" => through::<s::UnarchiveSessionResponse>,
});
