//! Messages in both directions, and the operations that change a document.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ClientCommand, DocumentState};

/// A message from a client.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ClientMessage {
    /// Commands, which are executed in order.
    Commands {
        /// One or more commands.
        commands: Vec<ClientCommand>,
    },
}

/// A message to a client.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ServerMessage<'a> {
    /// The whole document; it replaces the client's copy.
    State {
        /// The document.
        state: &'a DocumentState,
    },
    /// The changes since the last message; to be applied all, or not at all if one of them does not fit.
    Delta {
        /// The operations, to be applied in order.
        operations: &'a [DocumentOperation],
    },
    /// An error in something that the client sent.
    Error {
        /// What was wrong, and what would be right.
        message: &'a str,
    },
}

/// A change of a document. No operation removes anything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[schemars(rename = "Operation")]
pub enum DocumentOperation {
    /// Sets the value at a path; the index after the last of a list makes the list longer.
    Set {
        /// The path: keys of objects, and indices of lists as digits.
        path: Vec<String>,
        /// The new value.
        value: Value,
    },
    /// Appends to a text.
    AppendText {
        /// The path of the text.
        path: Vec<String>,
        /// The text to append.
        value: String,
    },
}
