//! The routes, and the common form of their responses: every body is an envelope.

use std::{path::PathBuf, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header},
    response::{IntoResponse, Response},
    routing::any,
};
use harn_lines::{
    body::{self, BodyError},
    pace::ClientQuotas,
};
use harn_model::Principal;
use harn_runtime::Hub;
use tokio_util::sync::CancellationToken;

use crate::{error::OpenHarnessError, from_wire, request::EchoedIds, runs::RunRegistry, to_wire};

/// The paths that accept requests.
pub const PATHS: [&str; 2] = ["/v1/openharness", "/openharness/invoke"];

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const CORRELATION_ID: HeaderName = HeaderName::from_static("x-correlation-id");
const JSON: &str = "application/json";

/// A rejected body is read and dropped up to this many times the limit.
const TIMES: usize = 16;

/// The sessions to serve, and the limits.
#[derive(Clone)]
pub struct OpenHarnessConfig {
    /// The sessions; each request uses them as its own principal.
    pub hub: Hub,
    /// The working directory of sessions; absolute.
    pub directory: PathBuf,
    /// The longest accepted body, in bytes.
    pub body_bytes: usize,
    /// The most requests at a time; a quarter is reserved from each principal for the others.
    pub requests: usize,
    /// The most runs at a time, with or without a waiting request; the same quarter is reserved.
    pub runs: usize,
    /// The most sessions to keep open between requests; more stay open while they are in use.
    pub sessions: usize,
    /// The most prompts of a session that may wait behind the running one.
    pub waiting: usize,
    /// How long a request waits for its run before it gets the state so far.
    pub patience: Duration,
    /// Ends the waiting requests with a response, and rejects new ones.
    pub ending: CancellationToken,
}

impl OpenHarnessConfig {
    /// Creates a configuration with the default limits.
    pub fn new(hub: Hub, directory: PathBuf) -> Self {
        Self {
            hub,
            directory,
            body_bytes: 1024 * 1024,
            requests: 1024,
            runs: 1024,
            sessions: 1024,
            waiting: 4,
            patience: Duration::from_secs(50),
            ending: CancellationToken::new(),
        }
    }
}

struct RunService {
    runs: Arc<RunRegistry>,
    places: ClientQuotas<Principal>,
}

/// Returns the routes. Call it once for each hub: other routes do not find the runs in progress here. Each
/// request must have its [`Principal`] as an extension.
pub fn routes(config: OpenHarnessConfig) -> Router {
    let served = Arc::new(RunService {
        places: ClientQuotas::new(config.requests),
        runs: Arc::new(RunRegistry::new(config)),
    });
    let mut router = Router::new();
    for path in PATHS {
        router = router.route(path, any(handle_request));
    }
    router.with_state(served)
}

/// Returns the response to a request on one of [`PATHS`] that the caller rejects: the status, and an envelope
/// with the reason. Echoes the ids in the headers.
pub fn refusal(status: StatusCode, words: &str, headers: &HeaderMap) -> Response {
    let words = words.to_owned();
    error_response(
        &ids_in_headers(headers),
        &OpenHarnessError::Refused { status, words },
    )
}

async fn handle_request(State(served): State<Arc<RunService>>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    let headers = &parts.headers;
    let limit = served.runs.config().body_bytes;
    let past = limit.saturating_mul(TIMES);
    let come_in = || {
        if parts.method != Method::POST {
            return Err(OpenHarnessError::Method);
        }
        let principal = parts.extensions.get::<Principal>();
        let principal = principal.ok_or_else(|| OpenHarnessError::Refused {
            status: StatusCode::UNAUTHORIZED,
            words: "the token is missing".to_owned(),
        })?;
        if !is_json(headers) {
            return Err(OpenHarnessError::MediaType);
        }
        let place = served
            .places
            .join(principal)
            .ok_or(OpenHarnessError::TooMany)?;
        Ok((principal, place))
    };
    let (principal, _place) = match come_in() {
        Ok(inside) => inside,
        Err(fault) => {
            body::discard(headers, body, past).await;
            return error_response(&ids_in_headers(headers), &fault);
        }
    };
    let body = match body::read(headers, body, limit, past).await {
        Ok(body) => body,
        Err(error) => {
            let fault = match error {
                BodyError::TooLong => OpenHarnessError::TooLarge { limit },
                BodyError::Slow => OpenHarnessError::Slow,
                BodyError::Broken => OpenHarnessError::NotJson,
            };
            return error_response(&ids_in_headers(headers), &fault);
        }
    };
    let asked = match from_wire::read(&body) {
        Ok(asked) => asked,
        // A broken body may lack its ids; the headers may have them.
        Err((echo, OpenHarnessError::NotJson)) => {
            return error_response(
                &echo.or(ids_in_headers(headers)),
                &OpenHarnessError::NotJson,
            );
        }
        Err((echo, fault)) => return error_response(&echo, &fault),
    };
    drop(body);
    let echo = asked.echo.clone();
    match served.runs.answer(principal, asked).await {
        Ok(answer) => envelope_response(StatusCode::OK, &echo, answer),
        Err(fault) => error_response(&echo, &fault),
    }
}

/// Returns whether the content type is JSON. A body without a content type counts as JSON; it is parsed
/// anyway.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(header::CONTENT_TYPE) else {
        return true;
    };
    let kind = value.to_str().unwrap_or_default().split(';').next();
    let kind = kind.unwrap_or_default().trim().to_ascii_lowercase();
    let structured = |rest: &str| rest.len() > "+json".len() && rest.ends_with("+json");
    kind == JSON || kind.strip_prefix("application/").is_some_and(structured)
}

fn error_response(echo: &EchoedIds, fault: &OpenHarnessError) -> Response {
    let status = fault.status();
    let mut response = envelope_response(status, echo, to_wire::error_response(echo, fault));
    let headers = response.headers_mut();
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(header::ALLOW, HeaderValue::from_static("POST"));
    }
    if status == StatusCode::TOO_MANY_REQUESTS {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

fn envelope_response(status: StatusCode, echo: &EchoedIds, envelope: Vec<u8>) -> Response {
    let mut response = (status, envelope).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
    let ids = [
        (REQUEST_ID, &echo.request_id),
        (CORRELATION_ID, &echo.correlation_id),
    ];
    for (name, id) in ids {
        let id = id.as_deref().filter(|id| is_plain(id));
        if let Some(id) = id.and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert(name, id);
        }
    }
    response
}

/// Returns the ids in the headers.
fn ids_in_headers(headers: &HeaderMap) -> EchoedIds {
    let id = |name: HeaderName| {
        let id = headers.get(name)?.to_str().ok()?;
        is_plain(id).then(|| id.to_owned())
    };
    EchoedIds {
        request_id: id(REQUEST_ID),
        correlation_id: id(CORRELATION_ID),
    }
}

impl EchoedIds {
    fn or(self, other: Self) -> Self {
        Self {
            request_id: self.request_id.or(other.request_id),
            correlation_id: self.correlation_id.or(other.correlation_id),
        }
    }
}

/// Returns whether an id fits into a header unchanged.
fn is_plain(id: &str) -> bool {
    matches!(id.len(), 1..=256) && id.bytes().all(|byte| byte.is_ascii_graphic())
}
