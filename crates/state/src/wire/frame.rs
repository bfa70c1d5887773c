//! Frames, both ways, and the operations that change a document.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ClientCommand, DocumentState};

/// What a client sends.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ClientMessage {
    /// What it wants, in order.
    Commands {
        /// One or more.
        commands: Vec<ClientCommand>,
    },
}

/// What a client is sent.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ServerMessage<'a> {
    /// The whole document; takes the place of whatever the client had.
    State {
        /// The document.
        state: &'a DocumentState,
    },
    /// What changed since the last frame; all of it, or none where an operation does not fit.
    Delta {
        /// To be applied in order.
        operations: &'a [DocumentOperation],
    },
    /// Something the client sent was wrong.
    Error {
        /// What was wrong, and what would be right.
        message: &'a str,
    },
}

/// A change of a document. There is none that removes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[schemars(rename = "Operation")]
pub enum DocumentOperation {
    /// Puts a value in a place; one behind the last of a list makes the list longer.
    Set {
        /// Where: keys of objects, and places in lists written as digits.
        path: Vec<String>,
        /// What.
        value: Value,
    },
    /// Makes a text longer.
    AppendText {
        /// Where the text is.
        path: Vec<String>,
        /// By what.
        value: String,
    },
}
