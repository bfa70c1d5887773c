//! This machine as a host: its files, its commands and its shells.
//!
//! It opens a path as it was located, and nothing that replaced it since. The caller checks permission; a command
//! runs as given.

pub(crate) mod command;
mod files;
mod group;
pub(crate) mod output;
mod process;

use std::sync::Arc;

use async_trait::async_trait;
use harn_model::SessionId;
use harn_runtime::{
    CommandExit, CommandSink, CommandSpec, HostError, HostOffers, HostPort, RootedPath,
};
use serde_json::Value;

use group::ProcessGroups;

use crate::shells::{LocalShells, ShellWorld};

#[cfg(feature = "mcp")]
pub(crate) use {command::SECRET, group::ProcessGroup};

/// Files, commands and shells of this machine. Clones share the running commands and the shells that sessions
/// chose.
#[derive(Clone, Default)]
pub struct LocalHost {
    groups: ProcessGroups,
    shells: LocalShells,
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
        _: &SessionId,
        spec: CommandSpec,
        sink: &mut dyn CommandSink,
    ) -> Result<CommandExit, HostError> {
        command::run(&self.groups, spec, sink).await
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
