//! The shells of this machine, and the shell that each session chose, of this machine or of its host.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use harn_model::{SessionId, ShellCommand, ShellInvocation, ShellList, SystemShell};

use super::{
    LocalShellWorld, ShellError, ShellWorld, default_id, discover, invocation, invocation::find,
};
use crate::lock::lock;

/// The shells of this machine. Clones share the choices of sessions.
#[derive(Clone)]
pub struct LocalShells {
    world: Arc<dyn ShellWorld>,
    chosen: Arc<Mutex<HashMap<SessionId, String>>>,
}

impl LocalShells {
    /// Creates the list for the shells of `world`.
    pub fn new(world: Arc<dyn ShellWorld>) -> Self {
        Self {
            world,
            chosen: Arc::default(),
        }
    }

    pub(super) fn world(&self) -> &Arc<dyn ShellWorld> {
        &self.world
    }

    /// Returns the id of the shell that a session chose.
    pub(crate) fn chosen_id(&self, session: &SessionId) -> Option<String> {
        lock(&self.chosen).get(session).cloned()
    }

    /// Stores the shell that a session uses from now on, of this machine or of its host.
    pub(super) fn choose(&self, session: &SessionId, id: String) {
        lock(&self.chosen).insert(session.clone(), id);
    }

    /// Removes the choice of a session that has ended.
    pub(super) fn forget(&self, session: &SessionId) {
        lock(&self.chosen).remove(session);
    }

    /// Returns the shells and the default of the session. Blocks: reads the disk.
    pub(crate) fn list(&self, session: &SessionId) -> ShellList {
        let mut list = discover(&*self.world);
        list.default_shell_id = default_id(&list.shells, self.chosen_id(session).as_deref());
        list
    }

    /// Changes the session's shell to another one of this machine. Blocks: reads the disk.
    pub(crate) fn set_default(
        &self,
        session: &SessionId,
        id: &str,
    ) -> Result<SystemShell, ShellError> {
        let shell = find_available(&self.list(session), id)?;
        self.choose(session, shell.id.clone());
        Ok(shell)
    }

    /// Builds the invocation of a command in a shell of this machine. Blocks: reads the disk.
    pub(crate) fn invocation(
        &self,
        session: &SessionId,
        command: &ShellCommand,
    ) -> Result<ShellInvocation, ShellError> {
        invocation(&*self.world, &self.list(session), command)
    }
}

impl Default for LocalShells {
    /// Uses the shells that are found without an environment.
    fn default() -> Self {
        Self::new(Arc::new(LocalShellWorld::new([])))
    }
}

/// Returns the shell with this id if it is available.
pub(super) fn find_available(list: &ShellList, id: &str) -> Result<SystemShell, ShellError> {
    let shell = find(list, id)?.clone();
    if !shell.available {
        let (id, path) = (shell.id, shell.path);
        return Err(ShellError::Unavailable { id, path });
    }
    Ok(shell)
}
