//! The connection between a client and an agent: channels in memory, or the pipes of a child process.

use std::{
    collections::VecDeque,
    io::{self, Read},
    process::ExitStatus,
};

use bytes::Bytes;
use futures::FutureExt;
use harn_acp::{
    AcpConfig,
    transport::{self, ConnectionInput, read_lines},
};
use harn_runtime::Hub;
use harn_threads::{IncomingLine, ThreadsConfig};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::mpsc,
    task::JoinHandle,
};

/// A connection to an agent.
pub(crate) enum TestLink {
    Memory(MemoryLink),
    Process(Box<ProcessLink>),
}

/// An agent in this process.
pub(crate) struct MemoryLink {
    to: LinkSender,
    from: LinkReceiver,
    lines: VecDeque<Vec<u8>>,
    serving: JoinHandle<Result<(), String>>,
}

enum LinkSender {
    Acp(mpsc::Sender<ConnectionInput>),
    Threads(mpsc::Sender<IncomingLine>),
    Bytes(mpsc::Sender<Vec<u8>>),
    Closed,
}

enum LinkReceiver {
    Acp(transport::PieceReceiver),
    Threads(harn_threads::OutgoingReceiver),
}

/// An agent in a process of its own.
pub(crate) struct ProcessLink {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

/// The number of lines that may wait for the agent.
const QUEUE: usize = 64;

impl TestLink {
    /// Sends lines directly to the connection.
    pub(crate) fn in_memory(hub: Hub, config: AcpConfig) -> Self {
        let (to, incoming) = mpsc::channel(QUEUE);
        Self::serve(hub, config, LinkSender::Acp(to), incoming)
    }

    /// Sends bytes through the line reader.
    pub(crate) fn with_line_reader(hub: Hub, config: AcpConfig, line_limit: usize) -> Self {
        let (to, bytes) = mpsc::channel(QUEUE);
        let (lines, incoming) = mpsc::channel(QUEUE);
        std::thread::spawn(move || read_lines(ChannelReader::new(bytes), line_limit, lines));
        Self::serve(hub, config, LinkSender::Bytes(to), incoming)
    }

    fn serve(
        hub: Hub,
        config: AcpConfig,
        to: LinkSender,
        incoming: mpsc::Receiver<ConnectionInput>,
    ) -> Self {
        let (outgoing, from) = transport::outgoing();
        let serving = harn_acp::serve_connection(hub, config, incoming, outgoing);
        Self::memory(to, LinkReceiver::Acp(from), serving)
    }

    /// Sends lines directly to a connection of threads and turns.
    pub(crate) fn threads(hub: Hub, config: ThreadsConfig) -> Self {
        let (to, incoming) = mpsc::channel(QUEUE);
        let (outgoing, from) = harn_threads::outgoing();
        let serving = harn_threads::serve_connection(hub, config, incoming, outgoing);
        Self::memory(
            LinkSender::Threads(to),
            LinkReceiver::Threads(from),
            serving,
        )
    }

    fn memory<E: ToString>(
        to: LinkSender,
        from: LinkReceiver,
        serving: impl Future<Output = Result<(), E>> + Send + 'static,
    ) -> Self {
        Self::Memory(MemoryLink {
            to,
            from,
            lines: VecDeque::new(),
            serving: tokio::spawn(async { serving.await.map_err(|error| error.to_string()) }),
        })
    }

    /// Starts a program and connects to its standard input and output.
    pub(crate) fn spawn(mut command: Command) -> io::Result<Self> {
        let mut child = command
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let gone = || io::Error::other("the child has no pipes");
        let (to, from) = (child.stdin.take(), child.stdout.take());
        Ok(Self::Process(Box::new(ProcessLink {
            to: Some(to.ok_or_else(gone)?),
            from: BufReader::new(from.ok_or_else(gone)?),
            child,
        })))
    }

