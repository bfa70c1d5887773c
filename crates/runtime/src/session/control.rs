//! Control of a running session from outside: the requests that its handle offers to front-ends.

use harn_model::{
    Actor, ContentBlock, ControlKind, ControlResult, ControlTarget, DeliveryMode, LiveAuthor,
    MessageId, PendingDelivery, PendingReminder, Seq, SystemReminder, TurnId,
};
use tokio::sync::oneshot;

use super::{Controller, Observer, TaskRequest};
use crate::{ControlError, IdKind};

/// A control request to a session task.
pub(crate) struct ControlRequest {
    pub(crate) actor: Actor,
    pub(crate) wanted: ControlAction,
    pub(crate) reply: oneshot::Sender<Result<AppliedControl, ControlError>>,
}

pub(crate) enum ControlAction {
    Inject {
        id: MessageId,
        mode: DeliveryMode,
        content: Vec<ContentBlock>,
        /// The client that sent it, if it attached under a name.
        author: Option<Box<LiveAuthor>>,
        /// Whether it requires a running turn, and writes nothing if there is none.
        only_running: bool,
    },
    RevokeInject(MessageId),
    ReplaceInject {
        id: MessageId,
        /// Checked only after the actor's right to change the message.
        content: Result<Vec<ContentBlock>, String>,
    },
    Remind(Box<PendingReminder>),
    RevokeReminder(String),
    Cancel(Option<TurnId>),
}

impl ControlAction {
    pub(crate) fn kind(&self) -> ControlKind {
        match self {
            Self::Inject { .. } => ControlKind::Inject,
            Self::RevokeInject(_) => ControlKind::RevokeInject,
            Self::ReplaceInject { .. } => ControlKind::ReplaceInject,
            Self::Remind(_) => ControlKind::Remind,
            Self::RevokeReminder(_) => ControlKind::RevokeReminder,
            Self::Cancel(_) => ControlKind::Cancel,
        }
    }

    pub(crate) fn target(&self, session: &Observer) -> ControlTarget {
        let mut target = ControlTarget {
            session_id: session.id().clone(),
            message_id: None,
            reminder_id: None,
            turn_id: None,
        };
        match self {
            Self::Inject { id, .. } | Self::RevokeInject(id) | Self::ReplaceInject { id, .. } => {
                target.message_id = Some(id.clone());
            }
            Self::Remind(pending) => target.reminder_id = Some(pending.reminder.id.clone()),
            Self::RevokeReminder(id) => target.reminder_id = Some(id.clone()),
            Self::Cancel(turn) => target.turn_id.clone_from(turn),
        }
        target
    }
}

/// A reminder that the parent session revoked.
pub(crate) struct ReminderRevocation {
    pub(crate) id: String,
    /// The id in its `originating_agent_id`; a reminder of the same id and another origin is a different one.
    pub(crate) origin: String,
}

/// The result of a control that was applied, now or earlier; it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedControl {
    /// The result of the control.
    pub result: ControlResult,
    /// The position of its last event.
    pub seq: Seq,
    /// The number of messages and reminders that wait now.
    pub pending: usize,
}

impl Observer {
    /// Returns the messages and reminders that wait for delivery, in order of arrival.
    pub fn pending(&self) -> Vec<PendingDelivery> {
        self.shared.view().pending.entries_in_order()
    }
}

impl Controller {
    /// Queues a message for the running turn; it is in the journal when this returns. The agent receives it
    /// at a seam that fits `mode`, or as the prompt of another call when it returns. `named` receives the
    /// message's id before the session does, so that a caller cannot miss the delivery.
    pub async fn inject(
        &self,
        mode: DeliveryMode,
        content: Vec<ContentBlock>,
        actor: Actor,
        named: impl FnOnce(&MessageId),
    ) -> Result<(MessageId, AppliedControl), ControlError> {
        self.send_message(mode, (content, None), actor, named, false)
            .await
    }

    /// The same as [`Controller::inject`] for the next seam, but only if an agent runs that will read it: a cancelled
    /// turn does not count, unless a prompt waits behind it. If nothing runs, this returns
    /// [`ControlResult::NoActivePrompt`] and writes nothing, because the sender then uses the message differently.
    pub async fn steer(
        &self,
        content: Vec<ContentBlock>,
        actor: Actor,
        named: impl FnOnce(&MessageId),
    ) -> Result<(MessageId, AppliedControl), ControlError> {
        let mode = DeliveryMode::FinishStep;
        self.send_message(mode, (content, None), actor, named, true)
            .await
    }

