//! What a session is equipped with changed: told as an event, like everything else.

use harn_journal::JournalError;
use harn_model::{AgentEvent, Command};

use super::SessionTask;
use crate::{EquipmentChange, permission::with_command};

impl SessionTask {
    pub(super) async fn equipped(&mut self, change: EquipmentChange) -> Result<(), JournalError> {
        let event = match change.event() {
            Some(event) => event,
            None => {
                let now = self.shared.equipment.commands();
                if now == self.commands_told {
                    return Ok(());
                }
                self.commands_told = now;
                self.commands(self.shared.own_commands(), true)
            }
        };
        self.write(vec![event]).await?;
        Ok(())
    }

    /// The slash commands of the agent beside those that the session is equipped with.
    pub(super) fn commands(&self, own: Vec<Command>, own_unchanged: bool) -> AgentEvent {
        let (commands, equipped) = self.shared.with_equipment(own);
        AgentEvent::AvailableCommands {
            commands: with_command(commands),
            equipped,
            own_unchanged,
        }
    }
}
