//! The messages and reminders that wait for delivery to an agent, in order of arrival.
//!
//! One queue has both, folded from events, so that it survives the end of the process. Finding, removing and
//! replacing an entry does not scan the queue.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use crate::{Actor, ContentBlock, LiveAuthor, MessageId, Seq, SystemReminder};

/// When a message or reminder is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryMode {
    /// At the next seam; tools that wait to run are skipped for it.
    InterruptImmediate,
    /// When the current step is done.
    FinishStep,
    /// At the end: a message becomes the next prompt, a reminder is only recorded.
    AuditOnly,
}

impl DeliveryMode {
    /// Returns its wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InterruptImmediate => "interrupt_immediate",
            Self::FinishStep => "finish_step",
            Self::AuditOnly => "audit_only",
        }
    }
}

/// A user's message that waits for delivery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingMessage {
    /// Its id, also after delivery.
    pub message_id: MessageId,
    /// When it is delivered.
    pub mode: DeliveryMode,
    /// Its content.
    pub content: Vec<ContentBlock>,
    /// The sender.
    pub owner: Actor,
    /// The client that sent it, if it gave a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_session: Option<Box<LiveAuthor>>,
}

/// A reminder that waits for delivery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingReminder {
    /// When it is delivered.
    pub mode: DeliveryMode,
    /// The sender's word for the mode, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_mode: Option<String>,
    /// The reminder.
    pub reminder: SystemReminder,
}

/// A change of the queue; only in the transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum PendingChange {
    /// A message was accepted.
    MessageQueued(PendingMessage),
    /// A message has new content.
    MessageReplaced {
        /// The id of the message.
        message_id: MessageId,
        /// The new content.
        content: Vec<ContentBlock>,
    },
    /// A message was revoked.
    MessageRevoked {
        /// The id of the message.
        message_id: MessageId,
    },
    /// A reminder was accepted.
    ReminderQueued(PendingReminder),
    /// A reminder was revoked.
    ReminderRevoked {
        /// The id of the reminder.
        reminder_id: String,
    },
    /// The queue was emptied: the session was closed, or this is a copy of it.
    Cleared,
}

impl PendingChange {
    /// Returns the approximate number of bytes that this keeps in memory.
    pub fn weight(&self) -> usize {
        match self {
            Self::MessageQueued(message) => weigh(&message.content),
            Self::MessageReplaced { content, .. } => weigh(content),
            Self::ReminderQueued(pending) => pending.reminder.weight(),
            Self::MessageRevoked { .. } | Self::ReminderRevoked { .. } | Self::Cleared => 0,
        }
    }
}

fn weigh(content: &[ContentBlock]) -> usize {
    content.iter().map(ContentBlock::weight).sum()
}

/// An entry of the queue.
#[derive(Clone, Debug, PartialEq)]
pub enum PendingDelivery {
    /// A message.
    Message(Arc<PendingMessage>),
    /// A reminder.
    Reminder(Arc<PendingReminder>),
}

impl PendingDelivery {
    /// When it is delivered.
    pub fn mode(&self) -> DeliveryMode {
        match self {
            Self::Message(message) => message.mode,
            Self::Reminder(reminder) => reminder.mode,
        }
    }

    fn kind(&self) -> PendingKind {
        match self {
            Self::Message(_) => PendingKind::Message,
            Self::Reminder(_) => PendingKind::Reminder,
        }
    }

