//! The changes of a document, as few operations as possible.

use serde::Serialize;
use serde_json::Value;

use crate::wire::DocumentOperation;

/// The maximum size of changes, in bytes; above it, the whole document is sent instead.
pub(crate) const MOST_BYTES: usize = 1024 * 1024;

/// The changes of a document since it was last sent.
#[derive(Debug, Default)]
pub struct DocumentChanges {
    operations: Vec<DocumentOperation>,
    /// Their approximate size in bytes.
    held: usize,
    /// The whole document must be sent: something was removed, which no operation expresses, or the changes are
    /// too large.
    anew: bool,
}

/// Builds a path in a document.
macro_rules! at {
    ($($step:expr),* $(,)?) => {
        vec![$($step.to_string()),*]
    };
}
pub(crate) use at;

impl DocumentChanges {
    /// Whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty() && !self.anew
    }

    /// Returns the operations in order; `None` if the whole document must be sent.
    pub fn operations(&self) -> Option<&[DocumentOperation]> {
        (!self.anew).then_some(&self.operations)
    }

    /// Sets the value at a path.
    pub(crate) fn set(&mut self, path: Vec<String>, value: &impl Serialize) {
        if self.anew {
            return;
        }
        let Ok(value) = serde_json::to_value(value) else {
            // Every value in a document serialises; if one did not, an operation without it would be wrong.
            self.require_whole_document();
            return;
        };
        self.put(path, value);
    }

    fn put(&mut self, place: Vec<String>, new: Value) {
        let more = weight(&new);
        // A value that was just set at the same path has not been sent.
        if let Some(DocumentOperation::Set { path, value }) = self.operations.last_mut()
            && *path == place
        {
            self.held -= weight(value);
            *value = new;
        } else {
            let (path, value) = (place, new);
            self.operations.push(DocumentOperation::Set { path, value });
            self.held += OPERATION;
        }
        self.add_size(more);
    }

    /// Appends to the text at a path.
    pub(crate) fn append(&mut self, place: Vec<String>, more: &str) {
        if self.anew || more.is_empty() {
            return;
        }
        if let Some(DocumentOperation::AppendText { path, value }) = self.operations.last_mut()
            && *path == place
        {
            value.push_str(more);
        } else {
            let (path, value) = (place, more.to_owned());
            self.operations
                .push(DocumentOperation::AppendText { path, value });
            self.held += OPERATION;
        }
        self.add_size(more.len());
    }

    fn add_size(&mut self, more: usize) {
        self.held += more;
        if self.held > MOST_BYTES {
            self.require_whole_document();
        }
    }

    /// Requires that the whole document is sent.
    pub(crate) fn require_whole_document(&mut self) {
        self.anew = true;
        self.operations = Vec::new();
    }
}

/// The approximate size of an operation without its value, in bytes.
const OPERATION: usize = 64;

/// Returns the approximate size of a value in bytes.
fn weight(value: &Value) -> usize {
    const NODE: usize = 8;
    NODE + match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(fields) => fields.iter().map(|(k, v)| k.len() + weight(v)).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn successive_changes_at_one_path_are_merged() {
        let mut changes = DocumentChanges::default();
        changes.append(at!["messages", 3, "content"], "Hel");
        changes.append(at!["messages", 3, "content"], "lo");
        changes.set(at!["status"], &"running");
        changes.set(at!["status"], &"idle");
        changes.append(at!["messages", 3, "content"], "");
        changes.append(at!["messages", 3, "content"], "!");
        let told = serde_json::to_value(changes.operations().unwrap()).unwrap();
        let content = json!(["messages", "3", "content"]);
        assert_eq!(
            told,
            json!([
                {"type": "append-text", "path": content, "value": "Hello"},
                {"type": "set", "path": ["status"], "value": "idle"},
                {"type": "append-text", "path": content, "value": "!"},
            ])
        );
    }

    #[test]
    fn too_many_changes_become_a_whole_document() {
        let mut changes = DocumentChanges::default();
        let long = "x".repeat(MOST_BYTES / 4);
        // Of one path only the last value is stored.
        for _ in 0..100 {
            changes.set(at!["messages", 0], &long);
        }
        assert!(changes.operations().is_some());
        for place in 1..100 {
            changes.set(at!["messages", place], &long);
        }
        assert_eq!(changes.operations(), None);
        let mut changes = DocumentChanges::default();
        for _ in 0..8 {
            changes.append(at!["messages", 0, "content"], &long);
        }
        assert_eq!(changes.operations(), None);
    }

    #[test]
    fn a_whole_document_needs_no_operations() {
        let mut changes = DocumentChanges::default();
        assert!(changes.is_empty());
        changes.set(at!["status"], &"running");
        changes.require_whole_document();
        changes.append(at!["error"], "more");
        assert!(!changes.is_empty());
        assert_eq!(changes.operations(), None);
    }
}
