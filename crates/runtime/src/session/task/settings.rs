//! Applies the settings that a person changes.

use harn_journal::JournalError;
use harn_model::{AgentEvent, Seq, SessionInfo};

use super::SessionTask;
use crate::session::settings::SettingChange;

impl SessionTask {
    pub(super) async fn set(&mut self, setting: SettingChange) -> Result<Seq, JournalError> {
        match setting {
            SettingChange::Mode(mode_id) => {
                let changed = AgentEvent::ModeChanged { mode_id };
                let seq = self.write(vec![changed]).await?;
                self.refresh_audit();
                Ok(seq)
            }
            SettingChange::Option(config_id, value) => {
                let changed = AgentEvent::ConfigChanged { config_id, value };
                self.write(vec![changed]).await
            }
            SettingChange::Title(title) => {
                let info = SessionInfo {
                    title: Some(title),
                    chosen: true,
                };
                let seq = self.write(vec![AgentEvent::SessionInfo(info)]).await?;
                self.update_listing();
                Ok(seq)
            }
        }
    }

    /// Returns the event for an agent's title; `None` if a person chose one.
    pub(super) fn agent_title_event(&self, info: SessionInfo) -> Option<AgentEvent> {
        let chosen = self.shared.view().title_chosen;
        (!chosen).then_some(AgentEvent::SessionInfo(SessionInfo {
            title: info.title,
            chosen: false,
        }))
    }
}
