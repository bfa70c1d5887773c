//! This machine as a host: its files, its commands and its shells.
//!
//! It opens a path as it was located, and nothing that replaced it since. The caller checks permission; a command
//! runs as given.

pub(crate) mod command;
mod files;
mod group;
pub(crate) mod output;
mod process;
mod sandbox;
mod spawner;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use harn_model::{ProcessExit, SessionId};
use harn_runtime::{
    CommandExit, CommandSink, CommandSpec, HostError, HostOffers, HostPort, HostSandbox, RootedPath,
};
use serde_json::Value;

use command::CommandStart;
use group::ProcessGroups;
use sandbox::LocalSandbox;

use crate::shells::{LocalShells, ShellWorld};

pub use sandbox::LocalSandboxConfig;
#[cfg(feature = "mcp")]
pub(crate) use {command::SECRET, group::ProcessGroup, sandbox::check_program};

/// Files, commands and shells of this machine. Clones share the running commands and the shells that sessions
/// chose.
#[derive(Clone, Default)]
pub struct LocalHost {
    groups: ProcessGroups,
    shells: LocalShells,
    sandbox: Option<Arc<LocalSandbox>>,
}

impl LocalHost {
    /// Creates a host without running commands.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the same host with the shells of `world`.
    #[must_use]
    pub fn with_shells(self, world: Arc<dyn ShellWorld>) -> Self {
        Self {
            shells: LocalShells::new(world),
            ..self
        }
    }

    /// Returns the same host with a sandbox for its commands and servers.
    #[must_use]
    pub fn with_sandbox(self, config: LocalSandboxConfig) -> Self {
        Self {
            sandbox: Some(Arc::new(LocalSandbox::new(config))),
            ..self
        }
    }

    /// Returns its sandbox, if it has one.
    pub(crate) fn local_sandbox(&self) -> Option<&Arc<LocalSandbox>> {
        self.sandbox.as_ref()
    }

    pub(crate) fn shells(&self) -> &LocalShells {
        &self.shells
    }

    /// Returns its process groups, for other processes that must end with them.
    #[cfg(feature = "mcp")]
    pub(crate) fn groups(&self) -> &ProcessGroups {
        &self.groups
    }

    /// Kills every running command with its child processes, and prevents new ones. For the exit of the process:
    /// does not wait, and may be called from a panic hook.
    pub fn end_all(&self) {
        self.groups.end_all();
        if let Some(sandbox) = &self.sandbox {
            sandbox.end_all();
        }
    }
}

impl LocalHost {
    /// Returns how a command starts: through the helper of the sandbox if it is confined.
    async fn prepare(
        &self,
        session: &SessionId,
        spec: CommandSpec,
    ) -> Result<CommandStart, HostError> {
        let (sandbox, session) = (self.sandbox.clone(), session.clone());
        run_blocking(move || match (&sandbox, &spec.confinement) {
            (Some(sandbox), Some(limits)) => {
                command::check(&spec)?;
                let wrapped = sandbox.wrap_command(&session, limits, &spec.program, &spec.args)?;
                Ok(CommandStart::wrapped(spec, wrapped))
            }
            // A caller that sets limits must not get a command without any.
            (None, Some(_)) => {
                let why = "the command needs a sandbox, and this host has none";
                Err(HostError::Denied(why.to_owned()))
            }
            (_, None) => Ok(CommandStart::plain(spec)),
        })
        .await
    }
}

#[async_trait]
impl HostPort for LocalHost {
    fn offers(&self) -> HostOffers {
        HostOffers {
            read_text: true,
            write_text: true,
            terminal: true,
            tools: false,
            same_machine: true,
        }
    }

    async fn read_text(&self, _: &SessionId, file: &RootedPath) -> Result<String, HostError> {
        let file = file.clone();
        run_blocking(move || files::read(&file)).await
    }

    async fn write_text(
        &self,
        _: &SessionId,
        file: &RootedPath,
        text: &str,
    ) -> Result<(), HostError> {
        let (file, text) = (file.clone(), text.to_owned());
        run_blocking(move || files::write(&file, &text)).await
    }

    async fn run(
        &self,
        session: &SessionId,
        spec: CommandSpec,
        sink: &mut dyn CommandSink,
    ) -> Result<CommandExit, HostError> {
        let start = self.prepare(session, spec).await?;
        command::run(&self.groups, start, sink).await
    }

    async fn exec(
        &self,
        session: &SessionId,
        spec: CommandSpec,
        limit: Option<Duration>,
    ) -> Result<ProcessExit, HostError> {
        let start = self.prepare(session, spec).await?;
        command::exec(&self.groups, start, limit).await
    }

    fn sandbox(&self) -> HostSandbox {
        let sandbox = self.sandbox.as_ref();
        sandbox.map_or_else(HostSandbox::default, |sandbox| sandbox.describe())
    }

    async fn call_tool(&self, _: &SessionId, _: &str, _: Value) -> Result<Value, HostError> {
        Err(HostError::Unsupported("tools"))
    }

    async fn host_call(
        &self,
        session: &SessionId,
        operation: &str,
        args: Value,
    ) -> Result<Value, HostError> {
        process::call(self, session, operation, args).await
    }
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, HostError> + Send + 'static,
) -> Result<T, HostError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(_) => Err(HostError::Failed("the work was interrupted".to_owned())),
    }
}
