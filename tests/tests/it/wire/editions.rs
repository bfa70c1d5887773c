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

fn decode_and_encode<T: DeserializeOwned + Serialize>(value: Value) -> Result<Value> {
    serde_json::to_value(serde_json::from_value::<T>(value)?)
}

macro_rules! edition {
    ($name:ident, $($schema:ident)::+, { $($arm:tt)* }) => {
        mod $name {
            use $($schema)::+ as s;

            use super::{RoundTrip, decode_and_encode};
            use crate::wire::lines::What;

            pub(super) fn reader(what: &What) -> Option<RoundTrip> {
                Some(match what {
                    What::Update => decode_and_encode::<s::SessionNotification>,
                    What::Notification(method) => match method.as_str() {
                        "$/cancel_request" => decode_and_encode::<s::CancelRequestNotification>,
                        // Part of the host bridge; sent only to hosts that requested it.
                        "harn.hitl.requested" => return None,
                        // Sent to hosts that take the extensions.
                        "agent/idle" => return None,
                        other => panic!("{other} is no notification of ours"),
                    },
                    What::Request(method) => match method.as_str() {
                        "session/request_permission" => decode_and_encode::<s::RequestPermissionRequest>,
                        "fs/read_text_file" => decode_and_encode::<s::ReadTextFileRequest>,
                        "fs/write_text_file" => decode_and_encode::<s::WriteTextFileRequest>,
                        "terminal/create" => decode_and_encode::<s::CreateTerminalRequest>,
                        "terminal/wait_for_exit" => decode_and_encode::<s::WaitForTerminalExitRequest>,
                        "terminal/output" => decode_and_encode::<s::TerminalOutputRequest>,
                        "terminal/kill" => decode_and_encode::<s::KillTerminalRequest>,
                        "terminal/release" => decode_and_encode::<s::ReleaseTerminalRequest>,
                        "elicitation/create" => decode_and_encode::<s::CreateElicitationRequest>,
                        // Part of the host bridge; sent only to hosts that requested it.
                        "builtin_call" | "host/call" | "host/capabilities" | "host/tools/list"
                        | "skill/match" | "skills/fetch" | "skills/list" => return None,
                        other => panic!("{other} is no request of ours"),
                    },
                    What::Response(method) => match method.as_str() {
                        "initialize" => decode_and_encode::<s::InitializeResponse>,
                        "authenticate" => decode_and_encode::<s::AuthenticateResponse>,
                        "logout" => decode_and_encode::<s::LogoutResponse>,
                        "session/new" => decode_and_encode::<s::NewSessionResponse>,
                        "session/load" => decode_and_encode::<s::LoadSessionResponse>,
                        "session/resume" => decode_and_encode::<s::ResumeSessionResponse>,
                        "session/fork" => decode_and_encode::<s::ForkSessionResponse>,
                        "session/list" => decode_and_encode::<s::ListSessionsResponse>,
                        "session/close" => decode_and_encode::<s::CloseSessionResponse>,
                        "session/prompt" => decode_and_encode::<s::PromptResponse>,
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
                        "session/set_mode" => decode_and_encode::<s::SetSessionModeResponse>,
                        "session/set_config_option" => decode_and_encode::<s::SetSessionConfigOptionResponse>,
                        $($arm)*
                        other => panic!("{other} has no answer of ours"),
                    },
                    What::Error => decode_and_encode::<s::Error>,
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
    "session/archive" => decode_and_encode::<s::ArchiveSessionResponse>,
    "session/delete" => decode_and_encode::<s::DeleteSessionResponse>,
    "session/set_title" => decode_and_encode::<s::SetSessionTitleResponse>,
    "session/unarchive" => decode_and_encode::<s::UnarchiveSessionResponse>,
});
