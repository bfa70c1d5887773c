//! The shells of this machine, and the one that each session chose among the shells it has.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use harn_model::{SessionId, ShellCommand, ShellInvocation, ShellList, SystemShell};

use super::{
    LocalShellWorld, ShellError, ShellWorld, default_id, discover, invocation, invocation::find,
};
use crate::lock::lock;

/// Shells of this machine. Clones share the choices of sessions.
#[derive(Clone)]
pub struct LocalShells {
    world: Arc<dyn ShellWorld>,
    chosen: Arc<Mutex<HashMap<SessionId, String>>>,
}

impl LocalShells {
    /// The shells that are found here.
    #[must_use]
    pub fn new(world: Arc<dyn ShellWorld>) -> Self {
        Self {
            world,
            chosen: Arc::default(),
        }
    }

    pub(super) fn world(&self) -> &Arc<dyn ShellWorld> {
        &self.world
    }

    /// The id of the shell that a session chose.
    pub(crate) fn chosen(&self, session: &SessionId) -> Option<String> {
        lock(&self.chosen).get(session).cloned()
    }

    /// A session uses this shell from now on, of this machine or of its host.
    pub(super) fn choose(&self, session: &SessionId, id: String) {
        lock(&self.chosen).insert(session.clone(), id);
    }

    /// The session has ended.
    pub(super) fn forget(&self, session: &SessionId) {
        lock(&self.chosen).remove(session);
    }

    /// Which there are, and which one the session is to use. Looks at the disk: call it where blocking is fine.
    pub(crate) fn list(&self, session: &SessionId) -> ShellList {
        let mut list = discover(&*self.world);
        list.default_shell_id = default_id(&list.shells, self.chosen(session).as_deref());
        list
    }

    /// Has a session use another shell of this machine. Looks at the disk: call it where blocking is fine.
    pub(crate) fn set_default(
        &self,
        session: &SessionId,
        id: &str,
    ) -> Result<SystemShell, ShellError> {
        let shell = available(&self.list(session), id)?;
        self.choose(session, shell.id.clone());
        Ok(shell)
    }

    /// How a session runs a command in a shell of this machine. Looks at the disk: call it where blocking is fine.
    pub(crate) fn invocation(
        &self,
        session: &SessionId,
        command: &ShellCommand,
    ) -> Result<ShellInvocation, ShellError> {
        invocation(&*self.world, &self.list(session), command)
    }
}

impl Default for LocalShells {
    /// Those that are found without an environment.
    fn default() -> Self {
        Self::new(Arc::new(LocalShellWorld::new([])))
    }
}

/// The shell of this id, if it is there.
pub(super) fn available(list: &ShellList, id: &str) -> Result<SystemShell, ShellError> {
    let shell = find(list, id)?.clone();
    if !shell.available {
        let (id, path) = (shell.id, shell.path);
        return Err(ShellError::Unavailable { id, path });
    }
    Ok(shell)
}
