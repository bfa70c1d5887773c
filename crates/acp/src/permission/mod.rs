//! `session/request_permission`: the request to a client, the interpretation of its answer, and the
//! transcript's record of the client that was asked.

mod answer;
mod offer;
mod request;
#[cfg(test)]
mod tests;

use harn_model::{LiveClient, PermissionAsked, PermissionRoute};
use serde_json::Value;

pub(crate) use answer::{
    HostVerdict, NOT_OFFERED, NOT_UNDERSTOOD, decision, describe_request_error, verdict,
};
pub(crate) use offer::select_options;
#[cfg(test)]
pub(crate) use request::PermissionRequestParams;
pub(crate) use request::{QuestionAddressee, approval_message, message};

pub(crate) const METHOD: &str = "session/request_permission";

/// Returns the record that this client was asked.
pub(crate) fn route(ask: &PermissionAsked, client: LiveClient) -> PermissionRoute {
    PermissionRoute {
        request_id: ask.tool_call.tool_call_id.to_string(),
        ask_id: Some(ask.ask_id.clone()),
        client,
        metadata: Value::Null,
    }
}
