//! The ordered, bounded queue from an agent to its session task.
//!
//! A plain vector under a short lock; the session task takes it whole. An event needs no allocation and no
//! wake-up of its own, and the bound counts bytes as well as events.

use std::sync::Mutex;

use harn_model::{
    AgentEvent, AskId, Decision, HitlRequest, PermissionAsked, Seam, SystemReminder, WakeReason,
};
use tokio::sync::{Notify, oneshot};

use super::SteeringDelivery;
use crate::{AgentError, hitl::HitlEnd, session::lock};

/// An item that an agent sends to the session task, in order.
pub(crate) enum TurnItem {
    Event(AgentEvent),
    /// Asks the controller for a permission.
    Ask(Box<PermissionAsked>, oneshot::Sender<Decision>),
    /// Withdraws a permission question.
    Withdraw(AskId),
    /// Asks a person.
    Hitl(Box<HitlRequest>, oneshot::Sender<HitlEnd>),
    /// Withdraws a request to a person.
    WithdrawHitl(String),
    /// The session task replies when everything before it is written.
    Flush(oneshot::Sender<()>),
    /// The agent passes a seam.
    Seam {
        seam: Seam,
        iteration: u64,
        after_a_wait: bool,
        reply: oneshot::Sender<SteeringDelivery>,
    },
    /// The agent waits for more to do.
    Idle(IdleRequest),
    /// Ends the agent's wait.
    Wake(WakeReason),
    /// Requests the reminders in force.
    Reminders(oneshot::Sender<Vec<SystemReminder>>),
    Remind(Box<SystemReminder>, oneshot::Sender<Result<(), AgentError>>),
}

impl TurnItem {
    /// Whether the item is work of the agent, not only a check for work.
    pub(crate) fn is_activity(&self) -> bool {
        match self {
            Self::Event(_) | Self::Ask(..) | Self::Hitl(..) | Self::Remind(..) => true,
            Self::Withdraw(_)
            | Self::WithdrawHitl(_)
            | Self::Flush(_)
            | Self::Seam { .. }
            | Self::Idle(_)
            | Self::Wake(_)
            | Self::Reminders(_) => false,
        }
    }
}

impl TurnItem {
    /// Whether the effect depends on earlier events, which must be written first.
    pub(crate) fn needs_written_events(&self) -> bool {
        match self {
            Self::Seam { .. } | Self::Idle(_) | Self::Wake(_) => true,
            Self::Reminders(_) | Self::Remind(..) => true,
            Self::Event(event) => matches!(event, AgentEvent::TranscriptCompacted(_)),
            Self::Ask(..) | Self::Withdraw(_) | Self::Flush(_) => false,
            Self::Hitl(..) | Self::WithdrawHitl(_) => false,
        }
    }
}

/// An agent's wait for more to do.
pub(crate) struct IdleRequest {
    /// The number of iterations that the turn has started.
    pub(crate) iteration: u64,
    /// How often in a row the agent may wake without work, if the agent sets a limit.
    pub(crate) watchdog: Option<u64>,
    /// The reason not to wait: something was delivered on the way in.
    pub(crate) given: Option<WakeReason>,
    pub(crate) reply: oneshot::Sender<WakeReason>,
}

#[derive(Default)]
pub(crate) struct TurnPipe {
    state: Mutex<PipeState>,
    /// Notified when there is an item to take.
    filled: Notify,
    /// Notified when there is space again or the pipe is closed.
    drained: Notify,
}

#[derive(Default)]
struct PipeState {
    items: Vec<TurnItem>,
    bytes: usize,
    closed: bool,
}

const MAX_BYTES: usize = 256 * 1024;
const MAX_ITEMS: usize = 1024;
/// The weight of a question to a person, in addition to its text.
const HITL: usize = 1024;

impl TurnPipe {
    /// Pushes an item, waiting while the pipe is full. Fails once the turn is over.
    pub(crate) async fn push(&self, item: TurnItem) -> Result<(), AgentError> {
        let weight = weight(&item);
        self.push_when_it_fits(weight, 1, |items| items.push(item))
            .await
    }

    /// Pushes all items or none: no other item gets between them, and the turn does not end between them.
    pub(crate) async fn push_all(&self, all: Vec<TurnItem>) -> Result<(), AgentError> {
        let weight = all.iter().map(weight).sum();
        self.push_when_it_fits(weight, all.len(), |items| items.extend(all))
            .await
    }

