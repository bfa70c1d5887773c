//! The host port: files, commands and tools that an agent uses through whoever offers them.
//!
//! A front-end implements [`HostPort`] for its client, the tools room implements it for this machine;
//! [`Host`] asks the client first where it offers the thing and falls back to this machine.

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
    HostError,
    permission::{CallPermit, ProposedCall, judge, judge_read, locate},
    session::{SharedSession, lock},
    turn::TurnPipe,
};

/// The operation by which a client runs commands.
const EXEC: &str = "process.exec";

pub use deadlines::{HostDeadlines, answer_within};
pub(crate) use port::quoted_line;
pub use port::{CommandExit, CommandSink, CommandSpec, HostOffers, HostPort, NoHost};

/// Says which files may be read. Looks at the disk where there are rules: ask it where blocking is fine.
#[derive(Clone)]
pub struct ReadFilter(Option<Arc<SharedSession>>);

impl ReadFilter {
    /// Whether this file may be read without asking anybody.
    #[must_use]
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

/// The host of one turn: the client's where it offers something, else this machine's. Cheap to clone;
/// its futures own what they need.
///
/// The one of a turn reads; that of a tool call that may run also does what the call declared, and nothing
/// else.
#[derive(Clone)]
pub struct Host {
    /// The session that acts.
    acting: Arc<SharedSession>,
    /// What the agent said before it asks the client for something is written first.
    pipe: Arc<TurnPipe>,
    cancel: CancellationToken,
    permit: Arc<CallPermit>,
}

impl Host {
    /// Operations of clients that change nothing, whoever has them.
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

