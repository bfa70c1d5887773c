//! The server as a separate process, and the ways to connect to it.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context, Result, ensure};
use harn_tests::{Page, binary};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    process::{Child, Command},
};
use tokio_tungstenite::tungstenite::{
    client::IntoClientRequest,
    http::{HeaderValue, Request, header},
};

use crate::support_stress::in_time;

const TOKEN: &str = "a-token-that-only-this-test-knows-of";

/// A folder with a scenario and the state of its sessions.
pub(crate) struct Place(TempDir);

/// A server process on a folder; it is killed on drop.
pub(crate) struct Server {
    child: Child,
    address: String,
}

impl Place {
    /// Creates a folder with a scenario of these turns.
    pub(crate) fn new(turns: Value) -> Result<Self> {
        let place = Self(TempDir::with_prefix("harn-state-")?);
        let scenario = json!({"name": "state", "turns": turns}).to_string();
        std::fs::write(place.scenario(), scenario)?;
        Ok(place)
    }

    fn scenario(&self) -> PathBuf {
        self.0.path().join("scenario.json")
    }

    /// Returns the path of the journal of a session.
    pub(crate) fn journal(&self, session: &str) -> PathBuf {
        let threads = self.0.path().join("state/threads");
        threads.join(session).join("events.jsonl")
    }

    pub(crate) async fn start(&self) -> Result<Server> {
        // A write beyond the file size limit must fail, as on a full disk, and not kill the process.
        let mut child = Command::new("sh")
            .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
            .arg(binary()?)
            .args(["serve", "--listen", "127.0.0.1:0", "--engine"])
            .arg(format!("script:{}", self.scenario().display()))
            .arg("--state-dir")
            .arg(self.0.path().join("state"))
            .env("HARN_SERVE_TOKEN", TOKEN)
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stderr = child.stderr.take().context("no stderr")?;
        let mut lines = BufReader::new(stderr).lines();
        let listening = async {
            let mut said = Vec::new();
            while let Some(line) = lines.next_line().await? {
                let address = line.strip_prefix("harn-serve: listening on http://");
                if let Some(address) = address.and_then(|it| it.strip_suffix("/acp")) {
                    return Ok(address.to_owned());
                }
                said.push(line);
            }
            anyhow::bail!("the server ended: {}", said.join("\n"))
        };
        let address = in_time("the server to listen", listening).await??;
        // Reads to the end, so that the server never blocks on a full pipe.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(Server { child, address })
    }
}

impl Server {
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) async fn connect(&self) -> Result<TcpStream> {
        Ok(TcpStream::connect(&self.address).await?)
    }

    /// Returns a handshake request for this path, with the token.
    pub(crate) fn request(&self, path: &str) -> Result<Request<()>> {
        let mut request = format!("ws://{}{path}", self.address).into_client_request()?;
        let bearer = HeaderValue::from_str(&format!("Bearer {TOKEN}"))?;
        request.headers_mut().insert(header::AUTHORIZATION, bearer);
        Ok(request)
    }

    /// Opens a page on a session, or on a new one.
    pub(crate) async fn page(&self, session: Option<&str>) -> Result<Page<TcpStream>> {
        self.page_at(&format!("/ws?session={}", session.unwrap_or("new")))
            .await
    }

    /// Opens a page at this path and query.
    pub(crate) async fn page_at(&self, path: &str) -> Result<Page<TcpStream>> {
        let request = self.request(path)?;
        let opened = Page::open(self.connect().await?, request);
        in_time("the document", opened).await?
    }

    /// Sends a handshake that is rejected; returns the status and the message.
    pub(crate) async fn request_rejection(&self, path: &str) -> Result<(u16, String)> {
        let mut stream = self.connect().await?;
        let address = &self.address;
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n\
             Connection: upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        in_time("a refusal", stream.read_to_string(&mut answer)).await??;
        let (head, body) = answer.split_once("\r\n\r\n").context("no answer")?;
        let status = head.split(' ').nth(1).context("no status")?.parse()?;
        let body: Value = serde_json::from_str(body).context("no words")?;
        let words = body["error"].as_str().context("no words")?;
        Ok((status, words.to_owned()))
    }

    /// Limits the size of files that the process writes; `None` removes the limit.
    pub(crate) fn limit_files(&self, bytes: Option<u64>) -> Result<()> {
        let limit = Rlimit {
            current: bytes,
            maximum: None,
        };
        prlimit(Some(self.pid()?), Resource::Fsize, limit)?;
        Ok(())
    }

    fn pid(&self) -> Result<Pid> {
        let pid = self.child.id().context("the server is gone")?;
        Pid::from_raw(pid.try_into()?).context("no process")
    }

    /// Kills the process with SIGKILL.
    pub(crate) async fn kill(mut self) -> Result<()> {
        in_time("the process to be gone", self.child.kill()).await??;
        Ok(())
    }

    /// Ends the process with SIGTERM and expects success.
    pub(crate) async fn end(mut self) -> Result<()> {
        kill_process(self.pid()?, Signal::TERM)?;
        let status = in_time("the end", self.child.wait()).await??;
        ensure!(status.success(), "{status}");
        Ok(())
    }
}

/// Returns the size of a file in bytes.
pub(crate) fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |about| about.len())
}
