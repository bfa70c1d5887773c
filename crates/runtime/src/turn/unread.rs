//! Deliveries that an agent did not read because it dropped the call first. No delivery may be lost: they are
//! stored until its next seam or its next turn call.

use std::sync::{Arc, Mutex};

use harn_model::{ContentBlock, MessageId};
use tokio::sync::oneshot;

use super::{Steering, SteeringDelivery};
use crate::session::lock;

/// The unread steering of an agent. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct UnreadSteering(Arc<Mutex<Vec<Steering>>>);

impl UnreadSteering {
    pub(crate) fn keep(&self, mut items: Vec<Steering>) {
        lock(&self.0).append(&mut items);
    }

    /// Removes and returns all items.
    pub(super) fn take(&self) -> Vec<Steering> {
        std::mem::take(&mut *lock(&self.0))
    }

    /// Removes and returns the oldest message.
    pub(crate) fn take_message(&self) -> Option<(MessageId, Vec<ContentBlock>)> {
        let mut kept = lock(&self.0);
        let is_message = |item: &Steering| matches!(item, Steering::Message { .. });
        let at = kept.iter().position(is_message)?;
        match kept.remove(at) {
            Steering::Message { id, content } => Some((id, content)),
            Steering::Reminder(_) => None,
        }
    }
}

/// A delivery on its way to an agent; stored as unread if the waiting call is dropped.
pub(super) struct AwaitedDelivery<'a> {
    pub(super) reply: oneshot::Receiver<SteeringDelivery>,
    pub(super) unread: &'a UnreadSteering,
}

impl Drop for AwaitedDelivery<'_> {
    fn drop(&mut self) {
        // After this the sender stores the delivery; one that was sent before is in the channel.
        self.reply.close();
        if let Ok(delivered) = self.reply.try_recv() {
            self.unread.keep(delivered.items);
        }
    }
}

/// A delivery that an idle agent has received during its wait; stored as unread if the wait is dropped.
pub(super) struct HeldDelivery<'a> {
    pub(super) delivered: SteeringDelivery,
    pub(super) unread: &'a UnreadSteering,
}

impl HeldDelivery<'_> {
    pub(super) fn hand_over(mut self) -> SteeringDelivery {
        std::mem::take(&mut self.delivered)
    }
}

impl Drop for HeldDelivery<'_> {
    fn drop(&mut self) {
        self.unread.keep(std::mem::take(&mut self.delivered.items));
    }
}
