//! The host port: files, commands and tools that an agent uses through whoever offers them.
//!
//! A front-end implements [`HostPort`] for its client, the tools room implements it for this machine;
//! [`Host`] asks the client first where it offers the thing and falls back to this machine.

use std::{
    future::Future,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use harn_model::SessionId;
use serde_json::Value;

use crate::{HostError, turn::Pipe};

/// What a host offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostOffers {
    /// Reading text files.
    pub read_text: bool,
    /// Writing text files.
    pub write_text: bool,
    /// Running commands in a terminal.
    pub terminal: bool,
    /// Tools and operations of its own.
    pub tools: bool,
}

/// A command to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandSpec {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// How much of its output is kept, counted from the end.
    pub output_limit: usize,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandExit {
    /// Its exit code, if it exited.
    pub code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<String>,
    /// Its output, standard output and error as they came.
    pub output: String,
    /// Whether the beginning of the output is missing.
    pub truncated: bool,
}

/// Hears of a command while it runs.
pub trait CommandSink: Send {
    /// It runs in this terminal of the host.
    fn terminal(&mut self, terminal_id: &str);

    /// It printed something.
    fn output(&mut self, chunk: &str);
}

/// Who offers files, commands and tools.
#[async_trait]
pub trait HostPort: Send + Sync + 'static {
    /// What it offers; anything else answers [`HostError::Unsupported`].
    fn offers(&self) -> HostOffers;

    /// Reads a text file as the host sees it, unsaved changes included.
    async fn read_text(&self, session: &SessionId, path: &Path) -> Result<String, HostError>;

    /// Writes a text file.
    async fn write_text(
        &self,
        session: &SessionId,
        path: &Path,
        text: &str,
    ) -> Result<(), HostError>;

    /// Runs a command to its end. Dropping the future ends the command and everything it started.
    async fn run(
        &self,
        session: &SessionId,
        spec: CommandSpec,
        sink: &mut dyn CommandSink,
    ) -> Result<CommandExit, HostError>;

    /// Calls a tool of the host.
    async fn call_tool(
        &self,
        session: &SessionId,
        name: &str,
        args: Value,
    ) -> Result<Value, HostError>;

    /// Asks the host for an operation of its own, such as `process.list_shells`. A host that offers
    /// tools offers these; most have none.
    async fn host_call(
        &self,
        session: &SessionId,
        operation: &str,
        args: Value,
    ) -> Result<Value, HostError> {
        let _ = (session, operation, args);
        Err(HostError::Unsupported("operations"))
    }
}

/// A host that offers nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHost;

#[async_trait]
impl HostPort for NoHost {
    fn offers(&self) -> HostOffers {
        HostOffers::default()
    }

    async fn read_text(&self, _: &SessionId, _: &Path) -> Result<String, HostError> {
        Err(HostError::Unsupported("reading files"))
    }

    async fn write_text(&self, _: &SessionId, _: &Path, _: &str) -> Result<(), HostError> {
        Err(HostError::Unsupported("writing files"))
    }

    async fn run(
        &self,
        _: &SessionId,
        _: CommandSpec,
        _: &mut dyn CommandSink,
    ) -> Result<CommandExit, HostError> {
        Err(HostError::Unsupported("running commands"))
    }

    async fn call_tool(&self, _: &SessionId, _: &str, _: Value) -> Result<Value, HostError> {
        Err(HostError::Unsupported("tools"))
    }
}

/// The host of one turn: the client's where it offers something, else this machine's. Cheap to clone;
/// its futures own what they need.
#[derive(Clone)]
pub struct Host {
    session: SessionId,
    cwd: Arc<Path>,
    client: Arc<dyn HostPort>,
    local: Arc<dyn HostPort>,
    /// What the agent said before it asks the client for something is written first.
    pipe: Arc<Pipe>,
}

impl Host {
    pub(crate) fn new(
        session: SessionId,
        cwd: Arc<Path>,
        client: Arc<dyn HostPort>,
        local: Arc<dyn HostPort>,
        pipe: Arc<Pipe>,
    ) -> Self {
        Self {
            session,
            cwd,
            client,
            local,
            pipe,
        }
    }

    /// What the client offers, without the fallback.
    #[must_use]
    pub fn client_offers(&self) -> HostOffers {
        self.client.offers()
    }

    /// `path` as an absolute path, relative ones taken from the session's directory.
    #[must_use]
    pub fn absolute(&self, path: impl AsRef<Path>) -> PathBuf {
        self.cwd.join(path)
    }

    /// Reads a text file.
    pub fn read_text<P: AsRef<Path>>(
        &self,
        path: P,
    ) -> impl Future<Output = Result<String, HostError>> + Send + 'static + use<P> {
        let path = self.absolute(path);
        let this = self.clone();
        async move {
            let host = this.pick(|o| o.read_text).await?;
            host.read_text(&this.session, &path).await
        }
    }

    /// Writes a text file.
    pub fn write_text<P: AsRef<Path>, T: Into<String>>(
        &self,
        path: P,
        text: T,
    ) -> impl Future<Output = Result<(), HostError>> + Send + 'static + use<P, T> {
        let (path, text) = (self.absolute(path), text.into());
        let this = self.clone();
        async move {
            let host = this.pick(|o| o.write_text).await?;
            host.write_text(&this.session, &path, &text).await
        }
    }

    /// Runs a command to its end; see [`HostPort::run`].
    pub async fn run(
        &self,
        spec: CommandSpec,
        sink: &mut dyn CommandSink,
    ) -> Result<CommandExit, HostError> {
        let host = self.pick(|o| o.terminal).await?;
        host.run(&self.session, spec, sink).await
    }

    /// Calls a tool of the client.
    pub fn call_tool<N: Into<String>>(
        &self,
        name: N,
        args: Value,
    ) -> impl Future<Output = Result<Value, HostError>> + Send + 'static + use<N> {
        let (this, name) = (self.clone(), name.into());
        async move {
            // Tools are the client's alone.
            let host = this.pick(|_| true).await?;
            host.call_tool(&this.session, &name, args).await
        }
    }

    /// Asks the client for an operation; see [`HostPort::host_call`].
    pub fn call<N: Into<String>>(
        &self,
        operation: N,
        args: Value,
    ) -> impl Future<Output = Result<Value, HostError>> + Send + 'static + use<N> {
        let (this, operation) = (self.clone(), operation.into());
        async move {
            let host = this.pick(|o| o.tools).await?;
            host.host_call(&this.session, &operation, args).await
        }
    }

    /// Whom to ask. The client is asked once everything the agent said before is written, so that a
    /// request cannot overtake the call it belongs to.
    async fn pick(
        &self,
        offered: impl Fn(HostOffers) -> bool,
    ) -> Result<&Arc<dyn HostPort>, HostError> {
        if !offered(self.client.offers()) {
            return Ok(&self.local);
        }
        let written = self.pipe.flush().await;
        written.map_err(|_| HostError::Failed("the turn is over".to_owned()))?;
        Ok(&self.client)
    }
}
