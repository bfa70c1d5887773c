//! The host port: files, commands and tools that an agent uses through a client or this machine.
//!
//! A front-end implements [`HostPort`] for its client, the `tools` crate implements it for this machine.
//! [`Host`] uses the client where it offers the operation and falls back to this machine.

mod deadlines;
mod port;

use std::{
    collections::BTreeMap,
    future::Future,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use harn_model::{
    ExecCommand, HostCapabilities, HostSkill, HostTool, PolicyAction, ProcessExec, ProcessExit,
    SessionId, SkillCandidate, SkillMatchRequest, SkillRef,
};
use harn_policy::{PathScope, RootedPath};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    CommandConfinement, HostError,
    permission::{CallPermit, ProposedCall, judge, judge_read, locate},
    session::{SharedSession, lock},
    turn::TurnPipe,
};

/// The client's operation that runs commands.
pub(crate) const EXEC: &str = "process.exec";

/// The most bytes that this machine retains of a command's standard output, and of its error output.
const EXEC_OUTPUT: usize = 1024 * 1024;

pub use deadlines::{HostDeadlines, answer_within};
pub(crate) use port::quote_line;
pub use port::{CommandExit, CommandSink, CommandSpec, HostOffers, HostPort, HostSandbox, NoHost};

/// Decides which files may be read. Reads the disk if there are rules: call it only where blocking is allowed.
#[derive(Clone)]
pub struct ReadFilter(Option<Arc<SharedSession>>);

impl ReadFilter {
    /// Whether this file may be read without a permission question.
    pub fn allows(&self, path: &Path) -> bool {
        let Some(acting) = &self.0 else {
            return true;
        };
        let found = locate(acting, &[path.to_string_lossy().into_owned()]);
        found.iter().all(|found| {
            found.standing == PathScope::Inside
                && judge_read(acting, found).action == PolicyAction::Allow
        })
    }
}

/// The host of one turn: the client's operations where it offers them, else this machine's. Cheap to clone;
/// its futures own what they need.
///
/// The host of a turn only reads; the host of an allowed tool call also does what the call declared, and nothing else.
///
/// ```
/// # mod harn_serve {
/// #     pub use harn_runtime::*;
/// #     pub use harn_runtime::model::*;
/// # }
/// use harn_serve::{Host, HostError};
///
/// async fn first_line(host: &Host) -> Result<String, HostError> {
///     let text = host.read_text("README.md").await?;
///     Ok(text.lines().next().unwrap_or_default().to_owned())
/// }
/// ```
#[derive(Clone)]
pub struct Host {
    /// The session that acts.
    acting: Arc<SharedSession>,
    /// Flushed before a request to the client, so that the agent's earlier events are written first.
    pipe: Arc<TurnPipe>,
    cancel: CancellationToken,
    permit: Arc<CallPermit>,
}

impl Host {
    /// Operations of clients that are read-only on every client.
    pub const INQUIRIES: [&str; 3] = [
        "process.list_shells",
        "process.get_default_shell",
        "process.shell_invocation",
    ];

    pub(crate) fn new(
        acting: Arc<SharedSession>,
        pipe: Arc<TurnPipe>,
        cancel: CancellationToken,
    ) -> Self {
        Self {
            acting,
            pipe,
            cancel,
            permit: Arc::default(),
        }
    }

    /// Returns the same host for an allowed call.
    pub(crate) fn with_permit(&self, permit: CallPermit) -> Self {
        Self {
            permit: Arc::new(permit),
            ..self.clone()
        }
    }

    /// Ends the permit when the call ends.
    pub(crate) fn end_permit(&self) {
        self.permit.end();
    }

    /// Returns what the client offers, without the fallback.
    pub fn client_offers(&self) -> HostOffers {
        self.client().offers()
    }

    /// Returns the session that clients know: the root session, never a worker's.
    fn client_session(&self) -> &SessionId {
        &self.acting.root().meta.thread_id
    }

    /// Returns the current controller's host of the root session, even if control changed since the turn started.
    fn client(&self) -> Arc<dyn HostPort> {
        lock(&self.acting.root().host).clone()
    }

    /// Returns `path` as an absolute path; relative paths start at the session's directory.
    pub fn absolute(&self, path: impl AsRef<Path>) -> PathBuf {
        self.acting.cwd.join(path)
    }

