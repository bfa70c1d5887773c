//! Delivers messages and reminders to an agent during a turn: at its seams, and while it is idle.

use std::{ops::Deref, pin::Pin, sync::atomic::Ordering, time::Duration};

use harn_model::{ContentBlock, MessageId, Seam, SystemReminder, WakeReason, plain_text};
use tokio::sync::oneshot;

use super::{
    IdleRequest, TurnContext, TurnItem,
    unread::{AwaitedDelivery, HeldDelivery},
};
use crate::{AgentError, session::or_never};

/// A message or reminder that is delivered to an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum Steering {
    /// A further message of the user.
    Message {
        /// The id of the message.
        id: MessageId,
        /// The content of the message.
        content: Vec<ContentBlock>,
    },
    /// Context for the agent that no user typed.
    Reminder(SystemReminder),
}

impl Steering {
    /// Returns its content as text.
    pub fn text(&self) -> String {
        match self {
            Self::Message { content, .. } => plain_text(content),
            Self::Reminder(reminder) => reminder.body.clone(),
        }
    }
}

/// The items delivered at a seam, in order of arrival.
///
/// ```
/// # mod harn_serve {
/// #     pub use harn_runtime::*;
/// #     pub use harn_runtime::model::*;
/// # }
/// use harn_serve::{AgentError, Seam, TurnContext};
///
/// async fn read_messages(cx: &TurnContext) -> Result<Vec<String>, AgentError> {
///     let delivery = cx.seam(Seam::PostToolDispatch).await?;
///     Ok(delivery.messages().collect())
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SteeringDelivery {
    pub(crate) items: Vec<Steering>,
    pub(crate) dispatch_skipped: bool,
}

impl SteeringDelivery {
    /// Whether the agent must skip the tools that it was about to run, because an interrupting message
    /// arrived first. The runtime has settled calls that were announced but not started.
    pub fn dispatch_skipped(&self) -> bool {
        self.dispatch_skipped
    }

    /// Returns the user's messages as text.
    pub fn messages(&self) -> impl Iterator<Item = String> {
        let messages = self.items.iter();
        let messages = messages.filter(|item| matches!(item, Steering::Message { .. }));
        messages.map(Steering::text)
    }

    /// Returns the reminders.
    pub fn reminders(&self) -> impl Iterator<Item = &SystemReminder> {
        self.items.iter().filter_map(|item| match item {
            Steering::Reminder(reminder) => Some(reminder),
            Steering::Message { .. } => None,
        })
    }

    /// Returns the reason why an agent that received this need not wait.
    fn wake_reason(&self) -> Option<WakeReason> {
        let first = self.items.first()?;
        Some(match first {
            Steering::Message { .. } => WakeReason::Message,
            Steering::Reminder(_) => WakeReason::Reminder,
        })
    }

    fn extend(&mut self, later: Self) {
        self.items.extend(later.items);
        self.dispatch_skipped |= later.dispatch_skipped;
    }
}

impl Deref for SteeringDelivery {
    type Target = [Steering];

    fn deref(&self) -> &[Steering] {
        &self.items
    }
}

impl IntoIterator for SteeringDelivery {
    type Item = Steering;
    type IntoIter = std::vec::IntoIter<Steering>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

/// The reason why an idle agent continues, and the items it received.
#[derive(Clone, Debug, PartialEq)]
pub struct IdleOutcome {
    /// The reason.
    pub reason: WakeReason,
    /// The delivered items.
    pub delivered: SteeringDelivery,
}

/// A wait for more to do; see [`TurnContext::idle`]. Starts when it is awaited.
///
/// ```
/// # mod harn_serve {
/// #     pub use harn_runtime::*;
/// #     pub use harn_runtime::model::*;
/// # }
/// use std::time::Duration;
///
/// use harn_serve::{AgentError, TurnContext, WakeReason};
///
/// async fn was_woken_by_a_message(cx: &TurnContext) -> Result<bool, AgentError> {
///     let outcome = cx.idle().wake_after(Duration::from_secs(60)).await?;
///     Ok(matches!(outcome.reason, WakeReason::Message))
/// }
/// ```
#[must_use = "an agent waits only where this is awaited"]
pub struct IdleWait<'a> {
    cx: &'a TurnContext,
    every: Option<Duration>,
    until: Option<Pin<Box<dyn Future<Output = ()> + Send + 'a>>>,
    watchdog: Option<u64>,
}

