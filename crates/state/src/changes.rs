//! What changed of a document: operations, as few as tell it.

use serde::Serialize;
use serde_json::Value;

use crate::wire::Operation;

/// What changed of a document since it was last told.
#[derive(Debug, Default)]
pub struct Changes {
    operations: Vec<Operation>,
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

impl Changes {
    /// Whether there is nothing to tell.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty() && !self.anew
    }

    /// The operations that tell it, in order; none where only the whole document can.
    #[must_use]
    pub fn operations(&self) -> Option<&[Operation]> {
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
        // What was put there a moment ago has not been told.
        if let Some(Operation::Set { path, value }) = self.operations.last_mut()
            && *path == place
        {
            *value = new;
        } else {
            let (path, value) = (place, new);
            self.operations.push(Operation::Set { path, value });
        }
    }

    /// Makes a text longer.
    pub(crate) fn append(&mut self, place: Vec<String>, more: &str) {
        if self.anew || more.is_empty() {
            return;
        }
        if let Some(Operation::AppendText { path, value }) = self.operations.last_mut()
            && *path == place
        {
            value.push_str(more);
        } else {
            let (path, value) = (place, more.to_owned());
            self.operations.push(Operation::AppendText { path, value });
        }
    }

    /// Has the whole document told.
    pub(crate) fn tell_anew(&mut self) {
        self.anew = true;
        self.operations.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_follows_in_one_place_is_told_together() {
        let mut changes = Changes::default();
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
    fn what_is_told_anew_needs_no_operations() {
        let mut changes = Changes::default();
        assert!(changes.is_empty());
        changes.set(at!["status"], &"running");
        changes.tell_anew();
        changes.append(at!["error"], "more");
        assert!(!changes.is_empty());
        assert_eq!(changes.operations(), None);
    }
}
