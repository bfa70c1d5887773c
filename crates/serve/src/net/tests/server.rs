//! A test server on a free port, an agent that counts its turns, and clients that send exact bytes.

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::Router;
use harn_acp::http::{HttpConfig, routes};
use harn_model::StopReason;
use harn_openharness::OpenHarnessConfig;
use harn_runtime::{Agent, AgentError, Clock, Hub, TurnContext, async_trait};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::super::{
    add_guard,
    guard::{AllowedAuthorities, PortGuard},
    listener,
    login::{LoginCode, LoginCookies},
    new_id,
    token::{AccessTokens, token_path},
};
use crate::{ServeOptions, SystemClock, hub};

/// Only makes a hang fail: no test measures time.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

pub(super) const OWNER: &str = "owners-token-0123456789";
pub(super) const EVE: &str = "eves-token-0123456789abc";

/// The text that the agent repeats for `long N`.
pub(super) const LONG: &str = "ä€😀";

/// Emits as many numbers as the prompt requests, with `ask` after a question; or a long text.
#[derive(Default)]
pub(super) struct CountingAgent {
    turns: Arc<AtomicUsize>,
}

#[async_trait]
impl Agent for CountingAgent {
    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        self.turns.fetch_add(1, Ordering::SeqCst);
        let text = cx.prompt_text().to_owned();
        let (word, count) = text.split_once(' ').unwrap_or((&text, "0"));
        if word == "ask" {
            let tool = cx.tool("write_file").path("notes.txt");
            let tool = tool.title("Write notes.txt").ask().await?;
            tool.run(|host| host.write_text("notes.txt", "noted"))
                .await?;
        }
        if word == "long" {
            let text = LONG.repeat(count.parse().unwrap_or(0));
            cx.say(&text).await?;
            return Ok(StopReason::EndTurn);
        }
        for number in 0..count.parse().unwrap_or(0) {
            cx.say(&format!("{number};")).await?;
        }
        Ok(StopReason::EndTurn)
    }
}

pub(super) struct TestServer {
    pub(super) address: SocketAddr,
    pub(super) hub: Hub,
    pub(super) dir: TempDir,
    /// The sign-in code, valid once.
    pub(super) code: String,
    turns: Arc<AtomicUsize>,
    _ending: DropGuard,
}

pub(super) struct TestServerConfig {
    pub(super) message_bytes: usize,
    pub(super) messages_per_second: u32,
    pub(super) acp_connections: usize,
    pub(super) connections_per_second: u32,
    pub(super) sessions: usize,
    pub(super) connections: usize,
    pub(super) idle: Duration,
    pub(super) hosts: Vec<&'static str>,
    pub(super) origins: Vec<&'static str>,
    pub(super) tls: Option<(PathBuf, PathBuf)>,
    pub(super) tokens: String,
    pub(super) clock: Arc<dyn Clock>,
    /// Routes in addition to the defaults.
    pub(super) routes: Router,
}

impl Default for TestServerConfig {
    fn default() -> Self {
        Self {
            message_bytes: 64 * 1024,
            messages_per_second: 100_000,
            acp_connections: 64,
            connections_per_second: 1000,
            sessions: 64,
            connections: 64,
            idle: PATIENCE,
            hosts: vec!["box.example"],
            origins: vec!["https://app.example"],
            tls: None,
            tokens: format!("owner {OWNER}\neve {EVE}\n"),
            clock: Arc::new(SystemClock::new()),
            routes: Router::new(),
        }
    }
}

