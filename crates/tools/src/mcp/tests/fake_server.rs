//! Fake servers: each connection of the session becomes a [`FakeMcpServer`] that the test controls.

use std::{path::Path, sync::Mutex, time::Duration};

use serde_json::json;
use tokio::{
    io::{
        AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines as InLines, ReadHalf,
        WriteHalf, duplex, split,
    },
    sync::{Mutex as AsyncMutex, mpsc},
};

use super::*;
use crate::{
    LocalHost, McpDeadlines,
    mcp::{
        connection_error::McpConnectionError, dialer::DialedServer, pipe::McpPipe, wire::McpWire,
    },
};

/// Hands out connections in the order in which they are made.
pub(super) struct FakeDialer {
    opened: mpsc::Sender<FakeMcpServer>,
    stages: AsyncMutex<mpsc::Receiver<FakeMcpServer>>,
    /// Errors to return for the next attempts.
    closed: Mutex<Vec<McpConnectionError>>,
}

impl FakeDialer {
    pub(super) fn new() -> Arc<Self> {
        let (opened, stages) = mpsc::channel(16);
        Arc::new(Self {
            opened,
            stages: AsyncMutex::new(stages),
            closed: Mutex::default(),
        })
    }

    /// Creates a session whose servers connect here.
    pub(super) fn session(self: &Arc<Self>) -> SessionMcpServers {
        SessionMcpServers::with_dialer(settings(Path::new("/work place")), self.clone())
    }

    /// Waits for the next connection.
    pub(super) async fn accept(&self) -> FakeMcpServer {
        self.stages.lock().await.recv().await.unwrap()
    }

    /// Waits for the next connection, completes its handshake and lists these tools.
    pub(super) async fn accept_ready(&self, tools: &[&str]) -> FakeMcpServer {
        let mut stage = self.accept().await;
        stage.complete_handshake().await;
        stage.answer_list(tools).await;
        stage
    }

    pub(super) fn fail_next_dial(&self, trouble: McpConnectionError) {
        self.closed.lock().unwrap().push(trouble);
    }
}

#[async_trait::async_trait]
impl McpDialer for FakeDialer {
    async fn dial(
        &self,
        spec: &McpServerSpec,
        _: &Secrets,
    ) -> Result<DialedServer, McpConnectionError> {
        if let Some(trouble) = self.closed.lock().unwrap().pop() {
            return Err(trouble);
        }
        let (ours, theirs) = duplex(64 * 1024);
        let (read, write) = split(ours);
        let (heard, say) = split(theirs);
        let stage = FakeMcpServer {
            name: spec.name.clone(),
            heard: BufReader::new(heard).lines(),
            say,
        };
        self.opened.send(stage).await.unwrap();
        Ok((McpWire::Lines(McpPipe::new(read, write)), None))
    }
}

/// The server's end of a connection.
pub(super) struct FakeMcpServer {
    pub(super) name: String,
    heard: InLines<BufReader<ReadHalf<DuplexStream>>>,
    say: WriteHalf<DuplexStream>,
}

impl FakeMcpServer {
    /// Returns the next message from the client.
    pub(super) async fn receive(&mut self) -> Value {
        let line = self.heard.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Returns the next message from the client, which must have this method.
    pub(super) async fn expect(&mut self, method: &str) -> Value {
        let heard = self.receive().await;
        assert_eq!(heard["method"], method, "{heard}");
        heard
    }

    /// Whether the client closed the connection without another message.
    pub(super) async fn is_closed(&mut self) -> bool {
        self.heard.next_line().await.unwrap().is_none()
    }

    pub(super) async fn send(&mut self, message: &Value) {
        self.print(&format!("{message}\n")).await;
    }

    pub(super) async fn print(&mut self, text: &str) {
        self.try_print(text).await.unwrap();
    }

    pub(super) async fn try_print(&mut self, text: &str) -> std::io::Result<()> {
        self.say.write_all(text.as_bytes()).await
    }

    pub(super) async fn answer(&mut self, request: &Value, result: Value) {
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        self.send(&answer).await;
    }

    pub(super) async fn notify(&mut self, method: &str) {
        self.send(&json!({"jsonrpc": "2.0", "method": method}))
            .await;
    }

    pub(super) async fn ask(&mut self, id: u64, method: &str, params: Value) {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&request).await;
    }

    pub(super) async fn complete_handshake(&mut self) -> Value {
        let request = self.expect("initialize").await;
        let result = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {"listChanged": true}},
            "serverInfo": {"name": "played", "version": "1"},
        });
        self.answer(&request, result).await;
        self.expect("notifications/initialized").await;
        request
    }

    pub(super) async fn answer_list(&mut self, tools: &[&str]) {
        let request = self.expect("tools/list").await;
        let tools: Vec<_> = tools.iter().map(|name| tool_json(name)).collect();
        self.answer(&request, json!({"tools": tools})).await;
    }

    /// Answers the next call with this text and returns the call.
    pub(super) async fn serve_call(&mut self, text: &str) -> Value {
        let call = self.expect("tools/call").await;
        let result = json!({"content": [{"type": "text", "text": text}]});
        self.answer(&call, result).await;
        call
    }
}

pub(super) fn tool_json(name: &str) -> Value {
    json!({"name": name, "description": format!("does {name}"), "inputSchema": {"type": "object"}})
}

pub(super) fn settings(cwd: &Path) -> McpSettings {
    McpSettings {
        host: LocalHost::new(),
        session: "s".into(),
        cwd: cwd.to_owned(),
        env: std::sync::Arc::default(),
        deadlines: McpDeadlines::default(),
    }
}

/// A server of this name; its command is never run.
pub(super) fn stdio_spec(name: &str) -> McpServerSpec {
    McpServerSpec {
        name: name.to_owned(),
        transport: McpTransport::Stdio {
            command: "played".to_owned(),
            args: Vec::new(),
            env: vec![("KEY".to_owned(), Secret::new("hunter2"))],
        },
    }
}

/// Waits until a server has this state.
pub(super) async fn wait_for_state(
    servers: &SessionMcpServers,
    name: &str,
    state: McpState,
) -> McpServerStatus {
    let mut changes = servers.changes();
    loop {
        let statuses = servers.statuses();
        let status = statuses.into_iter().find(|status| status.name == name);
        match status {
            Some(status) if status.state == state => return status,
            _ => changes.changed().await.unwrap(),
        }
    }
}

pub(super) fn tool_names(servers: &SessionMcpServers) -> Vec<String> {
    servers.tools().into_iter().map(|tool| tool.name).collect()
}

/// Measures how long `work` takes on the test's clock.
pub(super) async fn measure<T>(work: impl Future<Output = T>) -> (T, Duration) {
    #[allow(clippy::disallowed_methods, reason = "the paused clock of a test")]
    let start = tokio::time::Instant::now();
    let done = work.await;
    (done, start.elapsed())
}
