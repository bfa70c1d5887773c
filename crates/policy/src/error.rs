//! The errors of policies and grant files.

/// An error in a policy or in a grant file.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The text is too large or does not parse.
    #[error("{origin}: {message}")]
    Syntax {
        /// The name of the file or source.
        origin: String,
        /// The problem and its position.
        message: String,
    },
    /// A pattern is invalid.
    #[error("invalid pattern {pattern:?}: {message}")]
    Pattern {
        /// The rejected pattern; a long one is cut.
        pattern: String,
        /// The reason.
        message: String,
    },
    /// A rule is invalid.
    #[error("rule {index}: {message}")]
    Rule {
        /// The index of the rule, from 0.
        index: usize,
        /// The problem and its fix.
        message: String,
    },
    /// The policy exceeds a limit.
    #[error("{message}")]
    Limit {
        /// The quantity that is too large, and the limit.
        message: String,
    },
}