impl TestServer {
    pub(super) async fn start(setup: TestServerConfig) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let turns = Arc::new(AtomicUsize::new(0));
        let agent = CountingAgent {
            turns: turns.clone(),
        };
        let state = dir.path().join("state");
        std::fs::create_dir(&state).unwrap();
        std::fs::write(token_path(&state), setup.tokens).unwrap();
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(token_path(&state), private).unwrap();
        let tokens = AccessTokens::load(None, &state).unwrap();
        let hub = hub(agent, &ServeOptions::new(&state));
        let bound = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = bound.local_addr().unwrap();
        let ending = CancellationToken::new();
        let config = HttpConfig {
            message_bytes: setup.message_bytes,
            messages_per_second: setup.messages_per_second,
            connections: setup.acp_connections,
            connections_per_second: setup.connections_per_second,
            sessions: setup.sessions,
            idle: setup.idle,
            ending: ending.clone(),
            ..HttpConfig::new(hub.clone(), new_id)
        };
        let hosts = setup.hosts.iter().map(|text| text.parse().unwrap());
        let origins = setup.origins.iter().map(|text| text.parse().unwrap());
        let secure = setup.tls.is_some();
        let (login, code) = LoginCode::generate().unwrap();
        let guard = PortGuard {
            cookies: LoginCookies::new(&tokens, address.port(), secure, setup.clock),
            code: login,
            tokens,
            authorities: AllowedAuthorities {
                listens: address,
                secure,
                hosts: hosts.collect(),
                origins: origins.collect(),
            },
        };
        let tls = setup
            .tls
            .map(|(cert, key)| super::super::tls::load_acceptor(&cert, &key).unwrap());
        let open_harness = OpenHarnessConfig {
            ending: ending.clone(),
            ..OpenHarnessConfig::new(hub.clone(), dir.path().to_owned())
        };
        let routes = routes(config)
            .merge(harn_openharness::routes(open_harness))
            .merge(setup.routes);
        let router = add_guard(routes, guard);
        let serve = listener::serve(bound, tls, router, setup.connections, ending.clone());
        tokio::spawn(serve);
        Self {
            address,
            hub,
            dir,
            code,
            turns,
            _ending: ending.drop_guard(),
        }
    }

    /// Counts what reached the runtime: numbered connections, turns, sessions on disk.
    pub(super) fn count_reached(&self) -> (u64, usize, usize) {
        let threads = std::fs::read_dir(self.dir.path().join("state/threads"));
        let threads = threads.map_or(0, Iterator::count);
        // This call takes a number too.
        let connections = self.hub.number_connection();
        (connections, self.turns.load(Ordering::SeqCst), threads)
    }

    /// Sends a request with this token, and keeps its connection open; returns the status too.
    pub(super) async fn hold_connection(&self, token: &str) -> (TcpStream, u16) {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let host = self.address;
        let request = format!(
            "GET /nothing HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.unwrap();
        let status = str::from_utf8(&head[9..]).unwrap().parse().unwrap();
        (stream, status)
    }

    /// Sends bytes, and reads the response.
    pub(super) async fn send_raw(&self, request: &str) -> RawHttpResponse {
        let asked = async {
            let mut stream = TcpStream::connect(self.address).await.unwrap();
            // The server may close the connection early, before it has read everything.
            let _ = stream.write_all(request.as_bytes()).await;
            let mut read = Vec::new();
            let mut chunk = [0; 4096];
            loop {
                if let Some(answer) = RawHttpResponse::parse(&read, request.starts_with("HEAD ")) {
                    return answer;
                }
                let count = stream.read(&mut chunk).await.unwrap();
                assert!(
                    count > 0,
                    "no answer to {request:.200}: {}",
                    String::from_utf8_lossy(&read)
                );
                read.extend_from_slice(&chunk[..count]);
            }
        };
        timeout(PATIENCE, asked).await.expect("an answer")
    }

    /// Opens a connection of the streamable transport.
    pub(super) async fn initialize(&self, token: &str) -> HttpTestClient {
        HttpTestClient::initialize(client(), format!("http://{}/acp", self.address), token).await
    }
}

/// A parsed HTTP/1 response.
#[derive(Debug)]
pub(super) struct RawHttpResponse {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl RawHttpResponse {
    /// Parses a response; none if it is incomplete. The response to HEAD has a length and no body.
    fn parse(bytes: &[u8], to_head: bool) -> Option<Self> {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n")?;
        let head = head.to_ascii_lowercase();
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length = length
            .and_then(|length| length.parse::<usize>().ok())
            .unwrap_or(0);
        (to_head || body.len() >= length).then(|| Self {
            status,
            body: body.to_owned(),
            head,
        })
    }
}

/// Returns a client builder with the same TLS provider as the server.
pub(super) fn client_builder() -> reqwest::ClientBuilder {
    // An error means that another test installed it first.
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy()
}

pub(super) fn client() -> reqwest::Client {
    client_builder().build().unwrap()
}

pub(super) fn initialize_request() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": 1,
        "clientCapabilities": {"_meta": {"harn": {"profile": "meta"}}},
        "clientInfo": {"name": "tester", "version": "1"},
    }})
}