impl<'a> IdleWait<'a> {
    pub(super) fn new(cx: &'a TurnContext) -> Self {
        Self {
            cx,
            every: None,
            until: None,
            watchdog: None,
        }
    }

    /// Wakes after this time at the latest.
    pub fn wake_after(mut self, interval: Duration) -> Self {
        self.every = Some(interval);
        self
    }

    /// Wakes when this future resolves, which means that something the agent watches changed.
    pub fn wake_when(mut self, changed: impl Future<Output = ()> + Send + 'a) -> Self {
        self.until = Some(Box::pin(changed));
        self
    }

    /// Limits how often in a row the agent may wake without doing anything before its turn ends.
    pub fn watchdog(mut self, attempts: u64) -> Self {
        self.watchdog = Some(attempts);
        self
    }

    async fn wait(self) -> Result<IdleOutcome, AgentError> {
        let cx = self.cx;
        let mut held = HeldDelivery {
            delivered: cx.pass_seam(Seam::DaemonIdlePre, false).await?,
            unread: &cx.parts().unread,
        };
        let (reply, mut woken) = oneshot::channel();
        let wait = IdleRequest {
            iteration: cx.iteration(),
            watchdog: self.watchdog,
            given: held.delivered.wake_reason(),
            reply,
        };
        cx.push(TurnItem::Idle(wait)).await?;
        let own = tokio::select! {
            biased;
            () = cx.cancelled() => return Err(AgentError::Cancelled),
            woken = &mut woken => Err(woken),
            () = or_never(self.until) => Ok(WakeReason::Watch),
            () = or_never(self.every.map(tokio::time::sleep)) => Ok(WakeReason::Timer),
        };
        let woken = match own {
            Err(woken) => woken,
            Ok(reason) => {
                cx.push(TurnItem::Wake(reason)).await?;
                woken.await
            }
        };
        // A dropped reply means that the turn is over.
        let reason = woken.map_err(|_| AgentError::Cancelled)?;
        for (seam, after_a_wait) in [(Seam::DaemonIdlePost, false), (Seam::TurnStart, true)] {
            held.delivered
                .extend(cx.pass_seam(seam, after_a_wait).await?);
        }
        let delivered = held.hand_over();
        Ok(IdleOutcome { reason, delivered })
    }
}

impl<'a> IntoFuture for IdleWait<'a> {
    type Output = Result<IdleOutcome, AgentError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.wait())
    }
}

impl TurnContext {
    /// Passes a seam: returns the items delivered there, and fails if the turn was cancelled. Everything
    /// emitted before is written when this returns.
    ///
    /// No item is lost. A message that still waits when the agent returns becomes the prompt of another call
    /// of [`Agent::turn`](crate::Agent::turn). If a call is dropped before it returns its items, the next
    /// call returns them.
    ///
    /// ```
    /// # use harn_runtime::{AgentError, Seam, TurnContext, model::StopReason};
    /// # async fn model(_: &mut Vec<String>) -> Option<String> { None }
    /// async fn turn(cx: &mut TurnContext) -> Result<StopReason, AgentError> {
    ///     let mut history = vec![cx.prompt_text()];
    ///     loop {
    ///         // Messages that arrived since the last request to the model.
    ///         let came = cx.seam(Seam::TurnStart).await?;
    ///         history.extend(came.iter().map(|item| item.text()));
    ///         let Some(call) = model(&mut history).await else {
    ///             // The turn ends unless a message has arrived since.
    ///             let came = cx.seam(Seam::TurnEnd).await?;
    ///             if came.is_empty() {
    ///                 return Ok(StopReason::EndTurn);
    ///             }
    ///             history.extend(came.iter().map(|item| item.text()));
    ///             continue;
    ///         };
    ///         // Before its tools run: something that interrupts has them skipped.
    ///         let came = cx.seam(Seam::PreToolDispatch).await?;
    ///         history.extend(came.iter().map(|item| item.text()));
    ///         if !came.dispatch_skipped() {
    ///             // … run `call` …
    /// #           drop(call);
    ///         }
    ///     }
    /// }
    /// ```
    pub async fn seam(&self, seam: Seam) -> Result<SteeringDelivery, AgentError> {
        if seam == Seam::TurnStart {
            let equipment = &self.parts().observer.shared.equipment;
            equipment.refresh_at_boundary(self).await?;
        }
        self.pass_seam(seam, false).await
    }

