//! What can be wrong with a policy or with what is remembered.

/// A policy, or a file of grants, cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// It cannot be read.
    #[error("{origin}: {message}")]
    Syntax {
        /// Which file.
        origin: String,
        /// What is wrong, and where.
        message: String,
    },
    /// A pattern in it is none.
    #[error("the pattern {pattern:?} cannot be used: {message}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// Why.
        message: String,
    },
    /// A rule in it is none.
    #[error("rule {index}: {message}")]
    Rule {
        /// Its place, from 0.
        index: usize,
        /// What is wrong, and what would be right.
        message: String,
    },
    /// It is more than is followed.
    #[error("{message}")]
    Limit {
        /// What is too much, and how much would not be.
        message: String,
    },
}
