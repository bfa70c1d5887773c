//! Problems of skills, manifests and their folders, with their location, for the people who fix them.

use std::{fmt, path::PathBuf};

/// A problem of a skill, a manifest or a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillProblem {
    /// The file or folder; `None` for a skill of the host.
    pub path: Option<PathBuf>,
    /// The line, from 1, if the problem has one.
    pub line: Option<usize>,
    /// The effect of the problem.
    pub severity: ProblemSeverity,
    /// The problem, and how to fix it.
    pub message: String,
}

/// The effect of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemSeverity {
    /// The skill is not offered.
    Error,
    /// The skill is offered all the same.
    Warning,
}

impl ProblemSeverity {
    /// Returns its name.
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
