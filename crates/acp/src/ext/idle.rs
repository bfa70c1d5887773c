//! `agent/idle`: the repeated notification that a daemon agent waits for more to do, for hosts that parse
//! JSON themselves. Typed clients receive an agent event instead.

use std::borrow::Cow;

use crate::JsonSchema;
use harn_lines::rpc::RpcMessage;
use harn_model::SessionId;
use serde::{Deserialize, Serialize};

/// The method name of the notification.
pub const METHOD: &str = "agent/idle";

/// The description that `initialize` advertises.
pub(crate) const DESCRIPTION: &str =
    "The agent is idle; repeated after `backoff_ms`, at most every two seconds.";

/// The `params` of `agent/idle`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AgentIdle", deny_unknown_fields)]
pub struct AgentIdleParams<'a> {
    /// The session of the agent.
    #[serde(rename = "sessionId")]
    pub session_id: Cow<'a, str>,
    /// The number of iterations that the turn has started.
    pub iteration: u64,
    /// Milliseconds until the next notification, unless the agent wakes.
    pub backoff_ms: u64,
}

pub(crate) fn write(session: &SessionId, iteration: u64, backoff_ms: u64, out: &mut Vec<u8>) {
    let params = AgentIdleParams {
        session_id: session.as_str().into(),
        iteration,
        backoff_ms,
    };
    // Strings and numbers always serialise.
    let _ = RpcMessage::notification(METHOD, params).write_line(out);
}