    async fn push_when_it_fits(
        &self,
        weight: usize,
        count: usize,
        hand_over: impl FnOnce(&mut Vec<TurnItem>),
    ) -> Result<(), AgentError> {
        loop {
            // Registered before the check, so that a drain in between is not missed.
            let drained = self.drained.notified();
            {
                let mut state = lock(&self.state);
                if state.closed {
                    return Err(AgentError::Cancelled);
                }
                if state.items.is_empty()
                    || (state.bytes + weight <= MAX_BYTES && state.items.len() + count <= MAX_ITEMS)
                {
                    let first = state.items.is_empty();
                    state.bytes += weight;
                    hand_over(&mut state.items);
                    drop(state);
                    if first {
                        self.filled.notify_one();
                    }
                    return Ok(());
                }
            }
            drained.await;
        }
    }

    /// Waits until everything pushed so far is written.
    pub(crate) async fn flush(&self) -> Result<(), AgentError> {
        let (reply, written) = oneshot::channel();
        self.push(TurnItem::Flush(reply)).await?;
        // A dropped reply means that the runtime settled the turn.
        written.await.map_err(|_| AgentError::Cancelled)
    }

    /// Waits for items and takes them all into `into`, which must be empty. Cancel safe.
    pub(crate) async fn take(&self, into: &mut Vec<TurnItem>) {
        loop {
            if self.try_take(into) {
                return;
            }
            self.filled.notified().await;
        }
    }

    /// Takes the available items; returns false if there are none.
    pub(crate) fn try_take(&self, into: &mut Vec<TurnItem>) -> bool {
        let mut state = lock(&self.state);
        if state.items.is_empty() {
            return false;
        }
        std::mem::swap(&mut state.items, into);
        state.bytes = 0;
        drop(state);
        self.drained.notify_waiters();
        true
    }

    /// Rejects all further items; the items in the pipe can still be taken.
    pub(crate) fn close(&self) {
        lock(&self.state).closed = true;
        self.drained.notify_waiters();
    }

    /// Whether the pipe rejects all items.
    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.state).closed
    }
}

fn weight(item: &TurnItem) -> usize {
    match item {
        TurnItem::Event(event) => event.weight(),
        TurnItem::Ask(ask, _) => ask.weight(),
        TurnItem::Hitl(request, _) => HITL + request.subject.len(),
        TurnItem::Remind(reminder, _) => reminder.weight(),
        TurnItem::Withdraw(_)
        | TurnItem::WithdrawHitl(_)
        | TurnItem::Flush(_)
        | TurnItem::Seam { .. }
        | TurnItem::Idle(_)
        | TurnItem::Wake(_)
        | TurnItem::Reminders(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message_item(bytes: usize) -> TurnItem {
        TurnItem::Event(AgentEvent::message("x".repeat(bytes)))
    }

    async fn is_pending(mut push: std::pin::Pin<&mut impl Future>) -> bool {
        std::future::poll_fn(|cx| std::task::Poll::Ready(push.as_mut().poll(cx).is_pending())).await
    }

    #[tokio::test]
    async fn push_all_pushes_all_items_or_none() {
        let pipe = TurnPipe::default();
        let mut taken = Vec::new();
        pipe.push(message_item(MAX_BYTES - 10_000)).await.unwrap();
        // One of the two items would fit.
        let together = vec![message_item(8_000), message_item(8_000)];
        let mut waiting = std::pin::pin!(pipe.push_all(together));
        assert!(is_pending(waiting.as_mut()).await);
        assert!(pipe.try_take(&mut taken));
        assert_eq!(taken.len(), 1);
        taken.clear();
        waiting.await.unwrap();
        assert!(pipe.try_take(&mut taken));
        assert_eq!(taken.len(), 2);

        taken.clear();
        pipe.push(message_item(MAX_BYTES)).await.unwrap();
        let mut waiting = std::pin::pin!(pipe.push_all(vec![message_item(1), message_item(1)]));
        assert!(is_pending(waiting.as_mut()).await);
        pipe.close();
        assert_eq!(waiting.await, Err(AgentError::Cancelled));
        assert!(pipe.try_take(&mut taken));
        assert_eq!(taken.len(), 1);
    }
}
