//! MCP messages as lines, as servers send them on stdin and stdout.
//!
//! A line has a maximum length, and a line that is no message is skipped: many servers print a banner there. Lines are
//! never logged; rmcp's own transport would log them.

use futures::future::BoxFuture;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::mpsc,
};
use tokio_util::task::AbortOnDropHandle;

use super::wire::{CLOSED, McpSendError};

/// The longest line that is read, with room for images.
const LONGEST: usize = 16 * 1024 * 1024;
/// How many lines in a row may be no messages before the program counts as no MCP server.
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
        // A separate task: a server that does not read must not stop us from reading its messages.
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

    /// Queues a message; fails when the writer has ended.
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
            // Our own messages always serialize; if one does not, the request fails as on a closed pipe.
            let line = line.map_err(|_| McpSendError::closed())?;
            write.send(line).await.map_err(|_| McpSendError::closed())
        })
    }

    /// Returns the next message, or the reason why there is none. Cancel safe: a line read in part is kept.
    pub(super) async fn receive(&mut self) -> Result<ServerJsonRpcMessage, String> {
        loop {
            self.read_line().await?;
            let message = serde_json::from_slice(self.line.trim_ascii());
            let blank = self.line.trim_ascii().is_empty();
            self.line.clear();
            // Frees the memory of one long message.
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
                        return Err("its output on stdout is not MCP".to_owned());
                    }
                }
            }
        }
    }

    async fn read_line(&mut self) -> Result<(), String> {
        loop {
            // A read error counts as the end of the pipe.
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