    fn weight(&self) -> usize {
        match self {
            Self::Message(message) => weigh(&message.content),
            Self::Reminder(pending) => pending.reminder.weight(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PendingKind {
    Message,
    Reminder,
}

/// The sort key of an entry: by mode and kind, so that a search for one sort skips all others, then in order of
/// arrival.
type PendingKey = (DeliveryMode, PendingKind, Seq);

/// The queue of messages and reminders that wait for delivery.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PendingQueue {
    rows: BTreeMap<PendingKey, PendingDelivery>,
    messages: HashMap<MessageId, PendingKey>,
    reminders: HashMap<String, PendingKey>,
    bytes: usize,
}

impl PendingQueue {
    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the approximate number of bytes that the entries keep in memory.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns all entries, in order of arrival.
    pub fn entries_in_order(&self) -> Vec<PendingDelivery> {
        sort_by_arrival(self.rows.iter().collect())
    }

    /// Returns the entries of these modes, in order of arrival.
    pub fn entries_with_modes(&self, modes: &[DeliveryMode]) -> Vec<PendingDelivery> {
        let both = [PendingKind::Message, PendingKind::Reminder];
        let sorts = modes.iter().flat_map(|mode| both.map(|kind| (*mode, kind)));
        sort_by_arrival(
            sorts
                .flat_map(|(mode, kind)| self.entries_with(mode, kind))
                .collect(),
        )
    }

    /// Returns the reminders of these modes, in order of arrival.
    pub fn reminders_with_modes(&self, modes: &[DeliveryMode]) -> Vec<PendingDelivery> {
        let rows = modes.iter();
        let rows = rows.flat_map(|mode| self.entries_with(*mode, PendingKind::Reminder));
        sort_by_arrival(rows.collect())
    }

    /// Returns the reminders of these modes and their oldest message, in order of arrival.
    pub fn reminders_and_first_message(&self, modes: &[DeliveryMode]) -> Vec<PendingDelivery> {
        let rows = modes.iter();
        let rows = rows.flat_map(|mode| self.entries_with(*mode, PendingKind::Reminder));
        sort_by_arrival(rows.chain(self.oldest_message(modes)).collect())
    }

    /// Returns the oldest message of this mode.
    pub fn first_message(&self, mode: DeliveryMode) -> Option<Arc<PendingMessage>> {
        self.first_message_with_modes(&[mode])
    }

    /// Returns the oldest message of these modes.
    pub fn first_message_with_modes(&self, modes: &[DeliveryMode]) -> Option<Arc<PendingMessage>> {
        match self.oldest_message(modes)?.1 {
            PendingDelivery::Message(message) => Some(message.clone()),
            PendingDelivery::Reminder(_) => None,
        }
    }

    fn oldest_message(&self, modes: &[DeliveryMode]) -> Option<(&PendingKey, &PendingDelivery)> {
        let oldest = modes.iter();
        let oldest =
            oldest.filter_map(|mode| self.entries_with(*mode, PendingKind::Message).next());
        oldest.min_by_key(|((.., seq), _)| *seq)
    }

    fn entries_with(
        &self,
        mode: DeliveryMode,
        kind: PendingKind,
    ) -> impl Iterator<Item = (&PendingKey, &PendingDelivery)> {
        let all = (mode, kind, Seq::ZERO)..=(mode, kind, Seq(u64::MAX));
        self.rows.range(all)
    }

    /// Returns a message that waits.
    pub fn message(&self, id: &MessageId) -> Option<&Arc<PendingMessage>> {
        match self.rows.get(self.messages.get(id)?)? {
            PendingDelivery::Message(message) => Some(message),
            PendingDelivery::Reminder(_) => None,
        }
    }

    /// Returns a reminder that waits.
    pub fn reminder(&self, id: &str) -> Option<&Arc<PendingReminder>> {
        match self.rows.get(self.reminders.get(id)?)? {
            PendingDelivery::Reminder(reminder) => Some(reminder),
            PendingDelivery::Message(_) => None,
        }
    }

    pub(crate) fn push(&mut self, seq: Seq, row: PendingDelivery) {
        let key = (row.mode(), row.kind(), seq);
        let namesake = match &row {
            PendingDelivery::Message(message) => {
                self.messages.insert(message.message_id.clone(), key)
            }
            PendingDelivery::Reminder(pending) => {
                self.reminders.insert(pending.reminder.id.clone(), key)
            }
        };
        // An entry that no id refers to would wait forever.
        self.take(namesake);
        self.bytes += row.weight();
        self.rows.insert(key, row);
    }

    pub(crate) fn replace(&mut self, id: &MessageId, content: &[ContentBlock]) {
        let key = self.messages.get(id);
        if let Some(PendingDelivery::Message(message)) = key.and_then(|key| self.rows.get_mut(key))
        {
            self.bytes -= weigh(&message.content);
            self.bytes += weigh(content);
            *message = Arc::new(PendingMessage {
                content: content.to_vec(),
                ..(**message).clone()
            });
        }
    }

    pub(crate) fn take_message(&mut self, id: &MessageId) -> bool {
        let key = self.messages.remove(id);
        self.take(key)
    }

    pub(crate) fn take_reminder(&mut self, id: &str) -> bool {
        let key = self.reminders.remove(id);
        self.take(key)
    }

    fn take(&mut self, key: Option<PendingKey>) -> bool {
        let taken = key.and_then(|key| self.rows.remove(&key));
        self.bytes -= taken.as_ref().map_or(0, PendingDelivery::weight);
        taken.is_some()
    }
}

fn sort_by_arrival(mut rows: Vec<(&PendingKey, &PendingDelivery)>) -> Vec<PendingDelivery> {
    rows.sort_unstable_by_key(|((.., seq), _)| *seq);
    rows.into_iter().map(|(_, row)| row.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    use DeliveryMode::{AuditOnly, FinishStep, InterruptImmediate};

    fn message(id: &str, mode: DeliveryMode) -> PendingDelivery {
        PendingDelivery::Message(Arc::new(PendingMessage {
            message_id: id.into(),
            mode,
            content: vec![ContentBlock::text(id)],
            owner: Actor {
                client_id: "ann".to_owned(),
                role: "member".to_owned(),
                source: "acp".to_owned(),
            },
            live_session: None,
        }))
    }

    fn reminder(id: &str, mode: DeliveryMode) -> PendingDelivery {
        let reminder = SystemReminder::new(id, id);
        PendingDelivery::Reminder(Arc::new(PendingReminder {
            mode,
            sent_mode: None,
            reminder,
        }))
    }

    fn queue(rows: Vec<PendingDelivery>) -> PendingQueue {
        let mut queue = PendingQueue::default();
        for (seq, row) in (1..).zip(rows) {
            queue.push(Seq(seq), row);
        }
        queue
    }

    fn ids(rows: &[PendingDelivery]) -> Vec<&str> {
        let ids = rows.iter().map(|row| match row {
            PendingDelivery::Message(message) => message.message_id.as_str(),
            PendingDelivery::Reminder(pending) => pending.reminder.id.as_str(),
        });
        ids.collect()
    }

    fn mixed_queue() -> PendingQueue {
        queue(vec![
            reminder("r1", AuditOnly),
            message("m1", AuditOnly),
            message("m2", FinishStep),
            reminder("r2", InterruptImmediate),
            message("m3", InterruptImmediate),
            reminder("r3", FinishStep),
            message("m4", AuditOnly),
        ])
    }

    #[test]
    fn entries_are_returned_in_order_of_arrival() {
        let queue = mixed_queue();
        let all = ["r1", "m1", "m2", "r2", "m3", "r3", "m4"];
        assert_eq!(ids(&queue.entries_in_order()), all);
        let soon = [FinishStep, InterruptImmediate];
        assert_eq!(
            ids(&queue.entries_with_modes(&soon)),
            ["m2", "r2", "m3", "r3"]
        );
        assert_eq!(
            ids(&queue.entries_with_modes(&[AuditOnly])),
            ["r1", "m1", "m4"]
        );
        assert!(queue.entries_with_modes(&[]).is_empty());
        assert_eq!(ids(&queue.reminders_with_modes(&soon)), ["r2", "r3"]);
        assert_eq!(ids(&queue.reminders_with_modes(&[AuditOnly])), ["r1"]);
        // One message and all reminders, in order of arrival.
        assert_eq!(
            ids(&queue.reminders_and_first_message(&soon)),
            ["m2", "r2", "r3"]
        );
        assert_eq!(
            ids(&queue.reminders_and_first_message(&[AuditOnly])),
            ["r1", "m1"]
        );
    }

    #[test]
    fn the_oldest_message_is_found_among_several_modes() {
        let mut queue = mixed_queue();
        let mut oldest = |modes: &[DeliveryMode]| {
            let id = queue.first_message_with_modes(modes)?.message_id.clone();
            assert!(queue.take_message(&id));
            Some(id.to_string())
        };
        let soon = [InterruptImmediate, FinishStep];
        assert_eq!(oldest(&soon).as_deref(), Some("m2"));
        assert_eq!(oldest(&soon).as_deref(), Some("m3"));
        assert_eq!(oldest(&soon), None);
        assert_eq!(oldest(&[AuditOnly]).as_deref(), Some("m1"));
        assert_eq!(oldest(&[AuditOnly]).as_deref(), Some("m4"));
        assert_eq!(oldest(&[AuditOnly]), None);
        assert_eq!(ids(&queue.entries_in_order()), ["r1", "r2", "r3"]);
    }

    #[test]
    fn bytes_count_only_pending_entries() {
        let mut queue = queue(vec![message("m1", FinishStep), message("m2", AuditOnly)]);
        assert_eq!(queue.bytes(), 4);
        queue.replace(&"m1".into(), &[ContentBlock::text("longer")]);
        assert_eq!(queue.bytes(), 8);
        assert_eq!(ids(&queue.entries_in_order()), ["m1", "m2"]);
        queue.replace(&"nothing".into(), &[ContentBlock::text("longer")]);
        assert!(!queue.take_message(&"nothing".into()));
        assert!(queue.take_message(&"m1".into()));
        assert!(!queue.take_message(&"m1".into()));
        assert_eq!((queue.len(), queue.bytes()), (1, 2));
        assert!(queue.take_message(&"m2".into()));
        assert_eq!(queue, PendingQueue::default());
    }

    #[test]
    fn new_entry_replaces_one_with_the_same_id_and_kind() {
        let mut queue = queue(vec![
            message("x", FinishStep),
            reminder("x", FinishStep),
            message("x", AuditOnly),
        ]);
        assert_eq!(queue.len(), 2);
        assert_eq!(queue.message(&"x".into()).unwrap().mode, AuditOnly);
        assert!(queue.take_message(&"x".into()));
        assert!(queue.reminder("x").is_some());
        assert!(queue.take_reminder("x"));
        assert_eq!(queue, PendingQueue::default());
    }
}
