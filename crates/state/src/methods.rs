//! The HTTP methods, one file each, and their shared functions.

pub(crate) mod output;
pub(crate) mod query;
#[cfg(test)]
mod tests;
pub(crate) mod timeline;

use axum::{
    http::{HeaderName, StatusCode, header},
    response::{IntoResponse, Response},
};
use harn_model::SessionId;
use harn_runtime::{Hub, Observer};
use serde::Serialize;

use crate::error::StateError;

/// Returns an observer of a session, and opens the session if necessary.
async fn observe(hub: &Hub, session: &SessionId) -> Result<Observer, StateError> {
    match hub.live_session(session) {
        Some(session) => Ok(session.observer()),
        None => Ok(hub.open(session, None).await?.observer()),
    }
}

/// Builds a JSON response that must not be cached.
fn json_response(body: &impl Serialize) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    match serde_json::to_vec(body) {
        Ok(body) => (headers, body).into_response(),
        Err(error) => StateError::Session {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            words: error.to_string(),
        }
        .into_response(),
    }
}

/// Builds a response with the output of a tool, which anyone may have written: a browser must not run any of it
/// under our address.
fn tool_text_response(text: String) -> Response {
    let headers: [(HeaderName, &str); 4] = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, "sandbox"),
    ];
    (StatusCode::OK, headers, text).into_response()
}
