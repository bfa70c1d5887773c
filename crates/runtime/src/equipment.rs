//! What a session is equipped with beside its host: tools, skills and servers. The runtime knows when it
//! begins, where it may look again and when it ends; what it is made of is another room's.

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
    /// Adds MCP servers, or replaces those of the same name that are reached otherwise. Connects beside
    /// whatever else goes on.
    fn add_servers(&self, servers: Vec<McpServerSpec>) {
        drop(servers);
    }

    /// How the MCP servers stand, by name.
    fn servers(&self) -> Vec<McpServerStatus> {
        Vec::new()
    }

    /// The host has other skills than before: look again at the next boundary.
    fn skills_updated(&self) {}

    /// Slash commands it has for people. An agent's own of the same name comes first.
    fn commands(&self) -> Vec<SlashCommand> {
        Vec::new()
    }

    /// Who answers a prompt that is one of its commands, in the place of `agent` or around it.
    fn command(&self, prompt: &[ContentBlock], agent: &Arc<dyn Agent>) -> Option<Arc<dyn Agent>> {
        let _ = (prompt, agent);
        None
    }

    /// A turn begins, or an iteration of one: nothing is under way, so this is where it looks again. An
    /// error ends the turn.
    async fn boundary(&self, cx: &TurnContext) -> Result<(), AgentError> {
        let _ = cx;
        Ok(())
    }

    /// The session is over: lets go of everything at once.
    fn close(&self) {}
}

/// Equips sessions.
pub trait EquipmentProvider: Send + Sync + 'static {
    /// Equips a session that is being opened. Must not block; what takes time goes on beside.
    fn equip(&self, session: NewEquipment) -> Arc<dyn Equipment>;
}

/// The session to equip.
pub struct NewEquipment {
    /// Which.
    pub session: SessionId,
    /// Its working directory.
    pub cwd: PathBuf,
    /// Where its journal's store lets others keep files of it, which go with it.
    pub files: Option<PathBuf>,
    /// The way to tell of changes.
    pub link: EquipmentLink,
}

/// Tells a session that its equipment changed, while it is open. Cheap to clone.
#[derive(Clone)]
pub struct EquipmentLink(pub(crate) mpsc::WeakSender<TaskRequest>);

impl EquipmentLink {
    /// A link to no session, for whoever uses equipment without one.
    #[must_use]
    pub fn none() -> Self {
        let (sender, _) = mpsc::channel(1);
        Self(sender.downgrade())
    }

    /// Tells of a change; written and published some time after this returns.
    pub async fn tell(&self, change: EquipmentChange) {
        if let Some(session) = self.0.upgrade() {
            // A session that is closed has no use for it.
            let _ = session.send(TaskRequest::Equipped(change)).await;
        }
    }
}

/// What changed.
#[derive(Clone, Debug, PartialEq)]
pub enum EquipmentChange {
    /// [`Equipment::commands`] says something else now.
    Commands,
    /// The catalogue of tools.
    Tools(ToolsChange),
    /// How the MCP servers stand: all of them.
    Servers(Vec<McpServerStatus>),
}

/// Equips with nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoEquipment;

impl EquipmentProvider for NoEquipment {
    fn equip(&self, _: NewEquipment) -> Arc<dyn Equipment> {
        Arc::new(Self)
    }
}

#[async_trait]
impl Equipment for NoEquipment {}

/// The name of the slash command that a prompt is, if it is one.
pub(crate) fn command_name(prompt: &[ContentBlock]) -> Option<&str> {
    let Some(ContentBlock::Text { text }) = prompt.first() else {
        return None;
    };
    text.trim_start()
        .strip_prefix('/')?
        .split(char::is_whitespace)
        .next()
}
