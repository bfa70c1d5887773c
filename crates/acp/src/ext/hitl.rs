//! `harn.hitl.requested` and `harn.hitl.respond`: what hosts that have the bridge are asked, and how they
//! answer. The names are the contract's, in snake_case.

use crate::JsonSchema;
use harn_lines::rpc::RpcMessage;
use harn_model::{HitlKind, HitlRequest, SessionId, rfc3339};
use serde::Serialize;
use serde_json::Value;

/// Tells a host that a person is asked something.
pub(crate) const REQUESTED: &str = "harn.hitl.requested";

/// The `params` of `harn.hitl.requested`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HitlRequested", deny_unknown_fields)]
pub(crate) struct HitlRequestedParams<'a> {
    /// What to name in the answer; begins with `hitl_` and the kind.
    request_id: &'a str,
    /// What sort of thing is asked, and so which member answers it.
    kind: HitlKind,
    /// Who asks: the agent, or the worker.
    agent: &'a str,
    /// The session whose controller is asked.
    trace_id: &'a str,
    /// The turn it belongs to.
    run_id: &'a str,
    /// Since when, RFC 3339.
    requested_at: String,
    /// What is asked, as in `hitl_request`.
    payload: Value,
}

/// The line that tells of it.
pub(crate) fn requested(session: &SessionId, request: &HitlRequest) -> Vec<u8> {
    let params = HitlRequestedParams {
        request_id: &request.request_id,
        kind: request.kind,
        agent: &request.agent,
        trace_id: session.as_str(),
        run_id: request.turn.as_str(),
        requested_at: rfc3339(request.requested_at),
        payload: request.payload(),
    };
    let mut line = Vec::new();
    // Strings and JSON values always serialise.
    let _ = RpcMessage::notification(REQUESTED, params).write_line(&mut line);
    line
}

/// The `result` of `harn.hitl.respond`.
#[derive(Serialize)]
pub(crate) struct HitlRespondResult {
    pub(crate) ok: bool,
}
