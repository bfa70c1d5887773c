//! The host port: files, commands and tools that an agent uses through whoever offers them.
//!
//! A front-end implements [`HostPort`] for its client, the tools room implements it for this machine;
//! [`Host`] asks the client first where it offers the thing and falls back to this machine.

use std::{
    borrow::Cow,
    future::Future,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use harn_model::{PolicyAction, SessionId};
use harn_policy::{Place, Standing};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    HostError,
    permission::{Permit, judge_read, locate},
    session::{Shared, lock},
    turn::Pipe,
};

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

impl CommandSpec {
    /// A line for the shell.
    pub fn shell(line: impl Into<String>, cwd: impl Into<PathBuf>, output_limit: usize) -> Self {
        Self {
            program: "/bin/sh".to_owned(),
            args: vec!["-c".to_owned(), line.into()],
            cwd: cwd.into(),
            output_limit,
        }
    }

    /// The command as a line: what the shell is given, or the words one by one.
    #[must_use]
    pub fn line(&self) -> Cow<'_, str> {
        if let [flag, line] = &self.args[..]
            && self.program == "/bin/sh"
            && flag == "-c"
        {
            return Cow::Borrowed(line);
        }
        let words = std::iter::once(&self.program).chain(&self.args);
        Cow::Owned(quoted_line(words.map(String::as_str)))
    }
}

/// Words as a line.
pub(crate) fn quoted_line<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut line = String::new();
    for (at, word) in words.enumerate() {
        if at > 0 {
            line.push(' ');
        }
        // A program with `=` in its name would be taken for a variable.
        match quoted(word) {
            Cow::Borrowed(plain) if at == 0 && plain.contains('=') => {
                line.push_str(&format!("'{plain}'"));
            }
            word => line.push_str(&word),
        }
    }
    line
}