/// A client of the streamable transport.
pub(super) struct HttpTestClient {
    pub(super) client: reqwest::Client,
    pub(super) url: String,
    pub(super) token: String,
    pub(super) connection: String,
    id: u64,
}

impl HttpTestClient {
    pub(super) async fn initialize(client: reqwest::Client, url: String, token: &str) -> Self {
        let request = client.post(&url).bearer_auth(token);
        let request = request.header("content-type", "application/json");
        let response = request
            .body(initialize_request().to_string())
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), 200);
        let connection = response.headers()["acp-connection-id"].to_str().unwrap();
        Self {
            connection: connection.to_owned(),
            client,
            url,
            token: token.to_owned(),
            id: 0,
        }
    }

    pub(super) async fn post(&self, message: &Value) -> u16 {
        let request = self.client.post(&self.url).bearer_auth(&self.token);
        let request = request
            .header("content-type", "application/json")
            .header("acp-connection-id", &self.connection);
        let response = request.body(message.to_string()).send().await.unwrap();
        response.status().as_u16()
    }

    /// Sends a request; returns its id.
    pub(super) async fn request(&mut self, method: &str, params: Value) -> u64 {
        self.id += 1;
        let id = self.id;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        assert_eq!(self.post(&message).await, 202, "{method}");
        id
    }

    /// Opens a stream; returns the status if it is rejected.
    pub(super) async fn open_stream(
        &self,
        session: Option<&str>,
        after: Option<&str>,
    ) -> Result<EventStreamReader, u16> {
        let request = self.client.get(&self.url).bearer_auth(&self.token);
        let mut request = request
            .header("accept", "text/event-stream")
            .header("acp-connection-id", &self.connection);
        if let Some(session) = session {
            request = request.header("acp-session-id", session);
        }
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        let response = request.send().await.unwrap();
        match response.status().as_u16() {
            200 => Ok(EventStreamReader {
                response,
                rest: Vec::new(),
            }),
            refused => Err(refused),
        }
    }

    /// Creates a session; returns its id and the stream of the connection.
    pub(super) async fn create_session(
        &mut self,
        cwd: &std::path::Path,
    ) -> (String, EventStreamReader) {
        let mut own = self.open_stream(None, None).await.unwrap();
        let params = json!({"cwd": cwd, "mcpServers": []});
        self.request("session/new", params).await;
        let (_, answer) = own.next().await.unwrap();
        (
            answer["result"]["sessionId"].as_str().unwrap().to_owned(),
            own,
        )
    }
}

pub(super) struct EventStreamReader {
    response: reqwest::Response,
    rest: Vec<u8>,
}

impl EventStreamReader {
    /// Returns the next event with its id; none at the end.
    pub(super) async fn next(&mut self) -> Option<(String, Value)> {
        let next = async {
            loop {
                let end = self.rest.windows(2).position(|pair| pair == b"\n\n");
                if let Some(end) = end {
                    let frame: Vec<u8> = self.rest.drain(..end + 2).collect();
                    let frame = String::from_utf8(frame).unwrap();
                    let line = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
                    let found = line("id: ").zip(line("data: "));
                    let found = found
                        .map(|(id, data)| (id.to_owned(), serde_json::from_str(data).unwrap()));
                    match found {
                        Some(found) => return Some(found),
                        None => continue,
                    }
                }
                // A broken stream counts as ended.
                let chunk = self.response.chunk().await.ok()??;
                self.rest.extend_from_slice(&chunk);
            }
        };
        timeout(PATIENCE, next).await.expect("an event, or the end")
    }
}
