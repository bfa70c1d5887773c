//! Records the messages of a wire in the order the client saw them, one line of JSON per message.

use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::lock;

/// The receiver of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordDirection {
    /// From the client to the agent.
    ToAgent,
    /// From the agent to the client.
    ToClient,
}

impl RecordDirection {
    fn word(self) -> &'static str {
        match self {
            Self::ToAgent => "agent",
            Self::ToClient => "client",
        }
    }
}

/// Records every line. Clones write to the same record.
#[derive(Clone, Default)]
pub struct Recorder {
    record: Arc<Mutex<WireRecord>>,
}

#[derive(Default)]
struct WireRecord {
    entries: Vec<RecordEntry>,
    names: Vec<(String, String)>,
    requests: usize,
}

enum RecordEntry {
    Line(RecordDirection, Vec<u8>),
    Note(String),
}

/// The limit above which a line that is no message is recorded by its length.
const RAW_SHOWN: usize = 256;

impl Recorder {
    /// Records a line, without its end.
    pub fn record_line(&self, direction: RecordDirection, line: &[u8]) {
        let entry = RecordEntry::Line(direction, line.to_vec());
        lock(&self.record).entries.push(entry);
    }

    /// Records a note about an event outside the wire.
    pub fn record_note(&self, text: &str) {
        lock(&self.record)
            .entries
            .push(RecordEntry::Note(text.to_owned()));
    }

    /// Replaces `name` by `stands_for` everywhere in the transcript. For folders, whose names differ from run to
    /// run.
    pub fn rename(&self, name: impl Into<String>, stands_for: &str) {
        let pair = (name.into(), stands_for.to_owned());
        lock(&self.record).names.push(pair);
    }

    /// Numbers the ids of the agent's requests, which the SDK draws at random.
    pub(crate) fn number_request(&self, id: &Value) {
        let mut record = lock(&self.record);
        if let Value::String(id) = id {
            record.requests += 1;
            let number = format!("agent-{}", record.requests);
            record.names.push((id.clone(), number));
        }
    }

    /// Returns the lines in one direction, unchanged.
    pub fn lines(&self, direction: RecordDirection) -> Vec<String> {
        let record = lock(&self.record);
        let entries = record.entries.iter().filter_map(|entry| match entry {
            RecordEntry::Line(to, line) if *to == direction => {
                Some(String::from_utf8_lossy(line).into_owned())
            }
            RecordEntry::Line(..) | RecordEntry::Note(_) => None,
        });
        entries.collect()
    }

    /// Returns the transcript: `{"to":"agent","message":…}` and `{"to":"client","message":…}` with each message as
    /// it was written, `{"to":"agent","raw":…}` for a line that is no message, `{"note":…}`.
    pub fn transcript(&self) -> String {
        let record = lock(&self.record);
        let mut out = String::new();
        for entry in &record.entries {
            match entry {
                RecordEntry::Note(text) => out.push_str(&format!("{{\"note\":{}}}\n", quote(text))),
                RecordEntry::Line(to, line) => {
                    let to = to.word();
                    let body = body(line);
                    out.push_str(&format!("{{\"to\":\"{to}\",{body}}}\n"));
                }
            }
        }
        for (name, stands_for) in &record.names {
            out = out.replace(name, stands_for);
        }
        out
    }
}

fn body(line: &[u8]) -> String {
    match std::str::from_utf8(line) {
        // Use the bytes themselves, so that the order of members and the spelling of numbers are pinned too.
        Ok(text) if is_message(text) => format!("\"message\":{text}"),
        _ if line.len() > RAW_SHOWN => format!("\"rawLength\":{}", line.len()),
        Ok(text) => format!("\"raw\":{}", quote(text)),
        Err(_) => format!("\"rawBytes\":{}", quote(&line.escape_ascii().to_string())),
    }
}

fn is_message(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok()
}

fn quote(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transcript_has_the_bytes_of_messages_and_marks_raw_lines() {
        let recorder = Recorder::default();
        recorder.rename("/tmp/x1", "/workspace");
        recorder.record_line(RecordDirection::ToAgent, br#"{"z": 1.0,"cwd":"/tmp/x1/a"}"#);
        recorder.record_line(RecordDirection::ToClient, br#"{"id":"u-u-i-d"}"#);
        recorder.number_request(&Value::from("u-u-i-d"));
        recorder.record_note("a pause");
        recorder.record_line(RecordDirection::ToAgent, br#"{"half"#);
        recorder.record_line(RecordDirection::ToAgent, b"\xff!");
        recorder.record_line(RecordDirection::ToAgent, &[b'x'; 300]);
        let expected = [
            r#"{"to":"agent","message":{"z": 1.0,"cwd":"/workspace/a"}}"#,
            r#"{"to":"client","message":{"id":"agent-1"}}"#,
            r#"{"note":"a pause"}"#,
            r#"{"to":"agent","raw":"{\"half"}"#,
            r#"{"to":"agent","rawBytes":"\\xff!"}"#,
            r#"{"to":"agent","rawLength":300}"#,
        ];
        let transcript = recorder.transcript();
        assert_eq!(transcript.lines().collect::<Vec<_>>(), expected);
        assert_eq!(
            recorder.lines(RecordDirection::ToClient),
            [r#"{"id":"u-u-i-d"}"#]
        );
    }
}
