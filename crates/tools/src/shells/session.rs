//! The shells of a session: those of its host if it offers some, else those of this machine.

use std::sync::Mutex;

use harn_model::{
    HostCapabilities, SessionId, SetDefaultShell, ShellCommand, ShellInvocation, ShellList,
    SystemShell, ToolKind, TurnId,
};
use harn_runtime::{AgentError, BoxFuture, HostDeadlines, HostError, TurnContext, answer_within};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{LocalShells, ShellError, default_id, invocation, local::find_available};
use crate::lock::lock;

/// The host capability for shells.
const CAPABILITY: &str = "process";

/// The shells of one session. Dropping it removes the session's choice.
pub struct SessionShells {
    local: LocalShells,
    session: SessionId,
    deadlines: HostDeadlines,
    /// The host's capabilities, as received in this turn.
    heard: Mutex<Option<(TurnId, HostCapabilities)>>,
}

impl SessionShells {
    /// Creates the shells of this session, with those of this machine as a fallback.
    pub fn new(local: LocalShells, session: SessionId, deadlines: HostDeadlines) -> Self {
        Self {
            local,
            session,
            deadlines,
            heard: Mutex::default(),
        }
    }

    /// Returns the shells, and the default among them.
    pub fn list<'a>(&'a self, cx: &'a TurnContext) -> BoxFuture<'a, ShellList> {
        Box::pin(async move {
            let args = Value::Object(Map::new());
            let mut list = match self.inquire(cx, "list_shells", args).await {
                Some(list) => list,
                None => self
                    .run_local(|local, session| local.list(session))
                    .await
                    .unwrap_or_default(),
            };
            let is_there = |id: &String| list.shells.iter().any(|it| it.available && it.id == *id);
            let chosen = self.chosen_id().filter(is_there).or(list.default_shell_id);
            list.default_shell_id = chosen.or_else(|| default_id(&list.shells, None));
            list
        })
    }

    /// Returns the default shell, if there is any.
    pub async fn default_shell(&self, cx: &TurnContext) -> Option<SystemShell> {
        if self.chosen_id().is_none() {
            let args = Value::Object(Map::new());
            let told = self.inquire(cx, "get_default_shell", args).await;
            if let Some(Some(shell)) = told {
                return Some(shell);
            }
        }
        let list = self.list(cx).await;
        let id = list.default_shell_id?;
        list.shells.into_iter().find(|shell| shell.id == id)
    }

    /// Changes the default shell. If the host stores the choice, it receives a call, which needs permission like
    /// any call that changes something.
    pub async fn set_default(&self, cx: &TurnContext, id: &str) -> Result<SystemShell, ShellError> {
        let list = self.list(cx).await;
        let mut shell = find_available(&list, id)?;
        if self.host_has(cx, "set_default_shell").await {
            let shell_id = id.to_owned();
            shell = send_choice(cx, &SetDefaultShell { shell_id }).await?;
        }
        // The permission answer may have sent another shell to the host.
        self.local.choose(&self.session, shell.id.clone());
        Ok(shell)
    }

    /// Returns the id of the shell that was chosen for this session.
    pub fn chosen_id(&self) -> Option<String> {
        self.local.chosen_id(&self.session)
    }

    /// Builds the invocation of a command in a shell.
    pub async fn invocation(
        &self,
        cx: &TurnContext,
        command: &ShellCommand,
    ) -> Result<ShellInvocation, ShellError> {
        let told = self
            .inquire(cx, "shell_invocation", to_json(command)?)
            .await;
        if let Some(told) = told {
            return Ok(told);
        }
        let (list, command) = (self.list(cx).await, command.clone());
        let found = self.run_local(move |local, _| invocation(&**local.world(), &list, &command));
        let interrupted = || Err(ShellError::Host("the work was interrupted".to_owned()));
        found.await.unwrap_or_else(interrupted)
    }

    /// Asks the host if it has this operation. After a failure the host is not asked again in this turn: it may
    /// have used its full deadline.
    async fn inquire<T: DeserializeOwned>(
        &self,
        cx: &TurnContext,
        operation: &str,
        args: Value,
    ) -> Option<T> {
        if !self.host_has(cx, operation).await {
            return None;
        }
        let name = format!("{CAPABILITY}.{operation}");
        let answer = cx.host().inquire(&name, args).await;
        let answer = answer.and_then(|answer| {
            let misfit = |_| HostError::Host("an answer of an unknown form".to_owned());
            serde_json::from_value(answer).map_err(misfit)
        });
        match answer {
            Ok(answer) => Some(answer),
            Err(error) => {
                tracing::warn!(%error, operation, "the host's shells are not available; using this machine's");
                self.store_capabilities(cx, HostCapabilities::default());
                None
            }
        }
    }

    /// Returns whether the host has an operation. It is asked once per turn; a host that does not answer has none.
    async fn host_has(&self, cx: &TurnContext, operation: &str) -> bool {
        if !cx.host().client_offers().tools {
            return false;
        }
        if let Some((turn, heard)) = &*lock(&self.heard)
            && turn == cx.turn_id()
        {
            return heard.has(CAPABILITY, operation);
        }
        let told = cx.host().capabilities();
        let told = answer_within(self.deadlines.list, "host/capabilities", told);
        let told = match told.await {
            Ok(told) => told,
            Err(error) => {
                tracing::warn!(%error, "the host did not return its capabilities");
                HostCapabilities::default()
            }
        };
        let has = told.has(CAPABILITY, operation);
        self.store_capabilities(cx, told);
        has
    }

    fn store_capabilities(&self, cx: &TurnContext, told: HostCapabilities) {
        *lock(&self.heard) = Some((cx.turn_id().clone(), told));
    }

    /// Runs `look` on a thread that may block, because it reads the disk.
    async fn run_local<T: Send + 'static>(
        &self,
        look: impl FnOnce(&LocalShells, &SessionId) -> T + Send + 'static,
    ) -> Option<T> {
        let (local, session) = (self.local.clone(), self.session.clone());
        let looked = tokio::task::spawn_blocking(move || look(&local, &session));
        looked.await.ok()
    }
}

impl Drop for SessionShells {
    fn drop(&mut self) {
        self.local.forget(&self.session);
    }
}

/// Sends the choice to the host.
async fn send_choice(
    cx: &TurnContext,
    choice: &SetDefaultShell,
) -> Result<SystemShell, ShellError> {
    const OPERATION: &str = "process.set_default_shell";
    let args = to_json(choice)?;
    let refused = |error: AgentError| ShellError::Host(error.to_string());
    let call = cx.tool(OPERATION).kind(ToolKind::Other).input(args);
    let call = call.start().await.map_err(refused)?;
    // The permission answer may have replaced the arguments.
    let args = call.input().clone();
    let told = call.run(|host| host.call(OPERATION, args)).await;
    let misfit = |_| ShellError::Host("the host's answer is not a shell".to_owned());
    serde_json::from_value(told.map_err(refused)?).map_err(misfit)
}

fn to_json(args: &impl Serialize) -> Result<Value, ShellError> {
    serde_json::to_value(args).map_err(|error| ShellError::Host(error.to_string()))
}