    /// Resolves a path for reading. A path that the call did not declare is judged as a plain read and
    /// refused unless the rules allow it.
    async fn resolve_readable(&self, path: PathBuf) -> Result<RootedPath, HostError> {
        let untold = HostError::Denied(format!("{}: cannot be resolved", path.display()));
        let found = self
            .run_blocking(move |permit, acting| {
                let (found, declared) = permit.check_read(acting, &path)?;
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

    /// Resolves a path for writing.
    async fn resolve_writable(&self, path: PathBuf) -> Result<RootedPath, HostError> {
        self.check_turn_running()?;
        self.run_blocking(move |permit, acting| permit.check_write(acting, &path))
            .await
    }

    /// Refuses operations of a turn that was cancelled or has ended.
    fn check_turn_running(&self) -> Result<(), HostError> {
        if self.cancel.is_cancelled() || self.pipe.is_closed() {
            return Err(HostError::Denied("the turn is over".to_owned()));
        }
        Ok(())
    }

    /// Runs `look` on a blocking thread, because it reads the disk.
    async fn run_blocking<T: Send + 'static>(
        &self,
        look: impl FnOnce(&CallPermit, &SharedSession) -> Result<T, HostError> + Send + 'static,
    ) -> Result<T, HostError> {
        let (permit, acting) = (self.permit.clone(), self.acting.clone());
        let looked = tokio::task::spawn_blocking(move || look(&permit, &acting));
        let interrupted = || HostError::Failed("the work was interrupted".to_owned());
        looked.await.unwrap_or_else(|_| Err(interrupted()))
    }

    /// Returns which files of the session's directories may be read, for callers that check many files.
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
            let file = this.resolve_readable(path).await?;
            let host = this.pick(|o| o.read_text).await?;
            host.read_text(this.client_session(), &file).await
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
            let file = this.resolve_writable(path).await?;
            let host = this.pick(|o| o.write_text).await?;
            host.write_text(this.client_session(), &file, &text).await
        }
    }

    /// Runs the command that the call declared to its end; see [`HostPort::run`].
    pub async fn run(
        &self,
        mut spec: CommandSpec,
        sink: &mut dyn CommandSink,
    ) -> Result<CommandExit, HostError> {
        self.check_turn_running()?;
        self.permit.check_run(&self.acting, &spec)?;
        spec.confinement = self.permit.confinement().cloned();
        let host = self.pick(|o| o.terminal).await?;
        host.run(self.client_session(), spec, sink).await
    }

    /// Returns the limits in which the command of the call runs; none if the call runs no command, the client runs it,
    /// or no sandbox confines it.
    pub fn confinement(&self) -> Option<&CommandConfinement> {
        self.permit.confinement()
    }

    /// Returns how this machine confines commands.
    pub async fn local_sandbox(&self) -> HostSandbox {
        let local = self.acting.config.local_host.clone();
        let asked = tokio::task::spawn_blocking(move || local.sandbox());
        asked.await.unwrap_or_default()
    }

    /// Runs the declared command with the client's operation `process.exec`, for clients that have no
    /// terminal. Returns output only after the command has ended.
    pub async fn exec(
        &self,
        spec: CommandSpec,
        limit: Option<Duration>,
    ) -> Result<ProcessExit, HostError> {
        self.check_turn_running()?;
        if !self.client_offers().tools {
            return Err(HostError::Unsupported("operations"));
        }
        self.permit.check_run(&self.acting, &spec)?;
        let words = std::iter::once(spec.program).chain(spec.args);
        let params = ProcessExec {
            command: ExecCommand::Argv(words.collect()),
            cwd: Some(spec.cwd.display().to_string()),
            env: BTreeMap::new(),
            timeout_ms: limit.map(|limit| limit.as_millis().try_into().unwrap_or(u64::MAX)),
        };
        let params = serde_json::to_value(params);
        let params = params.map_err(|error| HostError::Failed(error.to_string()))?;
        let host = self.pick(|o| o.tools).await?;
        let answer = host.host_call(self.client_session(), EXEC, params).await?;
        let unclear = |error| HostError::Host(format!("its answer to {EXEC} is invalid: {error}"));
        serde_json::from_value(answer).map_err(unclear)
    }

