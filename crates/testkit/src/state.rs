//! A strict client of the state wire: every frame must match the schema, and every operation must fit the client's
//! copy. It connects to the routes over a WebSocket in memory.

mod client;

use std::sync::{Arc, Mutex};

use axum::{
    body::Body,
    http::{HeaderMap, Method, Request, StatusCode},
};
use harn_state::{StateConfig, routes};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::io::{DuplexStream, duplex};
use tokio_tungstenite::{
    client_async_with_config,
    tungstenite::{Error, client::IntoClientRequest, protocol::WebSocketConfig},
};

use crate::{RecordDirection, Recorder, TestHub, lock, must, served_routes::ServedRoutes};
pub use client::{ReceivedFrame, StateClient};

/// The number of bytes that may be in transit between a client and the server.
const ON_THE_WAY: usize = 64 * 1024;

/// The routes of the state wire, for clients in this process.
///
/// # Panics
///
/// Every method, if a request cannot be sent or its answer is invalid, or if a client is rejected or does not
/// receive the document first.
#[derive(Clone)]
pub struct StateServer {
    routes: ServedRoutes,
    on_the_way: usize,
    tape: SocketTranscript,
}

/// The answer to an HTTP request.
#[derive(Debug)]
pub struct StateHttpResponse {
    /// The HTTP status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: String,
}

impl TestHub {
    /// Serves the state wire; sessions work in the workspace.
    pub fn serve_state(&self) -> StateServer {
        self.serve_state_with(|_| ())
    }

    /// Like [`TestHub::serve_state`], with an adjusted configuration.
    pub fn serve_state_with(&self, adjust: impl FnOnce(&mut StateConfig)) -> StateServer {
        let mut config = StateConfig::new(self.hub().clone(), self.workspace());
        adjust(&mut config);
        StateServer {
            routes: ServedRoutes::new(routes(config)),
            on_the_way: ON_THE_WAY,
            tape: SocketTranscript::new(self.recorder().clone()),
        }
    }
}

impl StateServer {
    /// Returns the same routes for another principal, or for none.
    #[must_use]
    pub fn for_principal(&self, principal: Option<&str>) -> Self {
        Self {
            routes: self.routes.for_principal(principal),
            ..self.clone()
        }
    }

    /// Returns the same routes, with at most this many bytes in transit to a client that does not read.
    #[must_use]
    pub fn with_buffer_size(&self, bytes: usize) -> Self {
        Self {
            on_the_way: bytes,
            ..self.clone()
        }
    }

    /// Connects a client to a session's document, by the query of the URL, and reads the document.
    pub async fn connect(&self, query: &str) -> StateClient {
        self.open("/ws", query).await.read_document().await
    }

    /// Connects a client to the document of all sessions, and reads the document.
    pub async fn connect_sessions(&self) -> StateClient {
        self.open("/ws/sessions", "").await.read_document().await
    }

    /// Connects a client that has read nothing yet.
    pub async fn open(&self, path: &'static str, query: &str) -> StateClient {
        match self.try_open(path, query).await {
            Ok(client) => client,
            Err(refused) => panic!("{path}?{query}: {} {}", refused.status, refused.body),
        }
    }

    /// Connects a client, or returns the answer that rejects it.
    pub async fn try_open(
        &self,
        path: &'static str,
        query: &str,
    ) -> Result<StateClient, Box<StateHttpResponse>> {
        let target = match query {
            "" => path.to_owned(),
            query => format!("{path}?{query}"),
        };
        let speaker = self.tape.add_socket(&target);
        let request = format!("ws://localhost{target}").into_client_request();
        let request = must(request, &target);
        match client_async_with_config(request, self.dial(), Some(client_limits())).await {
            Ok((socket, _)) => Ok(StateClient::new(socket, path, self.tape.clone(), speaker)),
            Err(Error::Http(response)) => {
                let (parts, body) = response.into_parts();
                let body = String::from_utf8_lossy(&body.unwrap_or_default()).into_owned();
                self.tape.record_refusal(parts.status, &body);
                Err(Box::new(StateHttpResponse {
                    status: parts.status,
                    headers: parts.headers,
                    body,
                }))
            }
            Err(error) => panic!("{target}: {error}"),
        }
    }

    /// Opens a connection that is served until it ends.
    fn dial(&self) -> DuplexStream {
        let (near, far) = duplex(self.on_the_way);
        let routes = self.routes.clone();
        let service =
            service_fn(move |request: Request<Incoming>| routes.call(request.map(Body::new)));
        let serving = http1::Builder::new().serve_connection(TokioIo::new(near), service);
        // The task ends when either side closes.
        tokio::spawn(serving.with_upgrades());
        far
    }

    /// Sends a request without a body.
    pub async fn request(&self, method: Method, target: &str) -> StateHttpResponse {
        let request = Request::builder().method(method).uri(target);
        let request = must(request.body(Body::empty()), target);
        let (parts, bytes) = self.routes.answer(request).await;
        StateHttpResponse {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8_lossy(&bytes).into_owned(),
        }
    }

    /// Sends a GET request.
    pub async fn get(&self, target: &str) -> StateHttpResponse {
        self.request(Method::GET, target).await
    }
}

/// A transcript that names the socket of a line when several sockets are open.
#[derive(Clone)]
struct SocketTranscript {
    recorder: Recorder,
    speakers: Arc<Mutex<SocketNumbers>>,
}

#[derive(Default)]
struct SocketNumbers {
    known: usize,
    last: usize,
}

impl SocketTranscript {
    fn new(recorder: Recorder) -> Self {
        Self {
            recorder,
            speakers: Arc::default(),
        }
    }

    fn add_socket(&self, target: &str) -> usize {
        let mut speakers = lock(&self.speakers);
        speakers.known += 1;
        speakers.last = speakers.known;
        let number = speakers.known;
        self.recorder
            .record_note(&format!("socket {number}: GET {target}"));
        number
    }

    fn record_refusal(&self, status: StatusCode, body: &str) {
        let status = status.as_u16();
        self.recorder
            .record_note(&format!("refused: {status} {body}"));
    }

    fn record_line(&self, speaker: usize, direction: RecordDirection, line: &[u8]) {
        self.switch_to(speaker);
        self.recorder.record_line(direction, line);
    }

    fn record_note(&self, speaker: usize, text: &str) {
        self.switch_to(speaker);
        self.recorder.record_note(text);
    }

    fn switch_to(&self, speaker: usize) {
        let mut speakers = lock(&self.speakers);
        if speakers.last != speaker {
            speakers.last = speaker;
            self.recorder.record_note(&format!("socket {speaker}:"));
        }
    }
}

/// Returns the client's buffer limits, small so that unread data stays at the server.
fn client_limits() -> WebSocketConfig {
    WebSocketConfig::default().read_buffer_size(4 * 1024)
}
