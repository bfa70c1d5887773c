//! What the workers of a session hear of while they are at work: reminders, and those that are taken back.

use std::collections::HashMap;

use harn_model::{Actor, DeliveryMode, ReminderSource, SessionId, SystemReminder};
use tokio::task::JoinHandle;

use super::SessionTask;
use crate::Controller;

/// What is on its way to workers, by their sessions. A worker that is behind holds up nobody else, and what
/// is for one worker stays in order: taking a reminder back must not come before the reminder.
#[derive(Default)]
pub(super) struct OnTheWay(HashMap<SessionId, JoinHandle<()>>);

impl OnTheWay {
    fn send<F>(&mut self, worker: Controller, tell: impl FnOnce(Controller) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.0.retain(|_, before| !before.is_finished());
        let id = worker.id().clone();
        let (before, tell) = (self.0.remove(&id), tell(worker));
        let told = tokio::spawn(async move {
            if let Some(before) = before {
                // However that went, this is next.
                let _ = before.await;
            }
            tell.await;
        });
        self.0.insert(id, told);
    }
}

impl SessionTask {
    /// Has the workers that are at work hear of a reminder too.
    pub(super) fn pass_on(&mut self, mode: DeliveryMode, reminder: &SystemReminder) {
        let session = &self.shared.meta.thread_id;
        let Some(copy) = reminder.inherited(session.as_str()) else {
            return;
        };
        let hub = self.shared.hub.upgrade();
        for worker in hub.map_or_else(Vec::new, |hub| hub.workers_of(session)) {
            let copy = copy.clone();
            self.on_the_way.send(worker, |worker| async move {
                // It may have ended, or have the reminder already.
                let _ = worker.remind(mode, copy, above()).await;
            });
        }
    }

    /// Has them hear that one was taken back, and those below them: it may wait there still when it does
    /// not in between.
    pub(super) fn pass_on_revoked(&mut self, id: &str) {
        let session = &self.shared.meta.thread_id;
        let hub = self.shared.hub.upgrade();
        for worker in hub.map_or_else(Vec::new, |hub| hub.workers_below(session)) {
            let id = id.to_owned();
            self.on_the_way.send(worker, |worker| async move {
                // It may have ended.
                if inherited(&worker, &id) {
                    let _ = worker.revoke_reminder(&id, above()).await;
                }
            });
        }
    }
}

/// Whether a reminder of this name waits there that comes from above, and is not another's.
fn inherited(worker: &Controller, id: &str) -> bool {
    let view = worker.shared.view();
    let waiting = view.pending.reminder(id);
    waiting.is_some_and(|it| it.reminder.source == ReminderSource::Inherited)
}

/// Who speaks for the session above.
fn above() -> Actor {
    Actor {
        client_id: "session-above".to_owned(),
        role: "host_owner".to_owned(),
        source: "worker".to_owned(),
    }
}
