//! `session/request_permission`: the question as a client needs to see it, what its answer means, and the
//! note in the transcript that it was put to somebody.

mod answer;
mod request;
#[cfg(test)]
mod tests;

use harn_model::{LiveClient, LiveClientMode, PermissionAsked, PermissionRoute, Timestamp};
use serde_json::{Map, Value};

pub(crate) use answer::decision;
pub(crate) use request::{Request, message};

/// That this client was asked.
pub(crate) fn route(ask: &PermissionAsked, client: &str, now: Timestamp) -> PermissionRoute {
    let seconds = (now / 1000).to_string();
    PermissionRoute {
        request_id: ask.tool_call.tool_call_id.to_string(),
        ask_id: Some(ask.ask_id.clone()),
        client: LiveClient {
            client_id: client.to_owned(),
            mode: LiveClientMode::Controller,
            attached_at: seconds.clone(),
            last_seen_at: seconds,
            prompt_injection: true,
            permission_routing: true,
            metadata: Value::Object(Map::new()),
        },
        metadata: Value::Null,
    }
}
