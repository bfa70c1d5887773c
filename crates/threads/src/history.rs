//! The history of a thread: its notifications, with streamed text put together.

use harn_model::{AgentEvent, Envelope, SessionId, SessionInfo, Timestamp};

use crate::{
    ThreadProjector,
    wire::{ItemDelta, ThreadEvent, ThreadNotification},
};

/// The title of a thread that has none.
pub(crate) const UNTITLED: &str = "New thread";

/// Collects the events of a thread, from the first.
pub struct ThreadHistory {
    projector: ThreadProjector,
    events: Vec<ThreadEvent>,
    /// The text of the message in progress, as one delta that comes right before the message's end.
    held: Option<ThreadNotification>,
    /// Whether the title may still be the one of its creation.
    fresh: bool,
    told: Vec<ThreadNotification>,
    last: Timestamp,
}

impl ThreadHistory {
    /// Returns the history of a thread that was created at this time.
    pub fn new(thread: SessionId, created: Timestamp) -> Self {
        let mut history = Self {
            projector: ThreadProjector::new(thread.clone()),
            events: Vec::new(),
            held: None,
            fresh: true,
            told: Vec::new(),
            last: 0,
        };
        let title = UNTITLED.to_owned();
        let thread_id = thread;
        history.push(
            ThreadNotification::ThreadCreated { thread_id, title },
            created,
        );
        history
    }

    /// Adds the notifications of an event.
    pub fn add(&mut self, envelope: &Envelope) {
        self.note_title(&envelope.event);
        let mut told = std::mem::take(&mut self.told);
        self.projector.project(envelope, &mut told);
        for notification in told.drain(..) {
            self.add_notification(notification, envelope.at);
        }
        self.told = told;
    }

    /// Returns the history; a message in progress is included as far as it has come.
    #[must_use]
    pub fn finish(mut self) -> Vec<ThreadEvent> {
        let at = self.last;
        self.push_held(at);
        self.events
    }

    fn add_notification(&mut self, notification: ThreadNotification, at: Timestamp) {
        match (&notification, &mut self.held) {
            (
                ThreadNotification::ItemDelta {
                    delta: ItemDelta::AssistantMessage { delta: more, .. },
                    item_id,
                    ..
                },
                Some(ThreadNotification::ItemDelta {
                    delta: ItemDelta::AssistantMessage { delta, .. },
                    item_id: held,
                    ..
                }),
            ) if item_id == held => delta.push_str(more),
            (
                ThreadNotification::ItemDelta {
                    delta: ItemDelta::AssistantMessage { .. },
                    ..
                },
                _,
            ) => {
                self.push_held(at);
                self.held = Some(notification);
            }
            (
                ThreadNotification::ItemCompleted { item_id, .. },
                Some(ThreadNotification::ItemDelta { item_id: held, .. }),
            ) if item_id == held => {
                self.push_held(at);
                self.push(notification, at);
            }
            _ => self.push(notification, at),
        }
    }

    fn push_held(&mut self, at: Timestamp) {
        if let Some(held) = self.held.take() {
            self.push(held, at);
        }
    }

    /// Updates the title in `thread.created` if the thread got it right after its creation, as the notification
    /// did live. Later titles come from its first turn.
    fn note_title(&mut self, event: &AgentEvent) {
        if !self.fresh {
            return;
        }
        if let AgentEvent::SessionInfo(SessionInfo {
            title: Some(given), ..
        }) = event
        {
            if let Some(first) = self.events.first_mut()
                && let ThreadNotification::ThreadCreated { title, .. } = &mut first.notification
            {
                title.clone_from(given);
            }
            self.fresh = false;
        } else if let AgentEvent::TurnStarted(_) | AgentEvent::PromptWithdrawn(_) = event {
            self.fresh = false;
        }
    }

    /// Adds a notification. Clients identify events by their time, so no two have the same.
    fn push(&mut self, notification: ThreadNotification, at: Timestamp) {
        let timestamp = match self.events.is_empty() {
            true => at,
            false => at.max(self.last.saturating_add(1)),
        };
        self.last = timestamp;
        self.events.push(ThreadEvent {
            notification,
            timestamp,
        });
    }
}
