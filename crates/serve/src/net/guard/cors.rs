//! The CORS headers, which let a browser's page of another origin connect. Only sent to allowed origins.

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};

const METHODS: &str = "GET, POST, DELETE";
const HEADERS: &str = "authorization, content-type, accept, last-event-id, acp-connection-id, \
                       acp-session-id, x-request-id, x-correlation-id, traceparent";
const EXPOSED: &str = "acp-connection-id, acp-session-id, x-request-id, x-correlation-id";

/// Returns whether the request is a CORS preflight, which has no token.
pub(super) fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS
        && request
            .headers()
            .contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Answers a CORS preflight from `origin`.
pub(super) fn answer_preflight(origin: &HeaderValue) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    put(headers, header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    put(headers, header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
    put(headers, header::ACCESS_CONTROL_MAX_AGE, "600");
    add_allow_headers(headers, origin.clone());
    response
}

/// Lets the page read a response.
pub(super) fn add_allow_headers(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    put(headers, header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    headers.append(header::VARY, HeaderValue::from_static("origin"));
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers.insert(name, HeaderValue::from_static(value));
}
