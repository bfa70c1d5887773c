//! The SDK's HTTP client and its WebSocket client, against `harn-serve serve` and `acp --listen`.

use std::{process::Stdio, time::Duration};

use agent_client_protocol::v1::schema::{
    CancelNotification, ListSessionsRequest, LoadSessionRequest, StopReason,
};
use agent_client_protocol_http::HttpClient;
use anyhow::{Context, Result, ensure};
use axum::http::{HeaderMap, HeaderValue, header};
use harn_tests::{binary, repository_path};
use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStderr, ChildStdin, Command},
    time::timeout,
};

use super::{
    host::{Host, Place},
    open, prompt,
};

/// Only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(60);

struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    stderr: Lines<BufReader<ChildStderr>>,
    /// The address without its scheme.
    address: String,
    token: String,
}

impl Server {
    async fn start(place: &Place, command: &[&str]) -> Result<Self> {
        let scenario = repository_path("fixtures/scenarios/peer.yaml").canonicalize()?;
        let mut child = Command::new(binary()?)
            .args(command)
            .args(["--profile", "acp", "--engine"])
            .arg(format!("script:{}", scenario.display()))
            .arg("--state-dir")
            .arg(place.state_dir())
            .env_remove("HARN_SERVE_TOKEN")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdin = child.stdin.take();
        let mut stderr = BufReader::new(child.stderr.take().context("no stderr")?).lines();
        let address = loop {
            let line = timeout(PATIENCE, stderr.next_line()).await??;
            let line = line.context("it ended before it listened")?;
            if let Some((_, url)) = line.split_once("listening on http://") {
                break url.to_owned();
            }
        };
        let token = std::fs::read_to_string(place.state_dir().join("token"))?;
        Ok(Self {
            child,
            stdin,
            stderr,
            address,
            token: token.trim().to_owned(),
        })
    }

    /// Returns the SDK's client for the scheme of the URL.
    fn client(&self, scheme: &str) -> Result<HttpClient> {
        let mut headers = HeaderMap::new();
        let bearer = HeaderValue::from_str(&format!("Bearer {}", self.token))?;
        headers.insert(header::AUTHORIZATION, bearer);
        let client = HttpClient::builder(format!("{scheme}://{}", self.address));
        let client = client.configure_http(|http| http.default_headers(headers).no_proxy());
        Ok(client.build()?)
    }

    /// Waits for a successful end; returns the stderr since the server began to listen.
    async fn wait_for_end(mut self) -> Result<String> {
        let mut said = String::new();
        while let Some(line) = timeout(PATIENCE, self.stderr.next_line()).await?? {
            said.push_str(&line);
            said.push('\n');
        }
        let status = timeout(PATIENCE, self.child.wait()).await??;
        ensure!(status.success(), "{status}: {said}");
        Ok(said)
    }

    async fn terminate(self) -> Result<String> {
        let pid = self.child.id().context("it has ended")?;
        let pid = Pid::from_raw(pid.try_into()?).context("no process id")?;
        kill_process(pid, Signal::TERM)?;
        // The rest of the five seconds is for a busy machine.
        timeout(Duration::from_secs(5), self.wait_for_end()).await?
    }
}

#[tokio::test]
async fn client_runs_a_whole_session_over_http() -> Result<()> {
    check_whole_session("http").await
}

#[tokio::test]
async fn client_runs_a_whole_session_over_a_websocket() -> Result<()> {
    check_whole_session("ws").await
}

async fn check_whole_session(scheme: &str) -> Result<()> {
    let place = Place::new()?;
    let server = Server::start(&place, &["serve"]).await?;
    let host = Host::default();
    host.choose("allow_once");
    let session = host
        .visit_over(server.client(scheme)?, async |agent, _| {
            let session = open(&agent, &place).await?;
            assert_eq!(
                prompt(&agent, &session, "hello").await?,
                StopReason::EndTurn
            );
            assert_eq!(prompt(&agent, &session, "perm").await?, StopReason::EndTurn);
            let (slow, cancel) = tokio::join!(prompt(&agent, &session, "slow"), async {
                host.working.notified().await;
                agent.send_notification(CancelNotification::new(session.clone()))
            });
            cancel?;
            assert_eq!(slow?, StopReason::Cancelled);
            let listed = agent.send_request(ListSessionsRequest::new());
            let listed = listed.block_task().await?;
            assert!(listed.sessions.iter().any(|s| s.session_id == session));
            Ok(session)
        })
        .await?;
    assert_eq!(host.questions().len(), 1);
    assert!(host.text("agent_message_chunk").contains("It is written."));
    assert_eq!(host.take_complaints(), [""; 0]);

    // Another connection to the same process loads the same conversation.
    let later = Host::default();
    later
        .visit_over(server.client(scheme)?, async |agent, _| {
            let load = LoadSessionRequest::new(session, place.cwd());
            agent.send_request(load).block_task().await
        })
        .await?;
    assert_eq!(later.conversation(), host.conversation());
    assert_eq!(later.take_complaints(), [""; 0]);
    let said = server.terminate().await?;
    assert!(!said.contains("WARN") && !said.contains("ERROR"), "{said}");
    let left = std::fs::read_dir(place.state_dir().join("live"))?.count();
    assert_eq!(left, 0, "the socket is removed");
    Ok(())
}

#[tokio::test]
async fn server_with_listen_serves_a_websocket_and_ends_with_its_stdin() -> Result<()> {
    let place = Place::new()?;
    let mut server = Server::start(&place, &["acp", "--listen", "localhost:0"]).await?;
    let host = Host::default();
    host.visit_over(server.client("ws")?, async |agent, _| {
        let session = open(&agent, &place).await?;
        prompt(&agent, &session, "hello").await
    })
    .await?;
    drop(server.stdin.take());
    let said = server.wait_for_end().await?;
    assert!(!said.contains("WARN") && !said.contains("ERROR"), "{said}");
    Ok(())
}
