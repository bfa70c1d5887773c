//! ACP over HTTP: `/acp` as a WebSocket, and as the streamable transport, in which a client posts its messages
//! and reads from one stream for the connection and one for each session.
//!
//! Authentication happens before a request gets here and attaches a [`Principal`]; a request without one is
//! rejected. An id is not a credential: a connection is unknown to every other principal.

mod connection;
mod frame_id;
mod mailbox;
mod message;
mod post;
mod refusal;
mod registry;
mod sessions;
mod sse;
mod stream;
mod ws;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{DefaultBodyLimit, State},
    http::{HeaderMap, HeaderName, Method, Request, StatusCode},
    response::{IntoResponse, Response},
    routing::{delete, get, post},
};
use bytes::Bytes;
use harn_lines::ws::WebSocketUpgrade;
use harn_model::Principal;
use harn_runtime::Hub;
use tokio_util::sync::CancellationToken;

use self::{refusal::HttpRefusal, registry::ConnectionRegistry};
use crate::AcpConfig;

const CONNECTION_ID: HeaderName = HeaderName::from_static("acp-connection-id");
const SESSION_ID: HeaderName = HeaderName::from_static("acp-session-id");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const EVENT_STREAM: &str = "text/event-stream";
const JSON: &str = "application/json";

/// The sessions to serve, and the limits.
#[derive(Clone)]
pub struct HttpConfig {
    /// The sessions, as the principal `owner` sees them.
    pub hub: Hub,
    /// The configuration of each connection; the transport sets the fields about event ids.
    pub acp: AcpConfig,
    /// Creates an id that cannot be guessed.
    pub new_id: fn() -> Option<String>,
    /// The most connections at a time, of both kinds. No principal gets more than three quarters of them.
    pub connections: usize,
    /// The most connections of the streamable transport that a principal may open in a second, on average.
    pub connections_per_second: u32,
    /// The most session streams of one connection of the streamable transport.
    pub sessions: usize,
    /// The longest message that a client may send, in bytes.
    pub message_bytes: usize,
    /// The most messages that a client may send in a second, on average.
    pub messages_per_second: u32,
    /// The time after which a connection of the streamable transport without a reader or a post ends.
    pub idle: Duration,
    /// Ends every connection; a WebSocket receives a close frame.
    pub ending: CancellationToken,
}

impl HttpConfig {
    /// Creates a configuration with the usual limits.
    pub fn new(hub: Hub, new_id: fn() -> Option<String>) -> Self {
        Self {
            hub,
            acp: AcpConfig::default(),
            new_id,
            connections: 4096,
            connections_per_second: 100,
            sessions: 1024,
            message_bytes: 16 * 1024 * 1024,
            messages_per_second: 1000,
            idle: Duration::from_secs(5 * 60),
            ending: CancellationToken::new(),
        }
    }
}

/// Returns the routes of ACP. Each request must have its [`Principal`] as an extension.
pub fn routes(config: HttpConfig) -> Router {
    let registry = Arc::new(ConnectionRegistry::new(config));
    let methods = post(handle_post)
        .merge(get(handle_get))
        .merge(delete(handle_delete))
        .fallback(async || HttpRefusal::Method);
    Router::new()
        .route("/acp", methods)
        .layer(DefaultBodyLimit::disable())
        .with_state(registry)
}

async fn handle_post(
    State(registry): State<Arc<ConnectionRegistry>>,
    request: Request<Body>,
) -> Result<Response, HttpRefusal> {
    let principal = principal(&request)?;
    post::handle(&registry, &principal, request).await
}

async fn handle_get(
    State(registry): State<Arc<ConnectionRegistry>>,
    request: Request<Body>,
) -> Result<Response, HttpRefusal> {
    let principal = principal(&request)?;
    if request.method() == Method::HEAD {
        // A stream has no known length, and opening it would take it from its reader.
        return Err(HttpRefusal::Method);
    }
    match WebSocketUpgrade::is_asked_for(request.headers()) {
        true => ws::handle(registry, &principal, request),
        false => sse::handle(&registry, &principal, request.headers()).await,
    }
}

async fn handle_delete(
    State(registry): State<Arc<ConnectionRegistry>>,
    request: Request<Body>,
) -> Result<Response, HttpRefusal> {
    let principal = principal(&request)?;
    let connection = registry.find_connection(request.headers(), &principal)?;
    connection.end();
    Ok(StatusCode::ACCEPTED.into_response())
}

/// Returns the principal of a request. A request without one is rejected.
fn principal(request: &Request<Body>) -> Result<Principal, HttpRefusal> {
    let principal = request.extensions().get::<Principal>();
    principal.cloned().ok_or(HttpRefusal::Nobody)
}

/// Returns the text of a header that may occur once.
fn header_text<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a str>, HttpRefusal> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => match value.to_str() {
            Ok(text) if !text.is_empty() && text.len() <= 256 => Ok(Some(text)),
            _ => Err(HttpRefusal::Header),
        },
        (Some(_), Some(_)) => Err(HttpRefusal::Header),
    }
}

/// Splits a piece into lines without their line breaks, without a copy.
fn split_lines(mut bytes: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let newline = bytes.iter().position(|&byte| byte == b'\n');
        let mut line = bytes.split_to(newline.map_or(bytes.len(), |at| at + 1));
        line.truncate(newline.unwrap_or(line.len()));
        Some(line)
    })
}
