//! Servers that tests play: each connection comes up as a [`FakeMcpServer`], and what is said on it is up to the test.

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
    mcp::{dial::DialedServer, lines::McpPipe, trouble::McpConnectionError, wire::McpWire},
};

/// Where connections come up, in the order they are made.
pub(super) struct FakeDialer {
    opened: mpsc::Sender<FakeMcpServer>,
    stages: AsyncMutex<mpsc::Receiver<FakeMcpServer>>,
    /// What the next attempts meet instead of a server.
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

    /// A session whose servers play here.
    pub(super) fn session(self: &Arc<Self>) -> SessionMcpServers {
        SessionMcpServers::dialed_by(settings(Path::new("/work place")), self.clone())
    }

    /// The next connection.
    pub(super) async fn stage(&self) -> FakeMcpServer {
        self.stages.lock().await.recv().await.unwrap()
    }

    /// The next connection, greeted, with these tools listed.
    pub(super) async fn ready(&self, tools: &[&str]) -> FakeMcpServer {
        let mut stage = self.stage().await;
        stage.greet().await;
        stage.list(tools).await;
        stage
    }

    pub(super) fn refuse(&self, trouble: McpConnectionError) {
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
    /// What we said next.
    pub(super) async fn hear(&mut self) -> Value {
        let line = self.heard.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// What we said next, which is to be this method.
    pub(super) async fn expect(&mut self, method: &str) -> Value {
        let heard = self.hear().await;
        assert_eq!(heard["method"], method, "{heard}");
        heard
    }

    /// Whether we left, having said nothing more.
    pub(super) async fn is_over(&mut self) -> bool {
        self.heard.next_line().await.unwrap().is_none()
    }

    pub(super) async fn say(&mut self, message: &Value) {
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
        self.say(&answer).await;
    }

    pub(super) async fn notify(&mut self, method: &str) {
        self.say(&json!({"jsonrpc": "2.0", "method": method})).await;
    }

    pub(super) async fn ask(&mut self, id: u64, method: &str, params: Value) {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.say(&request).await;
    }

    pub(super) async fn greet(&mut self) -> Value {
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

    pub(super) async fn list(&mut self, tools: &[&str]) {
        let request = self.expect("tools/list").await;
        let tools: Vec<_> = tools.iter().map(|name| described(name)).collect();
        self.answer(&request, json!({"tools": tools})).await;
    }

    /// Hears a call and answers it with this text; gives the call back.
    pub(super) async fn serve_call(&mut self, text: &str) -> Value {
        let call = self.expect("tools/call").await;
        let result = json!({"content": [{"type": "text", "text": text}]});
        self.answer(&call, result).await;
        call
    }
}

pub(super) fn described(name: &str) -> Value {
    json!({"name": name, "description": format!("does {name}"), "inputSchema": {"type": "object"}})
}

pub(super) fn settings(cwd: &Path) -> McpSettings {
    McpSettings {
        host: LocalHost::new(),
        cwd: cwd.to_owned(),
        env: std::sync::Arc::default(),
        deadlines: McpDeadlines::default(),
    }
}

/// A server of this name; what it runs does not matter here.
pub(super) fn named(name: &str) -> McpServerSpec {
    McpServerSpec {
        name: name.to_owned(),
        transport: McpTransport::Stdio {
            command: "played".to_owned(),
            args: Vec::new(),
            env: vec![("KEY".to_owned(), Secret::new("hunter2"))],
        },
    }
}

/// Waits until a server stands like this.
pub(super) async fn stands(
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

pub(super) fn names(servers: &SessionMcpServers) -> Vec<String> {
    servers.tools().into_iter().map(|tool| tool.name).collect()
}

/// How long something takes, by the clock of the test.
pub(super) async fn seconds<T>(work: impl Future<Output = T>) -> (T, Duration) {
    #[allow(clippy::disallowed_methods, reason = "the paused clock of a test")]
    let start = tokio::time::Instant::now();
    let done = work.await;
    (done, start.elapsed())
}
