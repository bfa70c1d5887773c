//! A minimal client over a WebSocket, because it shares the two cores with the measured server.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, sleep, timeout},
};

/// Only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(60);
/// How much is read at a time.
const CHUNK: usize = 16 * 1024;

pub(crate) struct Link {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// How much of the buffer was processed.
    read: usize,
    last_id: u64,
    /// The received frames of a long message.
    long: Vec<u8>,
}

impl Link {
    /// Connects to ACP and initializes.
    pub(crate) async fn open(address: SocketAddr, token: &str, name: &str) -> Result<Self> {
        let mut link = Self::connect(address, token, "/acp").await?;
        let hello = json!({
            "protocolVersion": 1,
            "clientCapabilities": {"_meta": {"harn": {"profile": "harn", "eventIds": true}}},
            "clientInfo": {"name": name, "version": "0.0.0"},
        });
        link.ask("initialize", hello).await?;
        Ok(link)
    }

    /// Connects and sends nothing.
    pub(crate) async fn connect(address: SocketAddr, token: &str, path: &str) -> Result<Self> {
        let mut link = Self {
            stream: connect_with_retry(address).await?,
            buffer: Vec::with_capacity(CHUNK),
            read: 0,
            last_id: 0,
            long: Vec::new(),
        };
        let hello = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Key: aGFybi1iZW5jaC1saW5rMQ==\r\nSec-WebSocket-Version: 13\r\n\
             Authorization: Bearer {token}\r\n\r\n"
        );
        link.stream.write_all(hello.as_bytes()).await?;
        let end = loop {
            let end = link.buffer.windows(4).position(|it| it == b"\r\n\r\n");
            match end {
                Some(end) => break end + 4,
                None => link.fill().await?,
            }
        };
        let head = String::from_utf8_lossy(&link.buffer[..end]);
        ensure!(head.starts_with("HTTP/1.1 101"), "no upgrade: {head}");
        link.read = end;
        Ok(link)
    }

    /// Sends a request; returns its id.
    pub(crate) async fn send(&mut self, method: &str, params: Value) -> Result<u64> {
        self.last_id += 1;
        let id = self.last_id;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send_text(&message.to_string()).await?;
        Ok(id)
    }

    pub(crate) async fn send_text(&mut self, message: &str) -> Result<()> {
        // A complete text frame, under a mask that changes nothing.
        let mut frame = vec![0x81, 0x80 | 127];
        frame.extend((message.len() as u64).to_be_bytes());
        frame.extend([0; 4]);
        frame.extend(message.as_bytes());
        self.stream.write_all(&frame).await?;
        Ok(())
    }

    /// Sends a request and waits for its response; skips the messages before it.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Result<Value> {
        let id = self.send(method, params).await?;
        self.read_response(id, |_| Ok(())).await
    }

    /// Reads up to a response; calls `seen` for every message before it.
    pub(crate) async fn read_response(
        &mut self,
        id: u64,
        mut seen: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<Value> {
        let head = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},");
        let answer = async {
            loop {
                let message = self.next().await?;
                if message.starts_with(head.as_bytes()) {
                    let mut message: Value = serde_json::from_slice(message)?;
                    ensure!(message["error"].is_null(), "refused: {}", message["error"]);
                    return Ok(message["result"].take());
                }
                seen(message)?;
            }
        };
        timeout(PATIENCE, answer).await.context("no answer")?
    }

    /// Returns the next message.
    pub(crate) async fn next(&mut self) -> Result<&[u8]> {
        loop {
            let unread = &self.buffer[self.read..];
            if let Some((kind, from, to)) = parse_frame(unread) {
                let (from, to) = (self.read + from, self.read + to);
                self.read = to;
                match kind {
                    // A complete text.
                    0x81 => return Ok(&self.buffer[from..to]),
                    // The first frame of a text, and further ones.
                    0x01 => self.long.clear(),
                    0x00 | 0x80 => {}
                    0x88 => bail!("the server closed the connection"),
                    // A ping or a pong.
                    _ => continue,
                }
                self.long.extend_from_slice(&self.buffer[from..to]);
                if kind == 0x80 {
                    return Ok(&self.long);
                }
                continue;
            }
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> Result<()> {
        if self.read > 0 {
            self.buffer.drain(..self.read);
            self.read = 0;
        }
        self.buffer.reserve(CHUNK);
        let read = self.stream.read_buf(&mut self.buffer).await?;
        ensure!(read > 0, "the server hung up");
        Ok(())
    }
}

/// Returns the first complete frame: its kind with the final bit, and where its content begins and ends.
fn parse_frame(bytes: &[u8]) -> Option<(u8, usize, usize)> {
    let (kind, length) = (*bytes.first()?, *bytes.get(1)? & 0x7f);
    let (from, length) = match length {
        126 => (
            4,
            usize::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?)),
        ),
        127 => {
            let length = u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?);
            (10, usize::try_from(length).ok()?)
        }
        short => (2, usize::from(short)),
    };
    (bytes.len() >= from + length).then_some((kind, from, from + length))
}

/// Connects as soon as the server listens.
async fn connect_with_retry(address: SocketAddr) -> Result<TcpStream> {
    let begun = Instant::now();
    loop {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) if begun.elapsed() > Duration::from_secs(10) => return Err(error.into()),
            Err(_) => sleep(Duration::from_millis(5)).await,
        }
    }
}
