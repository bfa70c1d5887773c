//! Prints the problems of skills, one per line; fails if one makes a skill unusable.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Result, anyhow};
use harn_terminal::console::{print, wrong_use};
use harn_tools::skills::{ProblemSeverity, SkillProblem, SkillRegistry, WorkspaceSkills};

use crate::cli::one_line;

/// Checks the skills of a session.
pub(super) fn all(skills: &WorkspaceSkills) -> Result<ExitCode> {
    let registry = skills.registry();
    told(registry.skills().len(), registry.problems())
}

/// Checks the skills in files and folders.
pub(super) fn these(paths: &[PathBuf]) -> Result<ExitCode> {
    let mut count = 0;
    let mut problems = Vec::new();
    for path in paths {
        let found = look(path)?;
        count += found.skills().len();
        problems.extend(found.problems().iter().cloned());
    }
    told(count, &problems)
}

fn look(path: &Path) -> Result<SkillRegistry> {
    let found = WorkspaceSkills::check(path);
    if found.skills().is_empty() && found.problems().is_empty() {
        let wrong = anyhow!(
            "{}: there is no SKILL.md here, nor in a folder in it",
            path.display()
        );
        return Err(wrong_use(wrong));
    }
    Ok(found)
}

fn told(skills: usize, problems: &[SkillProblem]) -> Result<ExitCode> {
    let mut out = String::new();
    for problem in problems {
        // Writing to a string does not fail.
        let _ = writeln!(out, "{}", one_line(&problem.to_string()));
    }
    let errors = problems
        .iter()
        .filter(|one| one.severity == ProblemSeverity::Error);
    let errors = errors.count();
    let warnings = problems.len() - errors;
    let _ = writeln!(
        out,
        "{}, {}, {}",
        number(skills, "skill"),
        number(errors, "error"),
        number(warnings, "warning")
    );
    print(&out)?;
    Ok(match errors {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

fn number(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}
