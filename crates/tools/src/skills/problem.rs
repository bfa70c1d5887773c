//! What is wrong with a skill, a manifest or a folder of them, and where: for people who mend it.

use std::{fmt, path::PathBuf};

/// Something wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillProblem {
    /// The file or folder; none where a host is to blame.
    pub path: Option<PathBuf>,
    /// The line, from 1, where one is to blame.
    pub line: Option<usize>,
    /// How bad it is.
    pub severity: ProblemSeverity,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemSeverity {
    /// The skill is not offered.
    Error,
    /// It is offered all the same.
    Warning,
}

impl ProblemSeverity {
    /// In one word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl SkillProblem {
    pub(super) fn error(path: impl Into<PathBuf>, message: impl fmt::Display) -> Self {
        Self {
            path: Some(path.into()),
            line: None,
            severity: ProblemSeverity::Error,
            message: message.to_string(),
        }
    }

    pub(super) fn warning(path: impl Into<PathBuf>, message: impl fmt::Display) -> Self {
        Self {
            severity: ProblemSeverity::Warning,
            ..Self::error(path, message)
        }
    }
}

impl fmt::Display for SkillProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "{}", path.display())?,
            None => write!(f, "host")?,
        }
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}: {}", self.severity.as_str(), self.message)
    }
}