    /// The same host, for a call that may run.
    pub(crate) fn permitted(&self, permit: CallPermit) -> Self {
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

    /// The session that clients know: the one at the top, and no worker's.
    fn session(&self) -> &SessionId {
        &self.acting.root().meta.thread_id
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
    async fn readable(&self, path: PathBuf) -> Result<RootedPath, HostError> {
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
    async fn writable(&self, path: PathBuf) -> Result<RootedPath, HostError> {
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
        look: impl FnOnce(&CallPermit, &SharedSession) -> Result<T, HostError> + Send + 'static,
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
            host.read_text(this.session(), &file).await
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
            host.write_text(this.session(), &file, &text).await
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
        host.run(self.session(), spec, sink).await
    }

    /// Has the client run the command that the call declared with its operation `process.exec`: for those that
    /// have no terminal. Nothing is heard of it before it has ended.
    pub async fn exec(
        &self,
        spec: CommandSpec,
        limit: Option<Duration>,
    ) -> Result<ProcessExit, HostError> {
        self.going_on()?;
        if !self.client_offers().tools {
            return Err(HostError::Unsupported("operations"));
        }
        self.permit.run(&self.acting, &spec)?;
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
        let answer = host.host_call(self.session(), EXEC, params).await?;
        let unclear = |error| HostError::Host(format!("its answer to {EXEC} is none: {error}"));
        serde_json::from_value(answer).map_err(unclear)
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
            host.call_tool(this.session(), &name, args).await
        }
    }

    /// Asks the client, or this machine where the client has no operations, for the operation that the call is
    /// about; see [`HostPort::host_call`].
    pub fn call<N: Into<String>>(
        &self,
        operation: N,
        args: Value,
    ) -> impl Future<Output = Result<Value, HostError>> + Send + 'static + use<N> {
        let (this, operation) = (self.clone(), operation.into());
        async move {
            this.going_on()?;
            if operation == EXEC && !this.permit.declares_command() {
                let why = "it runs a command, which needs a tool call of the kind execute";
                return Err(HostError::Denied(format!("{EXEC}: {why}")));
            }
            this.permit.call(&operation, &args)?;
            let host = this.pick(|o| o.tools).await?;
            let args = match operation == EXEC && !host.offers().tools {
                true => this.exec_on_this_machine(args)?,
                false => args,
            };
            host.host_call(this.session(), &operation, args).await
        }
    }

    /// The arguments of `process.exec` for this machine: with a directory that the call may run in, and without
    /// variables, which could change what the command does after it was judged.
    fn exec_on_this_machine(&self, args: Value) -> Result<Value, HostError> {
        let misfit = |error| HostError::Failed(format!("the arguments of {EXEC}: {error}"));
        let mut exec: ProcessExec = serde_json::from_value(args).map_err(misfit)?;
        if !exec.env.is_empty() {
            let why = "rules do not judge `env`; put variables into the command, as in `env NAME=value program`";
            return Err(HostError::Denied(format!("{EXEC}: {why}")));
        }
        let cwd = match &exec.cwd {
            Some(cwd) => self.absolute(cwd),
            None => self.acting.cwd.to_path_buf(),
        };
        self.permit.runs_in(&self.acting, &cwd)?;
        exec.cwd = Some(cwd.display().to_string());
        serde_json::to_value(exec).map_err(misfit)
    }

    /// Asks for an operation that changes nothing, without a tool call: one of [`Host::INQUIRIES`]. It goes to the
    /// client, or to this machine where the client has no operations. Judged as reading; what would have to be
    /// asked about is refused.
    pub async fn inquire(&self, operation: &str, args: Value) -> Result<Value, HostError> {
        if !Self::INQUIRIES.contains(&operation) {
            let why = "it may change something; start a tool call for it";
            return Err(HostError::Denied(format!("{operation}: {why}")));
        }
        let act = ProposedCall::inquiry(operation, args.clone());
        let receipt = judge(&self.acting, act).await.receipt;
        match receipt.action {
            PolicyAction::Allow => {}
            PolicyAction::Ask | PolicyAction::Deny => {
                return Err(HostError::Denied(receipt.reason));
            }
        }
        self.going_on()?;
        let host = self.pick(|o| o.tools).await?;
        let answer = host.host_call(self.session(), operation, args);
        self.while_turn_goes_on(answer).await
    }

    /// The tools that the client has for agents.
    pub async fn list_tools(&self) -> Result<Vec<HostTool>, HostError> {
        let host = self.lender("tools").await?;
        self.while_turn_goes_on(host.list_tools(self.session()))
            .await
    }

    /// Which operations the client has.
    pub async fn capabilities(&self) -> Result<HostCapabilities, HostError> {
        let host = self.lender("operations").await?;
        self.while_turn_goes_on(host.capabilities(self.session()))
            .await
    }

    /// The skills that the client has.
    pub async fn list_skills(&self) -> Result<Vec<SkillRef>, HostError> {
        let host = self.lender("skills").await?;
        self.while_turn_goes_on(host.list_skills(self.session()))
            .await
    }

    /// A skill of the client, whole.
    pub async fn fetch_skill(&self, id: &str) -> Result<HostSkill, HostError> {
        let host = self.lender("skills").await?;
        self.while_turn_goes_on(host.fetch_skill(self.session(), id))
            .await
    }

    /// Has the client rank skills.
    pub async fn match_skills(
        &self,
        request: SkillMatchRequest,
    ) -> Result<Vec<SkillCandidate>, HostError> {
        let host = self.lender("ranking skills").await?;
        self.while_turn_goes_on(host.match_skills(self.session(), request))
            .await
    }

    /// The client, to be asked about what it lends, which changes nothing.
    async fn lender(&self, what: &'static str) -> Result<Arc<dyn HostPort>, HostError> {
        self.going_on()?;
        if !self.client_offers().tools {
            return Err(HostError::Unsupported(what));
        }
        self.pick(|o| o.tools).await
    }

    /// Waits for an answer for as long as the turn goes on.
    async fn while_turn_goes_on<T>(
        &self,
        answer: impl Future<Output = Result<T, HostError>>,
    ) -> Result<T, HostError> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(HostError::Denied("the turn is over".to_owned())),
            answer = answer => answer,
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
            return Ok(self.acting.config.local_host.clone());
        }
        let written = self.pipe.flush().await;
        written.map_err(|_| HostError::Failed("the turn is over".to_owned()))?;
        Ok(client)
    }
}
