//! Errors of scenario files, with the position and the reason for their author.

use std::{io, path::PathBuf};

use harn_tools::yaml::YamlFault;

/// The reason why a scenario file was rejected.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file could not be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is larger than a scenario may be.
    #[error("{file}: a scenario file must not be larger than 1 MiB")]
    TooLarge {
        /// The file.
        file: String,
    },
    /// The content of the file is wrong.
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
