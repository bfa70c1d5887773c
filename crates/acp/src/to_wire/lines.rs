//! Single lines of a session's stream: an update, an agent event, an extension or its plain substitute.

use harn_model::{MessageId, Seq, visible_text};
use serde::Serialize;

use super::{UpdateProjector, is_blank, standard};
use crate::{
    Profile,
    ext::{
        HarnMeta,
        agent_event::{ClosedFields, HarnEvent},
        update::ExtensionFields,
    },
    wire::{InfoMeta, StandardUpdate},
};

impl UpdateProjector {
    /// Appends the line of an update.
    pub(crate) fn write_update(&self, update: &impl Serialize, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.update);
        match serde_json::to_writer(&mut *out, update) {
            Ok(()) => out.extend_from_slice(b"}}\n"),
            // Our types always serialise; if one fails, omit the whole line.
            Err(_) => out.truncate(start),
        }
    }

    /// Writes an agent event, which a plain client does not receive.
    pub(crate) fn write_event(&self, event: HarnEvent<'_>, out: &mut Vec<u8>) {
        self.write_event_or(event, out, |_| {});
    }

    /// Writes an agent event, or its substitute for a plain client.
    pub(super) fn write_event_or(
        &self,
        event: HarnEvent<'_>,
        out: &mut Vec<u8>,
        plain: impl FnOnce(&mut Vec<u8>),
    ) {
        if self.dialect.profile == Profile::Acp {
            return plain(out);
        }
        let start = out.len();
        out.extend_from_slice(&self.event);
        let fields = out.len();
        match (
            serde_json::to_writer(&mut *out, &event),
            out.get_mut(fields),
        ) {
            (Ok(()), Some(brace)) => {
                // The fields are beside `sessionId`, not in an object of their own.
                *brace = b',';
                out.extend_from_slice(b"}\n");
            }
            _ => out.truncate(start),
        }
    }

    /// Writes an extension, which a plain client does not receive.
    pub(super) fn write_extension<'a>(&self, fields: impl ExtensionFields<'a>, out: &mut Vec<u8>) {
        self.write_extension_or(fields, out, |_| {});
    }

    /// Writes an extension, or its substitute for a plain client.
    pub(super) fn write_extension_or<'a, F: ExtensionFields<'a>>(
        &self,
        fields: F,
        out: &mut Vec<u8>,
        plain: impl FnOnce(&mut Vec<u8>),
    ) {
        let wanted = self.dialect.extensions.contains(F::EXTENSION);
        match self.dialect.profile {
            Profile::Acp => plain(out),
            Profile::Harn if wanted => self.write_update(&fields.into_direct(), out),
            Profile::Meta if wanted => {
                let meta = Some(HarnMeta::new(InfoMeta::Carried(fields.into_carried())));
                self.write_update(
                    &StandardUpdate::SessionInfoUpdate { title: None, meta },
                    out,
                );
            }
            Profile::Harn | Profile::Meta => {}
        }
    }

    /// Writes a thought that is a message of its own. Plain clients such as acpx and Toad join thoughts
    /// regardless of their ids, so for them it is also a paragraph of its own, between any neighbours.
    pub(super) fn write_note(&self, seq: Seq, text: &str, out: &mut Vec<u8>) {
        if is_blank(text) {
            return;
        }
        let id = MessageId::from(format!("note-{seq}"));
        match self.dialect.profile {
            Profile::Harn | Profile::Meta => self.write_thought(text, Some(&id), out),
            Profile::Acp => {
                let paragraph = format!("\n\n{}\n\n", text.trim());
                self.write_thought(&paragraph, Some(&id), out);
            }
        }
    }

    /// Writes that the session ended because its journal failed. The lines have no event id, because the journal has
    /// no such event.
    pub(crate) fn write_session_failure(&self, reason: &str, out: &mut Vec<u8>) {
        let closed = ClosedFields::new(reason, "failed");
        self.write_event_or(HarnEvent::SessionClosed(closed), out, |out| {
            self.write_thought(&format!("\n\n{reason}\n\n"), None, out);
        });
    }

    /// Writes a text of the agent, with the part that a person should see as metadata.
    pub(super) fn write_message(&self, text: &str, id: Option<&MessageId>, out: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        match self.dialect.profile {
            Profile::Harn | Profile::Meta => {
                self.write_update(&standard::message(text, Some(&visible_text(text)), id), out);
            }
            Profile::Acp => self.write_update(&standard::message(text, None, id), out),
        }
    }

    pub(super) fn write_thought(&self, text: &str, id: Option<&MessageId>, out: &mut Vec<u8>) {
        if !text.is_empty() {
            self.write_update(&standard::thought(text, id), out);
        }
    }
}
