//! What was delivered to an agent that stopped looking before it could read it: an agent may drop a call
//! at any time, and nothing that is delivered may be lost. Kept for its next look, or its next call.

use std::sync::{Arc, Mutex};

use harn_model::{ContentBlock, MessageId};
use tokio::sync::oneshot;

use super::{Steering, SteeringDelivery};
use crate::session::lock;

/// See the module. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct UnreadSteering(Arc<Mutex<Vec<Steering>>>);

impl UnreadSteering {
    /// Keeps these, after those that are kept already.
    pub(crate) fn keep(&self, mut items: Vec<Steering>) {
        lock(&self.0).append(&mut items);
    }

    /// Everything that is kept.
    pub(super) fn take(&self) -> Vec<Steering> {
        std::mem::take(&mut *lock(&self.0))
    }

    /// The oldest message that is kept.
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

/// What is on its way to an agent; kept if whoever waits for it is dropped.
pub(super) struct AwaitedDelivery<'a> {
    pub(super) reply: oneshot::Receiver<SteeringDelivery>,
    pub(super) unread: &'a UnreadSteering,
}

impl Drop for AwaitedDelivery<'_> {
    fn drop(&mut self) {
        // From here on whoever delivers keeps it; what came before is here.
        self.reply.close();
        if let Ok(delivered) = self.reply.try_recv() {
            self.unread.keep(delivered.items);
        }
    }
}

/// What an agent has been given on the way to something more; kept if it never gets there.
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
