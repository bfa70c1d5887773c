//! Rows of messages, to the agent and from it.

use harn_model::{ContentBlock, LiveAuthor, PendingChange, TurnStarted, plain_text};

use super::{RowDraft, RowJoin, text_format};
use crate::wire::TimelineKind;

pub(super) fn prompt(what: &str, turn: &TurnStarted) -> RowDraft {
    message(what, &turn.prompt, turn.live_session.as_deref())
}

pub(super) fn message(what: &str, content: &[ContentBlock], by: Option<&LiveAuthor>) -> RowDraft {
    let headline = text_format::headline(content);
    let title = match by {
        Some(author) => format!("{what} by {}: {headline}", author.client_id),
        None => format!("{what}: {headline}"),
    };
    RowDraft::new(TimelineKind::Prompt, title).with_text(plain_text(content))
}

/// Returns a row without a title: its title is the first line of the message, known when the message is whole.
pub(super) fn chunk(kind: TimelineKind, content: &str, joins: RowJoin) -> RowDraft {
    RowDraft::new(kind, "").with_text(content).with_join(joins)
}

pub(super) fn pending(change: &PendingChange) -> RowDraft {
    match change {
        PendingChange::MessageQueued(pending) => {
            let author = pending.live_session.as_deref();
            message("Pending message", &pending.content, author)
        }
        PendingChange::MessageReplaced { content, .. } => {
            message("Pending message changed", content, None)
        }
        PendingChange::MessageRevoked { message_id } => {
            RowDraft::new(TimelineKind::Prompt, "A pending message was revoked")
                .with_text(message_id.as_str())
        }
        PendingChange::ReminderQueued(pending) => {
            let body = &pending.reminder.body;
            let title = format!("Pending reminder: {}", text_format::first_line(body));
            RowDraft::new(TimelineKind::Reminder, title).with_text(body)
        }
        PendingChange::ReminderRevoked { reminder_id } => {
            RowDraft::new(TimelineKind::Reminder, "A pending reminder was revoked")
                .with_text(reminder_id)
        }
        PendingChange::Cleared => {
            RowDraft::new(TimelineKind::Prompt, "The pending messages were cleared")
        }
    }
}
