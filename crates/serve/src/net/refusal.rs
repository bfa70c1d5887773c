//! How somebody is told no: in words, or in what their protocol has for it where it wants one for everything.

use axum::{
    extract::Request,
    http::StatusCode,
    response::{IntoResponse, Response},
};

/// The answer to a request that goes no further.
pub(super) fn refusal(request: &Request, status: StatusCode, words: &'static str) -> Response {
    match harn_openharness::PATHS.contains(&request.uri().path()) {
        true => harn_openharness::refusal(status, words, request.headers()),
        false => (status, words).into_response(),
    }
}