    /// Sends bytes; a line if they end in a newline.
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        match self {
            Self::Memory(MemoryLink {
                to: LinkSender::Bytes(to),
                ..
            }) => to.send(bytes.to_vec()).await.map_err(|_| closed_error()),
            Self::Memory(_) => {
                let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
                let line = String::from_utf8(line.to_vec());
                self.send_line(line.map_or(IncomingLine::NotUtf8, IncomingLine::Text))
                    .await
            }
            Self::Process(process) => {
                let to = process.to.as_mut().ok_or_else(closed_error)?;
                let sent = async {
                    to.write_all(bytes).await?;
                    to.flush().await
                };
                sent.await.map_err(|error| error.to_string())
            }
        }
    }

    /// Sends a line that may be too long or invalid, to an agent in this process.
    pub(crate) async fn send_line(&mut self, line: IncomingLine) -> Result<(), String> {
        let Self::Memory(memory) = self else {
            return Err(closed_error());
        };
        match &memory.to {
            LinkSender::Acp(to) => to.send(line.into()).await.map_err(|_| closed_error()),
            LinkSender::Threads(to) => to.send(line).await.map_err(|_| closed_error()),
            LinkSender::Bytes(_) | LinkSender::Closed => Err(closed_error()),
        }
    }

    /// Returns the next line without its end, or `None` if the agent closed its side.
    pub(crate) async fn recv(&mut self) -> Result<Option<Vec<u8>>, String> {
        match self {
            Self::Memory(memory) => {
                if memory.lines.is_empty() {
                    let bytes = match &mut memory.from {
                        LinkReceiver::Acp(from) => from.recv().await.map(|piece| piece.bytes),
                        LinkReceiver::Threads(from) => from.recv().await,
                    };
                    let Some(bytes) = bytes else {
                        return Ok(None);
                    };
                    memory.lines = split_lines(&bytes)?;
                }
                Ok(memory.lines.pop_front())
            }
            Self::Process(process) => {
                let mut line = Vec::new();
                let read = process.from.read_until(b'\n', &mut line).await;
                match read.map_err(|error| error.to_string())? {
                    0 => Ok(None),
                    _ => match line.pop() {
                        Some(b'\n') => Ok(Some(line)),
                        _ => Err("the agent ended in the middle of a line".to_owned()),
                    },
                }
            }
        }
    }

    /// Returns the lines that have arrived and are unread, without waiting.
    pub(crate) fn take_unread(&mut self) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        while let Some(Ok(Some(line))) = self.recv().now_or_never() {
            lines.push(line);
        }
        lines
    }

    /// Closes the input of the agent.
    pub(crate) fn close(&mut self) {
        match self {
            Self::Memory(memory) => memory.to = LinkSender::Closed,
            Self::Process(process) => process.to = None,
        }
    }

    /// Waits until the agent's side ends. Returns the status of a process.
    pub(crate) async fn wait_until_ended(self) -> Result<Option<ExitStatus>, String> {
        match self {
            Self::Memory(memory) => match memory.serving.await {
                Ok(ended) => ended.map(|()| None),
                Err(error) => Err(format!("the connection's task failed: {error}")),
            },
            Self::Process(mut process) => match process.child.wait().await {
                Ok(status) => Ok(Some(status)),
                Err(error) => Err(error.to_string()),
            },
        }
    }
}

fn closed_error() -> String {
    "the agent does not read any more".to_owned()
}

fn split_lines(chunk: &Bytes) -> Result<VecDeque<Vec<u8>>, String> {
    let Some(lines) = chunk.strip_suffix(b"\n") else {
        return Err("the agent wrote part of a line".to_owned());
    };
    Ok(lines.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect())
}

/// A reader of bytes from a channel, for the line reader's thread.
struct ChannelReader {
    chunks: mpsc::Receiver<Vec<u8>>,
    rest: VecDeque<u8>,
}

impl ChannelReader {
    fn new(chunks: mpsc::Receiver<Vec<u8>>) -> Self {
        let rest = VecDeque::new();
        Self { chunks, rest }
    }
}

impl Read for ChannelReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty()
            && let Some(chunk) = self.chunks.blocking_recv()
        {
            self.rest = chunk.into();
        }
        self.rest.read(buf)
    }
}
