//! A program under measurement and its running process, with a client on its pipes.
//!
//! Dropping a [`Running`] always ends its process.

use std::{
    ffi::OsString,
    fs::File,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use agent_client_protocol::{
    schema::ProtocolVersion,
    v1::schema::{
        ContentBlock, InitializeRequest, NewSessionRequest, NewSessionResponse, PromptRequest,
        SessionId, TextContent,
    },
};
use anyhow::{Context, Result, bail};
use serde::Serialize;

use crate::{
    lines::{Drained, Lines},
    machine::Memory,
};

/// The time limit of a single process; one that hangs fails only its own figure.
const PATIENCE: Duration = Duration::from_secs(300);

/// A program with its arguments and environment.
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(&'static str, OsString)>,
    /// The file for its stderr, to find out why a figure failed.
    pub(crate) log: PathBuf,
}

impl Program {
    pub(crate) fn new(path: impl Into<PathBuf>, log_dir: &Path) -> Self {
        let path = path.into();
        let name = path.file_name().unwrap_or_default().to_owned();
        Self {
            log: log_dir.join(name).with_extension("stderr"),
            args: Vec::new(),
            env: Vec::new(),
            path,
        }
    }

    pub(crate) fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.env.push((name, value.into()));
        self
    }

    pub(crate) fn start(&self) -> Result<Running> {
        let stderr = File::options().create(true).append(true).open(&self.log)?;
        let begun = Instant::now();
        let mut child = Command::new(&self.path)
            .args(&self.args)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .with_context(|| format!("starting {}", self.path.display()))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().context("stdout is a pipe")?;
        Ok(Running {
            begun,
            pid: child.id(),
            child: Arc::new(Mutex::new(child)),
            stdin,
            lines: Lines::new(stdout),
            next_id: 0,
            guard: None,
        })
    }
}

pub(crate) struct Running {
    /// Just before it was started.
    pub(crate) begun: Instant,
    pub(crate) pid: u32,
    pub(crate) lines: Lines<ChildStdout>,
    child: Arc<Mutex<Child>>,
    stdin: Option<ChildStdin>,
    next_id: u64,
    /// Dropping it stops the thread that kills a process which hangs.
    guard: Option<mpsc::SyncSender<()>>,
}

#[derive(Serialize)]
struct Request<P> {
    jsonrpc: &'static str,
    id: u64,
    method: &'static str,
    params: P,
}

impl Running {
    /// Sends a request and returns its id.
    pub(crate) fn send(&mut self, method: &'static str, params: impl Serialize) -> Result<u64> {
        let id = self.next_id;
        self.next_id += 1;
        let mut line = serde_json::to_vec(&Request {
            jsonrpc: "2.0",
            id,
            method,
            params,
        })?;
        line.push(b'\n');
        self.write(&line)?;
        Ok(id)
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let stdin = self.stdin.as_mut().context("stdin is closed")?;
        stdin.write_all(bytes).context("writing to the agent")?;
        // After the write, so that no thread is started inside the time of the first response.
        if self.guard.is_none() {
            self.guard = Some(self.start_watchdog());
        }
        Ok(())
    }

    /// Sends `initialize` and waits for its response.
    pub(crate) fn initialize(&mut self) -> Result<Drained> {
        let id = self.send("initialize", InitializeRequest::new(ProtocolVersion::V1))?;
        self.read_response(id)
    }

    /// Opens a session in `cwd`.
    pub(crate) fn new_session(&mut self, cwd: &Path) -> Result<SessionId> {
        let id = self.send("session/new", NewSessionRequest::new(cwd))?;
        let answer = self.read_response(id)?;
        let response: NewSessionResponse = serde_json::from_str(answer.result.get())?;
        Ok(response.session_id)
    }

    /// Starts a program, initializes it and opens one session.
    pub(crate) fn start_with_session(program: &Program, cwd: &Path) -> Result<(Self, SessionId)> {
        let mut agent = program.start()?;
        agent.initialize()?;
        let session = agent.new_session(cwd)?;
        Ok((agent, session))
    }

    /// Sends a prompt and returns its id.
    pub(crate) fn prompt(&mut self, session: &SessionId, text: &str) -> Result<u64> {
        let text = ContentBlock::Text(TextContent::new(text));
        self.send(
            "session/prompt",
            PromptRequest::new(session.clone(), vec![text]),
        )
    }

    /// Reads up to the response and counts the lines before it.
    pub(crate) fn read_response(&mut self, id: u64) -> Result<Drained> {
        self.lines.read_until_response(id, |_| Ok(()))
    }

    pub(crate) fn memory(&self) -> Result<Memory> {
        Memory::read(self.pid)
    }

    /// Closes stdin and waits; returns the time until the end.
    pub(crate) fn end(mut self) -> Result<(Duration, ExitStatus)> {
        let closed = Instant::now();
        self.stdin = None;
        loop {
            if let Some(status) = self.child().try_wait()? {
                return Ok((closed.elapsed(), status));
            }
            if closed.elapsed() > Duration::from_secs(20) {
                bail!("still running 20 s after the end of its input");
            }
            thread::sleep(Duration::from_micros(200));
        }
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start_watchdog(&self) -> mpsc::SyncSender<()> {
        let (guard, called_off) = mpsc::sync_channel::<()>(0);
        let child = Arc::clone(&self.child);
        thread::spawn(move || {
            if called_off.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                // The process may already be gone.
                let _ = child.lock().unwrap_or_else(PoisonError::into_inner).kill();
            }
        });
        guard
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut child = self.child();
        // Both fail only when the process is already gone and reaped.
        let _ = child.kill();
        let _ = child.wait();
    }
}
