//! Notes: events other than messages, at the message during which they happened.

use harn_model::{Artifact, Timestamp};

use super::{Document, call::cut_text};
use crate::{
    changes::{DocumentChanges, at},
    wire::{MessageNote, NoteKind},
};

/// The maximum number of notes of a message; the timeline has all of them.
const MOST: usize = 256;

impl Document {
    /// Adds a note to the last message that is not queued. Before the first message, notes are dropped.
    pub(super) fn add_note(
        &mut self,
        kind: NoteKind,
        text: String,
        at: Timestamp,
        out: &mut DocumentChanges,
    ) {
        let Some(index) = self.settled.checked_sub(1) else {
            return;
        };
        let notes = &mut self.message(index).notes;
        let note = MessageNote { kind, text, at };
        let goes_on = notes.last().is_some_and(|last| {
            // A progress note replaces the one before it.
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

/// Describes an artifact, with its fallback because no client renders its spec here.
pub(super) fn artifact(artifact: &Artifact) -> String {
    let title = artifact.title.as_ref().unwrap_or(&artifact.kind);
    match cut_text(artifact.fallback.clone()) {
        (text, _) if text.trim().is_empty() => format!("Made {title}"),
        (text, false) => format!("Made {title}\n{text}"),
        (text, true) => format!("Made {title}\n{text}…"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::to_wire::call::OUTPUT_BYTES;

    #[test]
    fn an_artifact_shows_its_fallback() {
        let mut chart = Artifact {
            artifact_id: "a1".to_owned(),
            kind: "vega-lite".to_owned(),
            title: None,
            mime_type: "application/json".to_owned(),
            spec: serde_json::Value::Null,
            fallback: " \n".to_owned(),
            size_bytes: 0,
            provenance: serde_json::Value::Null,
            metadata: serde_json::Value::Null,
        };
        assert_eq!(artifact(&chart), "Made vega-lite");
        chart.title = Some("Latency".to_owned());
        chart.fallback = "p50 12 ms\np99 80 ms".to_owned();
        assert_eq!(artifact(&chart), "Made Latency\np50 12 ms\np99 80 ms");
        chart.fallback = "x".repeat(OUTPUT_BYTES + 1);
        let shown = artifact(&chart);
        assert!(shown.ends_with("xx…") && shown.len() < OUTPUT_BYTES + 100);
    }
}
