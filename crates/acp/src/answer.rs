//! Sends the answer to a request.

use std::sync::Arc;

use agent_client_protocol::{Error, Responder};
use harn_model::Seq;
use harn_runtime::Observer;
use serde::Serialize;

use crate::attached_session::AttachedSession;

/// Answers a request. If the connection has ended, no client waits for it.
pub(crate) fn answer<T: Serialize>(responder: Responder, result: Result<T, Error>) {
    let result = result.and_then(|value| serde_json::to_value(value).map_err(Error::from));
    if responder.respond_with_result(result).is_err() {
        tracing::debug!("the client disconnected before it received its answer");
    }
}

/// Answers a request that changed a session, once the updates about the change are queued. Builds the answer at
/// that time.
pub(crate) fn answer_after_update<T: Serialize>(
    responder: Responder,
    changed: Result<(Arc<AttachedSession>, Seq), Error>,
    result: impl FnOnce(&Observer) -> T + Send + 'static,
) {
    match changed {
        Ok((attached, seq)) => {
            let session = attached.session.observer();
            attached.reply_after(seq, move || answer(responder, Ok(result(&session))));
        }
        Err(error) => answer::<()>(responder, Err(error)),
    }
}
