//! A connection to a server that sends and receives lines, over a local socket or a WebSocket. Both
//! directions are bounded; received lines wait in the connection until the caller reads them.

use std::{io, path::Path, sync::Arc, time::Duration};

use futures::{SinkExt, StreamExt};
use thiserror::Error;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader},
    net::{TcpStream, UnixStream},
    sync::mpsc,
    task::JoinSet,
    time::timeout,
};
use tokio_rustls::TlsConnector;
use tokio_tungstenite::{
    client_async_with_config,
    tungstenite::{
        self, ClientRequestBuilder, Message, http::StatusCode, protocol::WebSocketConfig,
    },
};

use super::{
    address::{RemoteAddress, ServerAddress},
    tls,
};

/// A connection to a server; dropping it closes it.
pub(super) struct AttachConnection {
    lines: mpsc::Receiver<String>,
    out: mpsc::Sender<String>,
    _tasks: JoinSet<()>,
}

#[derive(Debug, Error)]
pub(super) enum NoConnection {
    #[error("no server answers at {0}")]
    Nobody(String),
    #[error("{0} does not answer in time")]
    Late(String),
    #[error(
        "{0} rejects the token; the valid one is in the server's <state>/token, give that file with --token-file"
    )]
    Token(String),
    #[error("{0} refuses the connection: {1}")]
    Refused(String, String),
    #[error("no TLS connection to {0}: {1}")]
    Tls(String, String),
}

/// The capacity of the queue in each direction, in lines.
const WAITING: usize = 256;
/// The maximum length of a line, the same as the server's.
const LONGEST: usize = 64 * 1024 * 1024;
/// The maximum time to connect.
const PATIENCE: Duration = Duration::from_secs(10);

impl AttachConnection {
    pub(super) async fn connect(address: &ServerAddress) -> Result<Self, NoConnection> {
        let connected = async {
            match address {
                ServerAddress::Socket(path) => Self::connect_socket(path).await,
                ServerAddress::Url(remote) => Self::connect_url(remote).await,
            }
        };
        let late = |_| NoConnection::Late(address.to_string());
        timeout(PATIENCE, connected).await.map_err(late)?
    }

    /// Returns the next line; none after the connection has ended. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<String> {
        self.lines.recv().await
    }

    pub(super) fn try_next(&mut self) -> Option<String> {
        self.lines.try_recv().ok()
    }

    /// Sends a line; returns false if the connection is closed or the queue is full.
    pub(super) fn send(&self, line: String) -> bool {
        self.out.try_send(line).is_ok()
    }

    /// Closes the connection after the queued lines are written.
    pub(super) async fn close(mut self) {
        const A_MOMENT: Duration = Duration::from_millis(200);
        drop(self.out);
        self.lines.close();
        // Does not wait longer for a server that does not read.
        let written = async { while self._tasks.join_next().await.is_some() {} };
        let _ = timeout(A_MOMENT, written).await;
    }

    async fn connect_socket(path: &Path) -> Result<Self, NoConnection> {
        let nobody = |_| NoConnection::Nobody(path.display().to_string());
        let stream = UnixStream::connect(path).await.map_err(nobody)?;
        let (reader, mut writer) = stream.into_split();
        let (sender, lines) = mpsc::channel(WAITING);
        let (out, mut to_send) = mpsc::channel::<String>(WAITING);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut reader = BufReader::new(reader);
            loop {
                let mut line = String::new();
                let read = (&mut reader)
                    .take(LONGEST as u64)
                    .read_line(&mut line)
                    .await;
                if !matches!(read, Ok(1..)) || sender.send(line).await.is_err() {
                    return;
                }
            }
        });
        tasks.spawn(async move {
            while let Some(line) = to_send.recv().await {
                if writer
                    .write_all(format!("{line}\n").as_bytes())
                    .await
                    .is_err()
                {
                    return;
                }
            }
            let _ = writer.shutdown().await;
        });
        Ok(Self {
            lines,
            out,
            _tasks: tasks,
        })
    }

    async fn connect_url(remote: &RemoteAddress) -> Result<Self, NoConnection> {
        let name = remote.url.to_string();
        let host = remote
            .url
            .host()
            .unwrap_or_default()
            .trim_matches(['[', ']']);
        let safe = remote.url.scheme_str() == Some("wss");
        let port = remote.url.port_u16().unwrap_or(if safe { 443 } else { 80 });
        let nobody = |_| NoConnection::Nobody(name.clone());
        let stream = TcpStream::connect((host, port)).await.map_err(nobody)?;
        let _ = stream.set_nodelay(true);
        if !safe {
            return Self::connect_over(remote, stream).await;
        }
        let broken = |error: io::Error| NoConnection::Tls(name.clone(), error.to_string());
        let config = tls::config(remote.ca.as_deref()).map_err(broken)?;
        let host = tls::server_name(host).map_err(broken)?;
        let connector = TlsConnector::from(Arc::new(config));
        let stream = connector.connect(host, stream).await.map_err(broken)?;
        Self::connect_over(remote, stream).await
    }

    async fn connect_over<S>(remote: &RemoteAddress, stream: S) -> Result<Self, NoConnection>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let name = remote.url.to_string();
        let request = ClientRequestBuilder::new(remote.url.clone())
            .with_header("Authorization", format!("Bearer {}", remote.token));
        let limits = WebSocketConfig::default()
            .max_message_size(Some(LONGEST))
            .max_frame_size(Some(LONGEST));
        let connected = client_async_with_config(request, stream, Some(limits)).await;
        let (socket, _) = connected.map_err(|error| handshake_error(name, error))?;
        let (mut writer, mut reader) = socket.split();
        let (sender, lines) = mpsc::channel(WAITING);
        let (out, mut to_send) = mpsc::channel::<String>(WAITING);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            while let Some(Ok(message)) = reader.next().await {
                let Message::Text(text) = message else {
                    continue;
                };
                for line in text.lines().filter(|line| !line.is_empty()) {
                    if sender.send(line.to_owned()).await.is_err() {
                        return;
                    }
                }
            }
        });
        tasks.spawn(async move {
            while let Some(line) = to_send.recv().await {
                if writer.send(Message::text(line)).await.is_err() {
                    return;
                }
            }
            let _ = writer.close().await;
        });
        Ok(Self {
            lines,
            out,
            _tasks: tasks,
        })
    }
}

/// Translates the error of a WebSocket handshake.
fn handshake_error(name: String, error: tungstenite::Error) -> NoConnection {
    match error {
        tungstenite::Error::Http(response) => match response.status() {
            StatusCode::UNAUTHORIZED => NoConnection::Token(name),
            status => {
                let body = response.body().as_deref().unwrap_or_default();
                let said = String::from_utf8_lossy(body);
                let said = said.lines().next().unwrap_or_default().trim();
                NoConnection::Refused(name, format!("{status} {said}").trim_end().to_owned())
            }
        },
        other => NoConnection::Refused(name, other.to_string()),
    }
}

#[cfg(test)]
mod tests;
