//! Answers as they go out: what is told of a run, or why there is nothing to tell. Pure.

use harn_model::Timestamp;
use serde_json::json;

use crate::{
    asked::{Asked, Echo},
    error::Fault,
    told::Told,
};

/// The envelope that tells of a run.
pub(crate) fn answer(asked: &Asked, told: &Told, now: Timestamp) -> Vec<u8> {
    let _ = now;
    let text = told.messages.join("\n\n");
    let envelope = json!({
        "protocol_version": "1.0.0",
        "request_id": asked.echo.request_id,
        "correlation_id": asked.echo.correlation_id,
        "response": {
            "status": "success",
            "continuation": { "run_id": told.place.run_id(), "continuation_token": told.place.token() },
            "action_directives": [{ "action_type": "render_message", "payload": { "text": text } }],
        },
    });
    envelope.to_string().into_bytes()
}

/// The envelope that says what went wrong.
pub(crate) fn fault(echo: &Echo, fault: &Fault) -> Vec<u8> {
    let envelope = json!({
        "protocol_version": "1.0.0",
        "request_id": echo.request_id,
        "correlation_id": echo.correlation_id,
        "response": {
            "status": "error",
            "error": {
                "code": fault.code(),
                "message": fault.words(),
                "retryable": fault.retryable(),
                "details": fault.details(),
            },
        },
    });
    envelope.to_string().into_bytes()
}
