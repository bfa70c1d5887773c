//! Answers of a host that cannot be used: what would be right, and never a value, which may be a secret.

/// Why an answer cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BridgeAnswerError {
    /// It holds no list.
    #[error("expected a list, or an object with the list `{0}`")]
    NoList(&'static str),
    /// It is no object.
    #[error("expected an object")]
    NotAnObject,
    /// An entry of the list is no object; counted from one.
    #[error("entry {0}: expected an object")]
    Entry(usize),
    /// An entry of the list lacks a name.
    #[error("entry {at}: expected `{member}` to be a text that is not blank")]
    Unnamed {
        /// Which, counted from one.
        at: usize,
        /// What it lacks.
        member: &'static str,
    },
    /// It lacks a name.
    #[error("expected `{0}` to be a text that is not blank")]
    Nameless(&'static str),
    /// It lacks a text.
    #[error("expected `{0}` to be a text")]
    NoText(&'static str),
    /// A member is something else than an object.
    #[error("expected `{0}` to be an object")]
    NoObject(&'static str),
    /// A capability does not say which operations it has.
    #[error(
        "expected each capability to be a list of operations, or an object with `ops` or `operations`"
    )]
    Capability,
    /// An operation is no name.
    #[error("expected each operation to be a text that is not blank")]
    Operation,
}

/// What serde wanted, from words that also repeat the value.
pub(crate) fn without_value(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.rsplit_once(", expected ") {
        Some((_, wanted)) => format!("expected {wanted}"),
        // The name is one of ours.
        None if message.starts_with("missing field") => message,
        None => "of another shape than it should be".to_owned(),
    }
}
