//! Passes reminders, and their revocations, on to the running workers of a session.

use std::collections::HashMap;

use harn_journal::JournalError;
use harn_model::{
    Actor, AgentEvent, DeliveryMode, ExpiryReason, ReminderChange, ReminderSource, SessionId,
    SystemReminder,
};
use tokio::{sync::oneshot, task::JoinHandle};

use super::SessionTask;
use crate::{
    Controller,
    session::control::{ControlAction, ControlRequest, ReminderRevocation},
};

/// The deliveries on their way to workers, by session. A slow worker does not block others, and each worker's
/// deliveries stay in order: a revocation must not arrive before its reminder.
#[derive(Default)]
pub(super) struct WorkerDeliveries(HashMap<SessionId, JoinHandle<()>>);

impl WorkerDeliveries {
    fn send<F>(&mut self, worker: Controller, tell: impl FnOnce(Controller) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.0.retain(|_, before| !before.is_finished());
        let id = worker.id().clone();
        let (before, tell) = (self.0.remove(&id), tell(worker));
        let told = tokio::spawn(async move {
            if let Some(before) = before {
                // Continue even if that failed.
                let _ = before.await;
            }
            tell.await;
        });
        self.0.insert(id, told);
    }
}

impl SessionTask {
    /// Passes a reminder on to the running workers.
    pub(super) fn pass_on_reminder(&mut self, mode: DeliveryMode, reminder: &SystemReminder) {
        let session = &self.shared.meta.thread_id;
        let (hub, copy) = (
            self.shared.hub.upgrade(),
            reminder.copy_for_worker(session.as_str()),
        );
        let (Some(hub), Some(copy)) = (hub, copy) else {
            return;
        };
        for worker in hub.running_workers(session) {
            let copy = copy.clone();
            self.on_the_way.send(worker, |worker| async move {
                // It may have ended, or have the reminder already.
                let _ = worker.remind(mode, copy, parent_actor()).await;
            });
        }
    }

    /// Passes a revocation on to workers at every depth: the reminder may still wait below a worker that no
    /// longer has it.
    pub(super) fn pass_on_revocation(&mut self, id: &str, origin: Option<String>) {
        let session = &self.shared.meta.thread_id;
        let Some(hub) = self.shared.hub.upgrade() else {
            return;
        };
        let origin = origin.unwrap_or_else(|| session.to_string());
        for worker in hub.workers_below(session) {
            let (id, origin) = (id.to_owned(), origin.clone());
            let forgotten = ReminderRevocation { id, origin };
            self.on_the_way.send(worker, |worker| async move {
                worker.forget(forgotten).await;
            });
        }
    }

    /// Revokes a reminder of the parent session: a waiting one is not delivered, and one in force is cleared.
    pub(super) async fn forget(
        &mut self,
        forgotten: ReminderRevocation,
    ) -> Result<(), JournalError> {
        let ReminderRevocation { id, origin } = forgotten;
        let is_it = |it: &SystemReminder| {
            it.source == ReminderSource::Inherited
                && it.originating_agent_id.as_ref() == Some(&origin)
        };
        let (waits, in_force) = {
            let view = self.shared.view();
            let (waits, in_force) = (view.pending.reminder(&id), view.reminders.get(&id));
            (
                waits.is_some_and(|it| is_it(&it.reminder)),
                in_force.is_some_and(|it| is_it(&it.reminder)),
            )
        };
        if waits {
            // The reply is not needed.
            let (reply, _) = oneshot::channel();
            let (actor, wanted) = (parent_actor(), ControlAction::RevokeReminder(id));
            let request = ControlRequest {
                actor,
                wanted,
                reply,
            };
            // The revoking session notifies the workers further below.
            return self.settle_control(request).await.map(drop);
        }
        if in_force {
            let cleared = ReminderChange::Expired {
                reminder_id: id,
                reason: ExpiryReason::Cleared,
            };
            let cleared = AgentEvent::ReminderLifecycle(Box::new(cleared));
            self.write(vec![cleared]).await?;
        }
        Ok(())
    }
}

/// Returns the actor that represents the parent session.
fn parent_actor() -> Actor {
    Actor {
        client_id: "session-above".to_owned(),
        role: "host_owner".to_owned(),
        source: "worker".to_owned(),
    }
}
