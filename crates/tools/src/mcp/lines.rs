//! Messages as lines of bytes, the way servers speak on their stdin and stdout.
//!
//! A line has a greatest length, and what is no message is left out: many servers print a greeting there. What
//! a line says is not logged; rmcp's own transport would.

use futures::future::BoxFuture;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::mpsc,
};
use tokio_util::task::AbortOnDropHandle;

use super::wire::{CLOSED, McpSendError};

/// The longest line that is read, with room for pictures.
const LONGEST: usize = 16 * 1024 * 1024;
/// How many lines in a row may be no messages, before it is clear that this is no server.
const MOST_STRAY: usize = 1000;
/// How many messages wait for a server that does not read.
const QUEUE: usize = 16;

/// Both directions of a server's pipe.
pub(super) struct McpPipe {
    read: BufReader<Box<dyn AsyncRead + Send + Unpin>>,
    line: Vec<u8>,
    stray: usize,
    write: mpsc::Sender<Vec<u8>>,
    _writer: AbortOnDropHandle<()>,
}

impl McpPipe {
    pub(super) fn new(
        read: impl AsyncRead + Send + Unpin + 'static,
        mut to: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        let (write, mut queue) = mpsc::channel::<Vec<u8>>(QUEUE);
        // A task of its own: a server that does not read must not keep us from reading what it says.
        let writer = tokio::spawn(async move {
            while let Some(line) = queue.recv().await {
                if to.write_all(&line).await.is_err() || to.flush().await.is_err() {
                    break;
                }
            }
        });
        Self {
            read: BufReader::new(Box::new(read)),
            line: Vec::new(),
            stray: 0,
            write,
            _writer: AbortOnDropHandle::new(writer),
        }
    }

    /// Puts a message into the queue; fails when nobody takes any out.
    pub(super) fn send(
        &mut self,
        message: &ClientJsonRpcMessage,
    ) -> BoxFuture<'static, Result<(), McpSendError>> {
        let write = self.write.clone();
        let line = serde_json::to_vec(message).map(|mut line| {
            line.push(b'\n');
            line
        });
        Box::pin(async move {
            // Our own messages can be encoded; if not, the request fails like on a closed pipe.
            let line = line.map_err(|_| McpSendError::closed())?;
            write.send(line).await.map_err(|_| McpSendError::closed())
        })
    }

    /// The next message, or why there is none. Cancel safe: what was read of a line stays.
    pub(super) async fn receive(&mut self) -> Result<ServerJsonRpcMessage, String> {
        loop {
            self.read_line().await?;
            let message = serde_json::from_slice(self.line.trim_ascii());
            let blank = self.line.trim_ascii().is_empty();
            self.line.clear();
            // One long message should not be paid for ever after.
            self.line.shrink_to(64 * 1024);
            match message {
                Ok(message) => {
                    self.stray = 0;
                    return Ok(message);
                }
                Err(_) if blank => {}
                Err(_) => {
                    self.stray += 1;
                    if self.stray > MOST_STRAY {
                        return Err("what it prints to stdout is not MCP".to_owned());
                    }
                }
            }
        }
    }

    async fn read_line(&mut self) -> Result<(), String> {
        loop {
            // An error of the pipe is its end as well.
            let piece = self.read.fill_buf().await.unwrap_or_default();
            if piece.is_empty() {
                return Err(CLOSED.to_owned());
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(piece.len(), |at| at + 1);
            if self.line.len() + taken > LONGEST {
                let most = LONGEST / (1024 * 1024);
                return Err(format!("it sent a message larger than {most} MiB"));
            }
            self.line.extend_from_slice(&piece[..taken]);
            self.read.consume(taken);
            if end.is_some() {
                return Ok(());
            }
        }
    }
}