    /// Calls the client's tool that the call declared.
    pub fn call_tool<N: Into<String>>(
        &self,
        name: N,
        args: Value,
    ) -> impl Future<Output = Result<Value, HostError>> + Send + 'static + use<N> {
        let (this, name) = (self.clone(), name.into());
        async move {
            this.check_turn_running()?;
            this.permit.check_call(&name, &args)?;
            // Only the client has tools.
            let host = this.pick(|_| true).await?;
            host.call_tool(this.client_session(), &name, args).await
        }
    }

    /// Calls the operation that the call declared on the client, or on this machine if the client has no
    /// operations; see [`HostPort::host_call`].
    pub fn call<N: Into<String>>(
        &self,
        operation: N,
        args: Value,
    ) -> impl Future<Output = Result<Value, HostError>> + Send + 'static + use<N> {
        let (this, operation) = (self.clone(), operation.into());
        async move {
            this.check_turn_running()?;
            if operation == EXEC && !this.permit.declares_command() {
                let why = "it runs a command, which needs a tool call of the kind execute";
                return Err(HostError::Denied(format!("{EXEC}: {why}")));
            }
            this.permit.check_call(&operation, &args)?;
            let host = this.pick(|o| o.tools).await?;
            if operation == EXEC && !host.offers().tools {
                return this.exec_here(&*host, args).await;
            }
            host.host_call(this.client_session(), &operation, args)
                .await
        }
    }

    /// Performs `process.exec` on this machine: in a permitted directory, and without variables, which could change the
    /// effect of the command after it was judged.
    async fn exec_here(&self, host: &dyn HostPort, mut args: Value) -> Result<Value, HostError> {
        let misfit = |error| HostError::Failed(format!("the arguments of {EXEC}: {error}"));
        // They are in the permit already.
        if let Value::Object(members) = &mut args {
            members.retain(|name, _| name != "network" && name != "sandbox");
        }
        let exec: ProcessExec = serde_json::from_value(args).map_err(misfit)?;
        if !exec.env.is_empty() {
            let why = "rules do not judge `env`; put variables into the command, as in `env NAME=value program`";
            return Err(HostError::Denied(format!("{EXEC}: {why}")));
        }
        let cwd = match &exec.cwd {
            Some(cwd) => self.absolute(cwd),
            None => self.acting.cwd.to_path_buf(),
        };
        self.permit.check_cwd(&self.acting, &cwd)?;
        let spec = match exec.command {
            // The rules interpret a line in the same way.
            ExecCommand::Line(line) => CommandSpec::shell(line, cwd, EXEC_OUTPUT),
            ExecCommand::Argv(words) => {
                let mut words = words.into_iter();
                let none =
                    || HostError::Failed(format!("the arguments of {EXEC}: expected a program"));
                CommandSpec {
                    program: words.next().ok_or_else(none)?,
                    args: words.collect(),
                    ..CommandSpec::shell("", cwd, EXEC_OUTPUT)
                }
            }
        };
        let spec = CommandSpec {
            confinement: self.permit.confinement().cloned(),
            ..spec
        };
        let limit = exec.timeout_ms.map(Duration::from_millis);
        let exit = host.exec(self.client_session(), spec, limit).await?;
        serde_json::to_value(exit).map_err(|error| HostError::Failed(error.to_string()))
    }

    /// Calls a read-only operation without a tool call: one of [`Host::INQUIRIES`], on the client, or on this machine
    /// if the client has no operations. Judged as a read; refused if it would need a permission question.
    pub async fn inquire(&self, operation: &str, args: Value) -> Result<Value, HostError> {
        if !Self::INQUIRIES.contains(&operation) {
            let why = "it may change something; start a tool call for it";
            return Err(HostError::Denied(format!("{operation}: {why}")));
        }
        let act = ProposedCall::for_inquiry(operation, args.clone());
        let receipt = judge(&self.acting, act).await.receipt;
        match receipt.action {
            PolicyAction::Allow => {}
            PolicyAction::Ask | PolicyAction::Deny => {
                return Err(HostError::Denied(receipt.reason));
            }
        }
        self.check_turn_running()?;
        let host = self.pick(|o| o.tools).await?;
        let answer = host.host_call(self.client_session(), operation, args);
        self.unless_cancelled(answer).await
    }

    /// Returns the tools that the client has for agents.
    pub async fn list_tools(&self) -> Result<Vec<HostTool>, HostError> {
        let host = self.lending_client("tools").await?;
        self.unless_cancelled(host.list_tools(self.client_session()))
            .await
    }

    /// Returns the operations that the client has.
    pub async fn capabilities(&self) -> Result<HostCapabilities, HostError> {
        let host = self.lending_client("operations").await?;
        self.unless_cancelled(host.capabilities(self.client_session()))
            .await
    }

    /// Returns the skills that the client has.
    pub async fn list_skills(&self) -> Result<Vec<SkillRef>, HostError> {
        let host = self.lending_client("skills").await?;
        self.unless_cancelled(host.list_skills(self.client_session()))
            .await
    }

    /// Returns a skill of the client with its content.
    pub async fn fetch_skill(&self, id: &str) -> Result<HostSkill, HostError> {
        let host = self.lending_client("skills").await?;
        self.unless_cancelled(host.fetch_skill(self.client_session(), id))
            .await
    }

    /// Requests a ranking of skills from the client.
    pub async fn match_skills(
        &self,
        request: SkillMatchRequest,
    ) -> Result<Vec<SkillCandidate>, HostError> {
        let host = self.lending_client("ranking skills").await?;
        self.unless_cancelled(host.match_skills(self.client_session(), request))
            .await
    }

    /// Returns the client for read-only requests about what it lends.
    async fn lending_client(&self, what: &'static str) -> Result<Arc<dyn HostPort>, HostError> {
        self.check_turn_running()?;
        if !self.client_offers().tools {
            return Err(HostError::Unsupported(what));
        }
        self.pick(|o| o.tools).await
    }

    /// Waits for an answer until the turn is cancelled.
    async fn unless_cancelled<T>(
        &self,
        answer: impl Future<Output = Result<T, HostError>>,
    ) -> Result<T, HostError> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(HostError::Denied("the turn is over".to_owned())),
            answer = answer => answer,
        }
    }

    /// Returns the host to use. Before it returns the client, it flushes the agent's events, so that a
    /// request cannot overtake the call it belongs to.
    async fn pick(
        &self,
        offered: impl Fn(HostOffers) -> bool,
    ) -> Result<Arc<dyn HostPort>, HostError> {
        let client = self.client();
        if !offered(client.offers()) {
            return Ok(self.acting.config.local_host.clone());
        }
        let written = self.pipe.flush().await;
        written.map_err(|_| HostError::Failed("the turn is over".to_owned()))?;
        Ok(client)
    }
}