/// A word as a shell has to be given it.
fn quoted(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', "'\\''")))
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
    async fn read_text(&self, session: &SessionId, file: &Place) -> Result<String, HostError>;

    /// Writes a text file.
    async fn write_text(
        &self,
        session: &SessionId,
        file: &Place,
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

/// Says which files may be read. Looks at the disk where there are rules: ask it where blocking is fine.
#[derive(Clone)]
pub struct ReadFilter(Option<Arc<Shared>>);

impl ReadFilter {
    /// Whether this file may be read without asking anybody.
    #[must_use]
    pub fn allows(&self, path: &Path) -> bool {
        let Some(acting) = &self.0 else {
            return true;
        };
        let found = locate(acting, &[path.to_string_lossy().into_owned()]);
        found.iter().all(|found| {
            found.standing == Standing::Inside
                && judge_read(acting, found).action == PolicyAction::Allow
        })
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

    async fn read_text(&self, _: &SessionId, _: &Place) -> Result<String, HostError> {
        Err(HostError::Unsupported("reading files"))
    }

    async fn write_text(&self, _: &SessionId, _: &Place, _: &str) -> Result<(), HostError> {
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
///
/// The one of a turn reads; that of a tool call that may run also does what the call declared, and nothing
/// else.
#[derive(Clone)]
pub struct Host {
    /// The session that clients know.
    session: SessionId,
    /// The one that acts.
    acting: Arc<Shared>,
    local: Arc<dyn HostPort>,
    /// What the agent said before it asks the client for something is written first.
    pipe: Arc<Pipe>,
    cancel: CancellationToken,
    permit: Arc<Permit>,
}

impl Host {
    pub(crate) fn new(
        session: SessionId,
        acting: Arc<Shared>,
        local: Arc<dyn HostPort>,
        pipe: Arc<Pipe>,
        cancel: CancellationToken,
    ) -> Self {
        Self {
            session,
            acting,
            local,
            pipe,
            cancel,
            permit: Arc::default(),
        }
    }

    /// The same host, for a call that may run.
    pub(crate) fn permitted(&self, permit: Permit) -> Self {
        Self {
            permit: Arc::new(permit),
            ..self.clone()
        }
    }

    /// The call has ended.
    pub(crate) fn end_permit(&self) {
        self.permit.end();
    }

    /// What the client offers, without the fallback.
    #[must_use]
    pub fn client_offers(&self) -> HostOffers {
        self.client().offers()
    }

    /// Whoever is in control of the session that clients know, also where that changed since the turn
    /// began.
    fn client(&self) -> Arc<dyn HostPort> {
        lock(&self.acting.root().host).clone()
    }

    /// `path` as an absolute path, relative ones taken from the session's directory.
    #[must_use]
    pub fn absolute(&self, path: impl AsRef<Path>) -> PathBuf {
        self.acting.cwd.join(path)
    }

    /// Where a path leads that is to be read. One that the call did not declare is asked about as if a
    /// tool read it.
    async fn readable(&self, path: PathBuf) -> Result<Place, HostError> {
        let untold = HostError::Denied(format!("{}: nobody can tell", path.display()));
        let found = self
            .looked(move |permit, acting| {
                let (found, declared) = permit.read(acting, &path)?;
                if declared {
                    return Ok(found);
                }
                let receipt = judge_read(acting, &found);
                match receipt.action {
                    PolicyAction::Allow => Ok(found),
                    PolicyAction::Ask | PolicyAction::Deny => {
                        Err(HostError::Denied(receipt.reason))
                    }
                }
            })
            .await?;
        found.place.ok_or(untold)
    }

    /// Where a path leads that is to be written.
    async fn writable(&self, path: PathBuf) -> Result<Place, HostError> {
        self.going_on()?;
        self.looked(move |permit, acting| permit.write(acting, &path))
            .await
    }

    /// Refuses what a turn that was cancelled, or has ended, would still do.
    fn going_on(&self) -> Result<(), HostError> {
        if self.cancel.is_cancelled() || self.pipe.is_closed() {
            return Err(HostError::Denied("the turn is over".to_owned()));
        }
        Ok(())
    }

    /// Looks at the disk, so not on this thread.
    async fn looked<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Permit, &Shared) -> Result<T, HostError> + Send + 'static,
    ) -> Result<T, HostError> {
        let (permit, acting) = (self.permit.clone(), self.acting.clone());
        let looked = tokio::task::spawn_blocking(move || look(&permit, &acting));
        let interrupted = || HostError::Failed("the work was interrupted".to_owned());
        looked.await.unwrap_or_else(|_| Err(interrupted()))
    }

    /// Which files of the session's directories may be read, for who looks at many of them.
    pub async fn read_filter(&self) -> ReadFilter {
        let acting = self.acting.clone();
        let ruled = tokio::task::spawn_blocking(move || {
            let policy = acting.config.rules.policy(&acting.root().cwd);
            policy.map_or(true, |policy| {
                *policy.source() != harn_policy::ToolApprovalPolicy::default()
            })
        });
        // Rules that cannot be read may forbid anything.
        let ruled = ruled.await.unwrap_or(true);
        ReadFilter(ruled.then(|| self.acting.clone()))
    }

    /// Reads a text file of the session's directories, unless a rule forbids it.
    pub fn read_text<P: AsRef<Path>>(
        &self,
        path: P,
    ) -> impl Future<Output = Result<String, HostError>> + Send + 'static + use<P> {
        let path = self.absolute(path);
        let this = self.clone();
        async move {
            let file = this.readable(path).await?;
            let host = this.pick(|o| o.read_text).await?;
            host.read_text(&this.session, &file).await
        }
    }

    /// Writes a text file that the call declared.
    pub fn write_text<P: AsRef<Path>, T: Into<String>>(
        &self,
        path: P,
        text: T,
    ) -> impl Future<Output = Result<(), HostError>> + Send + 'static + use<P, T> {
        let (path, text) = (self.absolute(path), text.into());
        let this = self.clone();
        async move {
            let file = this.writable(path).await?;
            let host = this.pick(|o| o.write_text).await?;
            host.write_text(&this.session, &file, &text).await
        }
    }

    /// Runs the command that the call declared to its end; see [`HostPort::run`].
    pub async fn run(
        &self,
        spec: CommandSpec,
        sink: &mut dyn CommandSink,
    ) -> Result<CommandExit, HostError> {
        self.going_on()?;
        self.permit.run(&self.acting, &spec)?;
        let host = self.pick(|o| o.terminal).await?;
        host.run(&self.session, spec, sink).await
    }

    /// Calls the tool of the client that the call is about.
    pub fn call_tool<N: Into<String>>(
        &self,
        name: N,
        args: Value,
    ) -> impl Future<Output = Result<Value, HostError>> + Send + 'static + use<N> {
        let (this, name) = (self.clone(), name.into());
        async move {
            this.going_on()?;
            this.permit.call(&name, &args)?;
            // Tools are the client's alone.
            let host = this.pick(|_| true).await?;
            host.call_tool(&this.session, &name, args).await
        }
    }

    /// Asks the client for the operation that the call is about; see [`HostPort::host_call`].
    pub fn call<N: Into<String>>(
        &self,
        operation: N,
        args: Value,
    ) -> impl Future<Output = Result<Value, HostError>> + Send + 'static + use<N> {
        let (this, operation) = (self.clone(), operation.into());
        async move {
            this.going_on()?;
            this.permit.call(&operation, &args)?;
            let host = this.pick(|o| o.tools).await?;
            host.host_call(&this.session, &operation, args).await
        }
    }

    /// Whom to ask. The client is asked once everything the agent said before is written, so that a
    /// request cannot overtake the call it belongs to.
    async fn pick(
        &self,
        offered: impl Fn(HostOffers) -> bool,
    ) -> Result<Arc<dyn HostPort>, HostError> {
        let client = self.client();
        if !offered(client.offers()) {
            return Ok(self.local.clone());
        }
        let written = self.pipe.flush().await;
        written.map_err(|_| HostError::Failed("the turn is over".to_owned()))?;
        Ok(client)
    }
}
