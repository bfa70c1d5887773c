//! What changed of a document: operations, as few as tell it.

use serde::Serialize;
use serde_json::Value;

use crate::wire::DocumentOperation;

/// How much may be told as changes; the document itself is told instead of more.
pub(crate) const MOST_BYTES: usize = 1024 * 1024;

/// What changed of a document since it was last told.
#[derive(Debug, Default)]
pub struct DocumentChanges {
    operations: Vec<DocumentOperation>,
    /// About how many bytes they are.
    held: usize,
    /// Something is gone, which no operation can say: the document has to be told anew.
    anew: bool,
}

/// A place in a document.
macro_rules! at {
    ($($step:expr),* $(,)?) => {
        vec![$($step.to_string()),*]
    };
}
pub(crate) use at;

impl DocumentChanges {
    /// Whether there is nothing to tell.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty() && !self.anew
    }

    /// The operations that tell it, in order; none where only the whole document can.
    #[must_use]
    pub fn operations(&self) -> Option<&[DocumentOperation]> {
        (!self.anew).then_some(&self.operations)
    }

    /// Puts a value in a place.
    pub(crate) fn set(&mut self, path: Vec<String>, value: &impl Serialize) {
        if self.anew {
            return;
        }
        let Ok(value) = serde_json::to_value(value) else {
            // Nothing in a document fails to be written; if it did, what was written instead would be wrong.
            self.tell_anew();
            return;
        };
        self.put(path, value);
    }

    fn put(&mut self, place: Vec<String>, new: Value) {
        let more = weight(&new);
        // What was put there a moment ago has not been told.
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
        self.hold(more);
    }

    /// Makes a text longer.
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
        self.hold(more.len());
    }

    fn hold(&mut self, more: usize) {
        self.held += more;
        if self.held > MOST_BYTES {
            self.tell_anew();
        }
    }

    /// Has the whole document told.
    pub(crate) fn tell_anew(&mut self) {
        self.anew = true;
        self.operations = Vec::new();
    }
}

/// About how many bytes an operation is beside its value.
const OPERATION: usize = 64;

/// About how many bytes a value is.
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
    fn what_follows_in_one_place_is_told_together() {
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
    fn what_is_too_much_is_told_anew() {
        let mut changes = DocumentChanges::default();
        let long = "x".repeat(MOST_BYTES / 4);
        // In one place there is one of them.
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
    fn what_is_told_anew_needs_no_operations() {
        let mut changes = DocumentChanges::default();
        assert!(changes.is_empty());
        changes.set(at!["status"], &"running");
        changes.tell_anew();
        changes.append(at!["error"], "more");
        assert!(!changes.is_empty());
        assert_eq!(changes.operations(), None);
    }
}
