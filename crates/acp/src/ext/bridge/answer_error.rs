//! Errors for invalid answers of a host. A message states what is expected and never quotes a value, which
//! may be a secret.

/// The reason why an answer is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BridgeAnswerError {
    /// The answer contains no list.
    #[error("expected a list, or an object with the list `{0}`")]
    NoList(&'static str),
    /// The answer is no object.
    #[error("expected an object")]
    NotAnObject,
    /// An entry of the list is no object; the index counts from one.
    #[error("entry {0}: expected an object")]
    Entry(usize),
    /// An entry of the list lacks a name.
    #[error("entry {at}: expected `{member}` to be a string that is not blank")]
    Unnamed {
        /// The index of the entry, from one.
        at: usize,
        /// The missing member.
        member: &'static str,
    },
    /// The answer lacks a name.
    #[error("expected `{0}` to be a string that is not blank")]
    Nameless(&'static str),
    /// The answer lacks a text.
    #[error("expected `{0}` to be a string")]
    NoText(&'static str),
    /// A member is not an object.
    #[error("expected `{0}` to be an object")]
    NoObject(&'static str),
    /// A capability does not list its operations.
    #[error(
        "expected each capability to be a list of operations, or an object with `ops` or `operations`"
    )]
    Capability,
    /// An operation is not a name.
    #[error("expected each operation to be a string that is not blank")]
    Operation,
}

/// Returns what serde expected, without the value that serde's message quotes.
pub(crate) fn describe_without_value(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.rsplit_once(", expected ") {
        Some((_, wanted)) => format!("expected {wanted}"),
        // The field name is one of ours, so it is no secret.
        None if message.starts_with("missing field") => message,
        None => "unexpected shape".to_owned(),
    }
}
