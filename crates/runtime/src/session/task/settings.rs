//! What a person sets of the session. Whoever asked may have gone meanwhile; the change stands.

use harn_journal::{JournalError, MetaChange};
use harn_model::{AgentEvent, Seq, SessionInfo};
use tokio::sync::oneshot;

use super::SessionTask;

impl SessionTask {
    pub(super) async fn set_mode(
        &mut self,
        mode_id: String,
        reply: oneshot::Sender<Seq>,
    ) -> Result<(), JournalError> {
        let changed = AgentEvent::ModeChanged { mode_id };
        let seq = self.write(vec![changed]).await?;
        self.act_under_mode();
        let _ = reply.send(seq);
        Ok(())
    }

    pub(super) async fn set_option(
        &mut self,
        config_id: String,
        value: String,
        reply: oneshot::Sender<Seq>,
    ) -> Result<(), JournalError> {
        let changed = AgentEvent::ConfigChanged { config_id, value };
        let seq = self.write(vec![changed]).await?;
        let _ = reply.send(seq);
        Ok(())
    }

    pub(super) async fn set_title(
        &mut self,
        title: String,
        reply: oneshot::Sender<Seq>,
    ) -> Result<(), JournalError> {
        let info = SessionInfo {
            title: Some(title),
            chosen: true,
        };
        let seq = self.write(vec![AgentEvent::SessionInfo(info)]).await?;
        self.update_listing();
        let _ = reply.send(seq);
        Ok(())
    }

    /// A title of the agent's own; none where a person chose one.
    pub(super) fn titled_by_agent(&self, info: SessionInfo) -> Option<AgentEvent> {
        let chosen = self.shared.view().title_chosen;
        (!chosen).then_some(AgentEvent::SessionInfo(SessionInfo {
            title: info.title,
            chosen: false,
        }))
    }

    pub(super) fn unarchive(&mut self, reply: oneshot::Sender<Result<(), JournalError>>) {
        let _ = reply.send(self.log.amend(MetaChange::Archived(false)));
    }
}
