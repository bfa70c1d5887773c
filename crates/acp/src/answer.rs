//! Answering a request.

use agent_client_protocol::{Error, Responder};

/// Answers a request. The connection may be gone; then nobody waits.
pub(crate) fn answer<T: serde::Serialize>(responder: Responder, result: Result<T, Error>) {
    let result = result.and_then(|value| serde_json::to_value(value).map_err(Error::from));
    if responder.respond_with_result(result).is_err() {
        tracing::debug!("the client left before its answer");
    }
}
