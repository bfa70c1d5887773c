//! Steering from outside: what a front-end may want of a running session, as its handle offers it.

use harn_model::{
    Actor, ContentBlock, ControlKind, ControlResult, ControlTarget, DeliveryMode, LiveAuthor,
    MessageId, PendingDelivery, PendingReminder, Seq, SystemReminder, TurnId,
};
use tokio::sync::oneshot;

use super::{Controller, Observer, TaskRequest};
use crate::{ControlError, IdKind};

/// Something that is wanted of a session's task.
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
        /// The client that sent it, where one did under a name.
        author: Option<Box<LiveAuthor>>,
        /// Whether it is for what runs alone, and leaves no trace where nothing does.
        only_running: bool,
    },
    RevokeInject(MessageId),
    ReplaceInject {
        id: MessageId,
        /// Looked at once it is known that whoever wants it may.
        content: Result<Vec<ContentBlock>, String>,
    },
    Remind(Box<PendingReminder>),
    RevokeReminder(String),
    Cancel(Option<TurnId>),
}

impl ControlAction {
    pub(crate) fn control(&self) -> ControlKind {
        match self {
            Self::Inject { .. } => ControlKind::Inject,
            Self::RevokeInject(_) => ControlKind::RevokeInject,
            Self::ReplaceInject { .. } => ControlKind::ReplaceInject,
            Self::Remind(_) => ControlKind::Remind,
            Self::RevokeReminder(_) => ControlKind::RevokeReminder,
            Self::Cancel(_) => ControlKind::Cancel,
        }
    }

    /// What it is about.
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

/// A reminder that was taken back above.
pub(crate) struct ReminderRevocation {
    pub(crate) id: String,
    /// Where it says that it comes from; another of its name is another's.
    pub(crate) origin: String,
}

/// What was wanted is done, or had been done before; it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedControl {
    /// What came of it.
    pub result: ControlResult,
    /// The place of its last event.
    pub seq: Seq,
    /// How many messages and reminders wait now.
    pub pending: usize,
}

impl Observer {
    /// The messages and reminders that wait to be delivered, in the order they came.
    #[must_use]
    pub fn pending(&self) -> Vec<PendingDelivery> {
        self.shared.view().pending.in_order()
    }
}

impl Controller {
    /// Hands over a message for the running turn; in the journal when this returns. Delivered when the
    /// agent passes a seam that fits `mode`, or as the prompt of another call when the agent returns.
    /// `named` is called with the message's id before the session can hear of it, so that a caller cannot
    /// miss the delivery.
    pub async fn inject(
        &self,
        mode: DeliveryMode,
        content: Vec<ContentBlock>,
        actor: Actor,
        named: impl FnOnce(&MessageId),
    ) -> Result<(MessageId, AppliedControl), ControlError> {
        self.put(mode, (content, None), actor, named, false).await
    }

    /// As [`Controller::inject`] for the next safe place, but only where an agent runs that will read it:
    /// a turn that was told to stop does not count, unless a prompt waits behind it. Where nothing runs this
    /// is refused with [`ControlResult::NoActivePrompt`], and nothing is written: whoever sent it goes on to
    /// do something else with it.
    pub async fn steer(
        &self,
        content: Vec<ContentBlock>,
        actor: Actor,
        named: impl FnOnce(&MessageId),
    ) -> Result<(MessageId, AppliedControl), ControlError> {
        let mode = DeliveryMode::FinishStep;
        self.put(mode, (content, None), actor, named, true).await
    }

    pub(super) async fn put(
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
        Ok((id, self.control(wanted, actor).await?))
    }

    /// Takes a message back that has not been delivered.
    pub async fn revoke_inject(
        &self,
        id: MessageId,
        actor: Actor,
    ) -> Result<AppliedControl, ControlError> {
        self.control(ControlAction::RevokeInject(id), actor).await
    }

    /// Says a message differently that has not been delivered: same id, same place, same mode. Content that
    /// could not be read is refused after those who may not touch the message are.
    pub async fn replace_inject(
        &self,
        id: MessageId,
        content: Result<Vec<ContentBlock>, String>,
        actor: Actor,
    ) -> Result<AppliedControl, ControlError> {
        self.control(ControlAction::ReplaceInject { id, content }, actor)
            .await
    }

    /// Hands over a reminder; in the journal when this returns. Without an id it gets one; the id is
    /// returned. While nothing runs it waits for the next prompt.
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

    /// As [`Controller::remind`], with its sender's word for the mode.
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
        Ok((id, self.control(wanted, actor).await?))
    }

    /// Takes a reminder back that has not been delivered.
    pub async fn revoke_reminder(
        &self,
        id: &str,
        actor: Actor,
    ) -> Result<AppliedControl, ControlError> {
        self.control(ControlAction::RevokeReminder(id.to_owned()), actor)
            .await
    }

    /// Cancels a turn like [`Controller::cancel`], on somebody's behalf: the journal says whose.
    pub async fn cancel_for(
        &self,
        turn: Option<TurnId>,
        actor: Actor,
    ) -> Result<AppliedControl, ControlError> {
        self.control(ControlAction::Cancel(turn), actor).await
    }

    /// Wakes an agent that waits for more to do, once: now, or when it next begins to wait in the turn that
    /// runs.
    pub async fn resume(&self) {
        self.notify(TaskRequest::Resume).await;
    }

    /// What the session above has its workers keep in mind.
    pub(crate) async fn inherit(&self, reminders: Vec<SystemReminder>) {
        self.notify(TaskRequest::Inherit(reminders)).await;
    }

    /// What the session above took back.
    pub(crate) async fn forget(&self, forgotten: ReminderRevocation) {
        self.notify(TaskRequest::Forget(forgotten)).await;
    }

    async fn control(
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