    pub(super) async fn send_message(
        &self,
        mode: DeliveryMode,
        (content, author): (Vec<ContentBlock>, Option<Box<LiveAuthor>>),
        actor: Actor,
        named: impl FnOnce(&MessageId),
        only_running: bool,
    ) -> Result<(MessageId, AppliedControl), ControlError> {
        let id = MessageId::new(self.shared.config.ids.mint(IdKind::Message));
        named(&id);
        let wanted = ControlAction::Inject {
            id: id.clone(),
            mode,
            content,
            author,
            only_running,
        };
        Ok((id, self.send_control(wanted, actor).await?))
    }

    /// Revokes a message that has not been delivered.
    pub async fn revoke_inject(
        &self,
        id: MessageId,
        actor: Actor,
    ) -> Result<AppliedControl, ControlError> {
        self.send_control(ControlAction::RevokeInject(id), actor)
            .await
    }

    /// Replaces the content of a message that has not been delivered: same id, same position, same mode. An
    /// unreadable content is rejected only after the actor's right to change the message is checked.
    pub async fn replace_inject(
        &self,
        id: MessageId,
        content: Result<Vec<ContentBlock>, String>,
        actor: Actor,
    ) -> Result<AppliedControl, ControlError> {
        self.send_control(ControlAction::ReplaceInject { id, content }, actor)
            .await
    }

    /// Queues a reminder and returns its id; it is in the journal when this returns. Assigns an id if it has
    /// none. If nothing runs, it waits for the next prompt.
    pub async fn remind(
        &self,
        mode: DeliveryMode,
        reminder: SystemReminder,
        actor: Actor,
    ) -> Result<(String, AppliedControl), ControlError> {
        let pending = PendingReminder {
            mode,
            sent_mode: None,
            reminder,
        };
        self.queue_reminder(pending, actor).await
    }

    /// The same as [`Controller::remind`], with the sender's name for the mode.
    pub async fn queue_reminder(
        &self,
        mut pending: PendingReminder,
        actor: Actor,
    ) -> Result<(String, AppliedControl), ControlError> {
        let id = &mut pending.reminder.id;
        if id.is_empty() {
            *id = self.shared.config.ids.mint(IdKind::Reminder);
        }
        let id = id.clone();
        let wanted = ControlAction::Remind(Box::new(pending));
        Ok((id, self.send_control(wanted, actor).await?))
    }

    /// Revokes a reminder that has not been delivered.
    pub async fn revoke_reminder(
        &self,
        id: &str,
        actor: Actor,
    ) -> Result<AppliedControl, ControlError> {
        self.send_control(ControlAction::RevokeReminder(id.to_owned()), actor)
            .await
    }

    /// Cancels a turn like [`Controller::cancel`] and records the actor in the journal.
    pub async fn cancel_for(
        &self,
        turn: Option<TurnId>,
        actor: Actor,
    ) -> Result<AppliedControl, ControlError> {
        self.send_control(ControlAction::Cancel(turn), actor).await
    }

    /// Wakes an idle agent once: now, or when it next becomes idle in the running turn.
    pub async fn resume(&self) {
        self.notify(TaskRequest::Resume).await;
    }

    /// Sends reminders that the parent session passes on to its workers.
    pub(crate) async fn inherit(&self, reminders: Vec<SystemReminder>) {
        self.notify(TaskRequest::Inherit(reminders)).await;
    }

    /// Sends a revocation by the parent session.
    pub(crate) async fn forget(&self, forgotten: ReminderRevocation) {
        self.notify(TaskRequest::Forget(forgotten)).await;
    }

    async fn send_control(
        &self,
        wanted: ControlAction,
        actor: Actor,
    ) -> Result<AppliedControl, ControlError> {
        let request = |reply| ControlRequest {
            actor,
            wanted,
            reply,
        };
        let done = self.request(|reply| TaskRequest::Control(Box::new(request(reply))));
        done.await.unwrap_or(Err(ControlError::Closed))
    }
}
