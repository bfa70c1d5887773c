//! `agent/idle`: the sign of life of an agent that stays and waits for more to do, to hosts that read JSON
//! themselves. Typed clients get it as an agent event.

use std::borrow::Cow;

use crate::JsonSchema;
use harn_lines::rpc::RpcMessage;
use harn_model::SessionId;
use serde::{Deserialize, Serialize};

/// The notification's method.
pub const METHOD: &str = "agent/idle";

/// What it is for, told at `initialize`.
pub(crate) const DESCRIPTION: &str =
    "The agent waits for more to do; comes again after `backoff_ms`, at most every two seconds.";

/// The `params` of `agent/idle`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AgentIdle", deny_unknown_fields)]
pub struct AgentIdleParams<'a> {
    /// Which session's agent.
    #[serde(rename = "sessionId")]
    pub session_id: Cow<'a, str>,
    /// How often its turn had started an iteration.
    pub iteration: u64,
    /// When the next one comes, in milliseconds, unless the agent wakes.
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