    /// Passes a seam. After a wait, also delivers a message that was queued for the end of the turn, because
    /// the wait was the end.
    async fn pass_seam(
        &self,
        seam: Seam,
        after_a_wait: bool,
    ) -> Result<SteeringDelivery, AgentError> {
        let iteration = &self.parts().iteration;
        if seam == Seam::TurnStart {
            iteration.fetch_add(1, Ordering::Relaxed);
        }
        let (reply, delivered) = oneshot::channel();
        let item = TurnItem::Seam {
            seam,
            iteration: self.iteration(),
            after_a_wait,
            reply,
        };
        self.push(item).await?;
        let unread = &self.parts().unread;
        let mut expected = AwaitedDelivery {
            reply: delivered,
            unread,
        };
        // A dropped reply means that the runtime settled the turn.
        let new = (&mut expected.reply).await;
        let new = new.map_err(|_| AgentError::Cancelled)?;
        if self.is_cancelled() {
            return Err(AgentError::Cancelled);
        }
        let mut delivered = SteeringDelivery {
            items: unread.take(),
            dispatch_skipped: false,
        };
        delivered.extend(new);
        Ok(delivered)
    }

    /// Waits for more to do instead of returning: until the user sends a message, a reminder arrives, a host resumes
    /// the agent, or [`IdleWait::wake_when`] or [`IdleWait::wake_after`] wakes it. Waiting costs nothing; hosts are notified
    /// that the agent is idle, at growing intervals.
    ///
    /// Concurrent waits of one agent count as one wait: the end of one ends all, and one of them receives the
    /// items. Dropping a wait ends it and loses nothing.
    ///
    /// ```
    /// # use harn_runtime::{AgentError, TurnContext, model::StopReason};
    /// async fn turn(cx: &mut TurnContext) -> Result<StopReason, AgentError> {
    ///     cx.say(format!("You said: {}", cx.prompt_text())).await?;
    ///     loop {
    ///         let woke = cx.idle().await?;
    ///         for text in woke.delivered.messages() {
    ///             cx.say(format!("And now: {text}")).await?;
    ///         }
    ///     }
    /// }
    /// ```
    pub fn idle(&self) -> IdleWait<'_> {
        IdleWait::new(self)
    }

    /// Returns the reminders in force, the oldest first, for the prompt of a model. Hosts are notified of
    /// each reminder the first time.
    pub async fn reminders(&self) -> Result<Vec<SystemReminder>, AgentError> {
        let (reply, in_force) = oneshot::channel();
        self.push(TurnItem::Reminders(reply)).await?;
        // A dropped reply means that the runtime settled the turn.
        in_force.await.map_err(|_| AgentError::Cancelled)
    }

    /// Adds a reminder for the agent itself, in force from now on. Assigns an id if it has none. Fails if too
    /// many are in force already.
    pub async fn remind(&self, reminder: SystemReminder) -> Result<(), AgentError> {
        let (reply, reminded) = oneshot::channel();
        let item = TurnItem::Remind(Box::new(reminder), reply);
        self.push(item).await?;
        // A dropped reply means that the runtime settled the turn.
        reminded.await.map_err(|_| AgentError::Cancelled)?
    }
}
