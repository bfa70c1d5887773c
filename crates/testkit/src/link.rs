//! The ways lines reach an agent and come back: channels in memory, or the pipes of a child process.

use std::{
    collections::VecDeque,
    io::{self, Read},
    process::ExitStatus,
};

use bytes::Bytes;
use futures::FutureExt;
use harn_acp::{
    AcpConfig,
    transport::{self, Incoming, read_lines},
};
use harn_runtime::Hub;
use harn_threads::{Line, ThreadsConfig};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::mpsc,
    task::JoinHandle,
};

/// One connection to an agent.
pub(crate) enum Link {
    Memory(Memory),
    Process(Box<Process>),
}

/// An agent in this process.
pub(crate) struct Memory {
    to: To,
    from: From,
    lines: VecDeque<Vec<u8>>,
    serving: JoinHandle<Result<(), String>>,
}

enum To {
    Acp(mpsc::Sender<Incoming>),
    Threads(mpsc::Sender<Line>),
    Bytes(mpsc::Sender<Vec<u8>>),
    Closed,
}

enum From {
    Acp(transport::OutgoingReceiver),
    Threads(harn_threads::OutgoingReceiver),
}

/// An agent in a process of its own.
pub(crate) struct Process {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

/// How many lines may wait for the agent.
const QUEUE: usize = 64;

impl Link {
    /// Lines go straight to the connection.
    pub(crate) fn in_memory(hub: Hub, config: AcpConfig) -> Self {
        let (to, incoming) = mpsc::channel(QUEUE);
        Self::serve(hub, config, To::Acp(to), incoming)
    }

    /// Bytes go through the line reader.
    pub(crate) fn framed(hub: Hub, config: AcpConfig, line_limit: usize) -> Self {
        let (to, bytes) = mpsc::channel(QUEUE);
        let (lines, incoming) = mpsc::channel(QUEUE);
        std::thread::spawn(move || read_lines(Fed::new(bytes), line_limit, lines));
        Self::serve(hub, config, To::Bytes(to), incoming)
    }

    fn serve(hub: Hub, config: AcpConfig, to: To, incoming: mpsc::Receiver<Incoming>) -> Self {
        let (outgoing, from) = transport::outgoing();
        let serving = harn_acp::serve_connection(hub, config, incoming, outgoing);
        Self::memory(to, From::Acp(from), serving)
    }

    /// Lines go straight to a connection of threads and turns.
    pub(crate) fn threads(hub: Hub, config: ThreadsConfig) -> Self {
        let (to, incoming) = mpsc::channel(QUEUE);
        let (outgoing, from) = harn_threads::outgoing();
        let serving = harn_threads::serve_connection(hub, config, incoming, outgoing);
        Self::memory(To::Threads(to), From::Threads(from), serving)
    }

    fn memory<E: ToString>(
        to: To,
        from: From,
        serving: impl Future<Output = Result<(), E>> + Send + 'static,
    ) -> Self {
        Self::Memory(Memory {
            to,
            from,
            lines: VecDeque::new(),
            serving: tokio::spawn(async { serving.await.map_err(|error| error.to_string()) }),
        })
    }

    /// Starts a program that speaks on its standard input and output.
    pub(crate) fn spawn(mut command: Command) -> io::Result<Self> {
        let mut child = command
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let gone = || io::Error::other("the child has no pipes");
        let (to, from) = (child.stdin.take(), child.stdout.take());
        Ok(Self::Process(Box::new(Process {
            to: Some(to.ok_or_else(gone)?),
            from: BufReader::new(from.ok_or_else(gone)?),
            child,
        })))
    }

    /// Sends bytes, a line if they end in a newline.
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        match self {
            Self::Memory(Memory {
                to: To::Bytes(to), ..
            }) => to.send(bytes.to_vec()).await.map_err(|_| gone()),
            Self::Memory(_) => {
                let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
                let line = String::from_utf8(line.to_vec());
                self.send_line(line.map_or(Line::NotUtf8, Line::Text)).await
            }
            Self::Process(process) => {
                let to = process.to.as_mut().ok_or_else(gone)?;
                let sent = async {
                    to.write_all(bytes).await?;
                    to.flush().await
                };
                sent.await.map_err(|error| error.to_string())
            }
        }
    }

    /// Sends what came in the place of a line, to an agent in this process.
    pub(crate) async fn send_line(&mut self, line: Line) -> Result<(), String> {
        let Self::Memory(memory) = self else {
            return Err(gone());
        };
        match &memory.to {
            To::Acp(to) => to.send(line.into()).await.map_err(|_| gone()),
            To::Threads(to) => to.send(line).await.map_err(|_| gone()),
            To::Bytes(_) | To::Closed => Err(gone()),
        }
    }

    /// The next line, without its end; none when the agent has closed its side.
    pub(crate) async fn recv(&mut self) -> Result<Option<Vec<u8>>, String> {
        match self {
            Self::Memory(memory) => {
                if memory.lines.is_empty() {
                    let bytes = match &mut memory.from {
                        From::Acp(from) => from.recv().await.map(|piece| piece.bytes),
                        From::Threads(from) => from.recv().await,
                    };
                    let Some(bytes) = bytes else {
                        return Ok(None);
                    };
                    memory.lines = split(&bytes)?;
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

    /// What has come and nobody has read, without waiting.
    pub(crate) fn unread(&mut self) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        while let Some(Ok(Some(line))) = self.recv().now_or_never() {
            lines.push(line);
        }
        lines
    }

    /// Says that nothing more will be sent.
    pub(crate) fn close(&mut self) {
        match self {
            Self::Memory(memory) => memory.to = To::Closed,
            Self::Process(process) => process.to = None,
        }
    }

    /// Waits for the agent's side to end. A process has a status.
    pub(crate) async fn ended(self) -> Result<Option<ExitStatus>, String> {
        match self {
            Self::Memory(memory) => match memory.serving.await {
                Ok(ended) => ended.map(|()| None),
                Err(error) => Err(format!("the connection's task died: {error}")),
            },
            Self::Process(mut process) => match process.child.wait().await {
                Ok(status) => Ok(Some(status)),
                Err(error) => Err(error.to_string()),
            },
        }
    }
}

fn gone() -> String {
    "the agent does not listen any more".to_owned()
}

fn split(chunk: &Bytes) -> Result<VecDeque<Vec<u8>>, String> {
    let Some(lines) = chunk.strip_suffix(b"\n") else {
        return Err("the agent wrote part of a line".to_owned());
    };
    Ok(lines.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect())
}

/// Bytes from a channel, for the line reader's thread.
struct Fed {
    chunks: mpsc::Receiver<Vec<u8>>,
    rest: VecDeque<u8>,
}

impl Fed {
    fn new(chunks: mpsc::Receiver<Vec<u8>>) -> Self {
        let rest = VecDeque::new();
        Self { chunks, rest }
    }
}

impl Read for Fed {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty()
            && let Some(chunk) = self.chunks.blocking_recv()
        {
            self.rest = chunk.into();
        }
        self.rest.read(buf)
    }
}
