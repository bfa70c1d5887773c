//! Quiet lines: what happened beside what was said, at the message it happened at.

use harn_model::Timestamp;

use super::Document;
use crate::{
    changes::{Changes, at},
    wire::{Note, NoteKind},
};

/// How many a message has; the timeline has all of them.
const MOST: usize = 256;

impl Document {
    /// Adds a line to the last message that does not wait. Before the first there is nobody to read it.
    pub(super) fn note(&mut self, kind: NoteKind, text: String, at: Timestamp, out: &mut Changes) {
        let Some(index) = self.settled.checked_sub(1) else {
            return;
        };
        let notes = &mut self.message(index).notes;
        let note = Note { kind, text, at };
        let goes_on = notes.last().is_some_and(|last| {
            // How far something is counts until the next word of it.
            (last.kind, kind) == (NoteKind::Progress, NoteKind::Progress)
        });
        if goes_on {
            notes.pop();
        } else if notes.len() >= MOST {
            return;
        }
        let place = notes.len();
        notes.push(note);
        let note = &self.state.messages[index].notes[place];
        out.set(at!["messages", index, "notes", place], note);
    }
}
