//! `session/request_permission`: the question as a client needs to see it, what its answer means, and the
//! note in the transcript that it was put to somebody.

mod answer;
mod request;
#[cfg(test)]
mod tests;

use harn_model::{LiveClient, LiveClientMode, PermissionAsked, PermissionRoute, Timestamp};
use serde_json::{Map, Value};

pub(crate) use answer::{decision, not_asked};
pub(crate) use request::{Request, message};

pub(crate) const METHOD: &str = "session/request_permission";

/// That this client was asked.
pub(crate) fn route(ask: &PermissionAsked, client: &str, now: Timestamp) -> PermissionRoute {
    PermissionRoute {
        request_id: ask.tool_call.tool_call_id.to_string(),
        ask_id: Some(ask.ask_id.clone()),
        client: live_client(client, now),
        metadata: Value::Null,
    }
}

/// A client that is asked, as the transcript tells of it.
pub(crate) fn live_client(name: &str, now: Timestamp) -> LiveClient {
    let seconds = (now / 1000).to_string();
    LiveClient {
        client_id: name.to_owned(),
        mode: LiveClientMode::Controller,
        attached_at: seconds.clone(),
        last_seen_at: seconds,
        prompt_injection: true,
        permission_routing: true,
        metadata: Value::Object(Map::new()),
    }
}
