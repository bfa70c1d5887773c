//! Why a scenario file was refused, said so that its author can act on it.

use std::{io, path::PathBuf};

use harn_tools::yaml::YamlFault;

/// A scenario file was refused.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// It could not be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is too big to be a scenario.
    #[error("{file}: a scenario file holds at most 1 MiB")]
    TooLarge {
        /// The file.
        file: String,
    },
    /// What it says is wrong.
    #[error("{file}:{line}:{column}: {reason}")]
    Invalid {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// What is wrong, and what would be right.
        reason: String,
    },
}

impl ScenarioError {
    pub(super) fn invalid(file: &str, fault: YamlFault) -> Self {
        Self::Invalid {
            file: file.to_owned(),
            line: fault.at.line,
            column: fault.at.column,
            reason: fault.reason,
        }
    }
}
