//! `harn.hitl.requested` and `harn.hitl.respond`: the questions that hosts with the bridge receive, and the
//! answers. The names are the contract's, in snake_case.

use crate::JsonSchema;
use harn_lines::rpc::RpcMessage;
use harn_model::{HitlKind, HitlRequest, SessionId, format_rfc3339};
use serde::Serialize;
use serde_json::Value;

/// Notifies a host that the agent asks a person.
pub(crate) const REQUESTED: &str = "harn.hitl.requested";

/// The `params` of `harn.hitl.requested`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HitlRequested", deny_unknown_fields)]
pub(crate) struct HitlRequestedParams<'a> {
    /// The id to send with the answer; begins with `hitl_` and the kind.
    request_id: &'a str,
    /// The kind of the question; it determines which member of the answer is read.
    kind: HitlKind,
    /// The name of the agent or worker that asks.
    agent: &'a str,
    /// The session whose controller answers.
    trace_id: &'a str,
    /// The turn that the question belongs to.
    run_id: &'a str,
    /// The time of the question, RFC 3339.
    requested_at: String,
    /// The question, as in `hitl_request`.
    payload: Value,
}

/// Returns the line of the notification.
pub(crate) fn requested_notification(session: &SessionId, request: &HitlRequest) -> Vec<u8> {
    let params = HitlRequestedParams {
        request_id: &request.request_id,
        kind: request.kind,
        agent: &request.agent,
        trace_id: session.as_str(),
        run_id: request.turn.as_str(),
        requested_at: format_rfc3339(request.requested_at),
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
