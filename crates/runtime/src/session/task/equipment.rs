//! Changes of a session's equipment: its tools, which are published as an event, and its directories, which
//! listings show.

use std::{path::PathBuf, sync::Arc};

use harn_journal::{JournalError, MetaChange};
use harn_model::{AgentEvent, SlashCommand};
use harn_policy::SessionRoots;

use super::{SessionTask, lock};
use crate::{EquipmentChange, permission::with_command};

impl SessionTask {
    pub(super) async fn apply_equipment_change(
        &mut self,
        change: EquipmentChange,
    ) -> Result<(), JournalError> {
        let event = match change {
            EquipmentChange::Tools(change) => AgentEvent::ToolsChanged(Box::new(change)),
            EquipmentChange::Servers(servers) => AgentEvent::McpServers { servers },
            EquipmentChange::Commands => {
                let now = self.shared.equipment.commands();
                if now == self.commands_told {
                    return Ok(());
                }
                self.commands_told = now;
                self.commands_event(self.shared.own_commands(), true)
            }
        };
        self.write(vec![event]).await?;
        Ok(())
    }

    /// Returns the slash commands of the agent with those of the equipment.
    pub(super) fn commands_event(&self, own: Vec<SlashCommand>, own_unchanged: bool) -> AgentEvent {
        let (commands, equipped) = self.shared.with_equipment(own);
        AgentEvent::AvailableCommands {
            commands: with_command(commands),
            equipped,
            own_unchanged,
        }
    }

    /// Replaces the session's additional directories, which apply to running calls at once. A worker keeps
    /// the directories that its parent set.
    pub(super) fn set_directories(&mut self, additional: Vec<PathBuf>) {
        if self.shared.meta.worker.is_some() {
            return;
        }
        let roots = self.shared.roots();
        let own = self.shared.meta.directory.clone();
        let dirs: Vec<_> = std::iter::once(own).chain(additional).collect();
        if roots.dirs() == dirs {
            return;
        }
        let listed = MetaChange::AdditionalDirectories(dirs[1..].to_vec());
        if let Err(error) = self.log.amend(listed) {
            tracing::warn!(session = %self.shared.meta.thread_id, %error, "could not list the directories");
        }
        let roots = SessionRoots::new(dirs, roots.protected().to_vec());
        *lock(&self.shared.roots) = Arc::new(roots);
    }
}
