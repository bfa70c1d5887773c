//! Clients that attach, detach, take control or send heartbeats: written, published, and only then answered.

use harn_journal::JournalError;
use harn_model::{LiveClientChange, Seq};
use tokio::{sync::oneshot, time::Instant};

use super::{SessionTask, send_reply};
use crate::{
    LiveClientError, SeatTerm,
    session::{
        live::{LiveAction, LiveRequest},
        roster::{RosterChange, SeatId},
    },
};

impl SessionTask {
    /// Handles a client's request.
    pub(super) async fn handle_live(&mut self, request: LiveRequest) -> Result<(), JournalError> {
        let LiveRequest {
            seat,
            wanted,
            reply,
        } = request;
        let change = self.shared.begin_amend(|roster, now| match wanted {
            LiveAction::Attach(client) => roster.attach(seat, client, now),
            LiveAction::Detach(gone) => roster.detach(seat, gone).map(|change| vec![change]),
            LiveAction::Heartbeat(client, metadata) => roster
                .heartbeat(seat, &client, metadata, now)
                .map(|change| vec![change]),
        });
        let told: Result<(LiveClientChange, Seq), LiveClientError> = match change {
            Ok(mut changes) => {
                let seq = self.publish_changes(&changes).await?;
                // The last change is about the client that sent the request.
                let last = changes.pop().ok_or(LiveClientError::Closed);
                last.map(|change| (change.state, seq))
            }
            Err(refused) => {
                self.shared.finish_amend(&[]);
                Err(refused)
            }
        };
        send_reply(reply, told);
        Ok(())
    }

    /// Removes a connection that has ended.
    pub(super) async fn leave(
        &mut self,
        seat: SeatId,
        reply: Option<oneshot::Sender<()>>,
    ) -> Result<(), JournalError> {
        let gone = self.shared.begin_amend(|roster, _| roster.leave(seat));
        self.publish_changes(&gone).await?;
        if let Some(reply) = reply {
            send_reply(reply, ());
        }
        Ok(())
    }

    /// Detaches clients whose heartbeats are overdue.
    pub(super) async fn detach_overdue(&mut self) -> Result<(), JournalError> {
        let late = self
            .shared
            .begin_amend(|roster, now| roster.detach_overdue(now));
        self.publish_changes(&late).await?;
        Ok(())
    }

    /// Publishes a change of control that no client caused.
    pub(super) async fn publish_control_change(&mut self) -> Result<(), JournalError> {
        if let Some(change) = self.shared.begin_control_change() {
            self.publish_changes(&[change]).await?;
        }
        Ok(())
    }

    /// Returns when the next client is overdue.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.shared.live.roster().next_due()
    }

    /// Whether an answer comes from the seat that still receives questions.
    pub(super) fn is_current_term(&self, term: Option<SeatTerm>) -> bool {
        let asked = self.shared.live.roster().answering_seat();
        term.is_none_or(|term| asked.is_some_and(|asked| asked.term == term.0))
    }

    /// Writes and publishes changes, then applies their effects. If they cannot be written the session ends,
    /// and its clients with it.
    async fn publish_changes(&mut self, changes: &[RosterChange]) -> Result<Seq, JournalError> {
        let events = changes.iter().map(RosterChange::event).collect();
        let seq = self.write(events).await?;
        self.shared.finish_amend(changes);
        Ok(seq)
    }
}
