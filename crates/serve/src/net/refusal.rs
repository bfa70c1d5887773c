//! How somebody is told no: in words, or in what their protocol has for it where it wants one for everything.

use axum::{
    extract::Request,
    http::StatusCode,
    response::{IntoResponse, Response},
};

use super::login;

/// The answer to a request that goes no further.
pub(super) fn refusal(request: &Request, status: StatusCode, words: &'static str) -> Response {
    match request.uri().path() {
        path if harn_openharness::PATHS.contains(&path) => {
            harn_openharness::refusal(status, words, request.headers())
        }
        path if login::PATHS.contains(&path) => login::refusal(status, words),
        _ => (status, words).into_response(),
    }
}
