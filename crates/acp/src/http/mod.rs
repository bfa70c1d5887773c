//! ACP over HTTP: `/acp` as a WebSocket, and as the streamable transport, in which a client posts its
//! messages and reads those to it from one stream for the connection and one for each session.
//!
//! Who may come in is decided before a request gets here, and said by its [`Principal`]; without one nothing
//! is served. An id is no credential: the connection of another principal is unknown to this one.

mod connection;
mod mailbox;
mod message;
mod place;
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

/// What is served, and within which bounds.
#[derive(Clone)]
pub struct HttpConfig {
    /// The sessions, as their owner sees them.
    pub hub: Hub,
    /// How clients are served; each transport fills in what it knows of event ids.
    pub acp: AcpConfig,
    /// Makes ids that nobody can guess.
    pub new_id: fn() -> Option<String>,
    /// How many connections there may be at a time, of both kinds. A quarter of them is kept from each
    /// principal, for the others.
    pub connections: usize,
    /// How many connections of the streamable transport a principal may begin in a second, over a while.
    pub connections_per_second: u32,
    /// How many sessions a connection of the streamable transport may have streams of.
    pub sessions: usize,
    /// The longest message a client may send.
    pub message_bytes: usize,
    /// How many messages a client may send in a second, over a while.
    pub messages_per_second: u32,
    /// How long a connection of the streamable transport is kept when nobody reads from it or posts to it.
    pub idle: Duration,
    /// Ends every connection, with a word of farewell.
    pub ending: CancellationToken,
}

impl HttpConfig {
    /// The usual bounds.
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

/// The routes of ACP. Each request must come with the [`Principal`] it is from, as an extension.
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
        // A stream has no end to tell the length of, and would be taken from its reader.
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
    let connection = registry.named(request.headers(), &principal)?;
    connection.end();
    Ok(StatusCode::ACCEPTED.into_response())
}

/// Who sent a request. One that nobody vouches for is not served.
fn principal(request: &Request<Body>) -> Result<Principal, HttpRefusal> {
    let principal = request.extensions().get::<Principal>();
    principal.cloned().ok_or(HttpRefusal::Nobody)
}

/// The text of a header that may be there once.
fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, HttpRefusal> {
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

/// The lines of a piece without their ends, none of them copied.
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
