//! The equipment of a session beyond its host: tools, skills and MCP servers. The runtime only decides when
//! equipment starts, refreshes and closes; other crates implement it.

use std::{any::Any, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use harn_model::{
    ContentBlock, McpServerSpec, McpServerStatus, SessionId, SlashCommand, ToolsChange,
};
use tokio::sync::mpsc;

use crate::{Agent, AgentError, TurnContext, session::TaskRequest};

/// The equipment of one session, and of the workers below it.
#[async_trait]
pub trait Equipment: Any + Send + Sync {
    /// Adds MCP servers, or replaces servers of the same name whose connection settings differ. Connects in
    /// the background.
    fn add_servers(&self, servers: Vec<McpServerSpec>) {
        drop(servers);
    }

    /// Returns the status of the MCP servers, by name.
    fn servers(&self) -> Vec<McpServerStatus> {
        Vec::new()
    }

    /// Notifies the equipment that the host's skills changed; it reloads them at the next boundary.
    fn notify_skills_updated(&self) {}

    /// Returns the slash commands it offers to people. An agent's own command of the same name takes precedence.
    fn commands(&self) -> Vec<SlashCommand> {
        Vec::new()
    }

    /// Returns the agent that answers a prompt that is one of its commands. That agent replaces or wraps `agent`.
    fn agent_for_command(
        &self,
        prompt: &[ContentBlock],
        agent: &Arc<dyn Agent>,
    ) -> Option<Arc<dyn Agent>> {
        let _ = (prompt, agent);
        None
    }

    /// Returns the paths whose content decides what the equipment runs, such as files of skills and servers. Whatever
    /// writes them asks first, in every mode. Called for each call; must not block.
    fn configuration_paths(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Refreshes the equipment at the start of a turn or of an iteration, when nothing else is running. An
    /// error ends the turn.
    async fn refresh_at_boundary(&self, cx: &TurnContext) -> Result<(), AgentError> {
        let _ = cx;
        Ok(())
    }

    /// Releases all resources at once because the session is closed.
    fn close(&self) {}
}

/// Creates the equipment of sessions.
pub trait EquipmentProvider: Send + Sync + 'static {
    /// Equips a session that is being opened. Must not block; slow work runs in the background.
    fn equip(&self, session: NewEquipment) -> Arc<dyn Equipment>;
}

/// The session to equip.
pub struct NewEquipment {
    /// The id of the session.
    pub session: SessionId,
    /// The working directory of the session.
    pub cwd: PathBuf,
    /// The folder in the journal's store for other files of the session; they are deleted with it.
    pub files: Option<PathBuf>,
    /// Reports changes to the session.
    pub link: EquipmentLink,
}

/// Notifies a session of changes of its equipment while the session is open. Cheap to clone.
#[derive(Clone)]
pub struct EquipmentLink(pub(crate) mpsc::WeakSender<TaskRequest>);

impl EquipmentLink {
    /// Returns a link to no session, for equipment that is used without one.
    pub fn none() -> Self {
        let (sender, _) = mpsc::channel(1);
        Self(sender.downgrade())
    }

    /// Sends a change to the session, which writes and publishes it some time after this returns.
    pub async fn report(&self, change: EquipmentChange) {
        if let Some(session) = self.0.upgrade() {
            // A closed session needs no update.
            let _ = session.send(TaskRequest::Equipped(change)).await;
        }
    }
}

/// A change of a session's equipment.
#[derive(Clone, Debug, PartialEq)]
pub enum EquipmentChange {
    /// [`Equipment::commands`] returns other commands now.
    Commands,
    /// The catalogue of tools changed.
    Tools(ToolsChange),
    /// The status of the MCP servers changed; contains all of them.
    Servers(Vec<McpServerStatus>),
}

/// A provider whose equipment is empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoEquipment;

impl EquipmentProvider for NoEquipment {
    fn equip(&self, _: NewEquipment) -> Arc<dyn Equipment> {
        Arc::new(Self)
    }
}

#[async_trait]
impl Equipment for NoEquipment {}

/// Returns the name of the slash command in a prompt, if the prompt is one.
pub(crate) fn command_name(prompt: &[ContentBlock]) -> Option<&str> {
    let Some(ContentBlock::Text { text }) = prompt.first() else {
        return None;
    };
    text.trim_start()
        .strip_prefix('/')?
        .split(char::is_whitespace)
        .next()
}
