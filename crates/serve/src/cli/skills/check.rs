//! Prints the problems of skills, one per line; fails if one makes a skill unusable.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Result, anyhow};
use harn_terminal::console::{as_command_line_error, print};
use harn_tools::skills::{ProblemSeverity, SkillProblem, SkillRegistry, WorkspaceSkills};

use crate::cli::one_line;

/// Checks the skills of a session.
pub(super) fn check_session_skills(skills: &WorkspaceSkills) -> Result<ExitCode> {
    let registry = skills.registry();
    print_problems(registry.skills().len(), registry.problems())
}

/// Checks the skills in files and folders.
pub(super) fn check_paths(paths: &[PathBuf]) -> Result<ExitCode> {
    let mut count = 0;
    let mut problems = Vec::new();
    for path in paths {
        let found = find_skills(path)?;
        count += found.skills().len();
        problems.extend(found.problems().iter().cloned());
    }
    print_problems(count, &problems)
}

fn find_skills(path: &Path) -> Result<SkillRegistry> {
    let found = WorkspaceSkills::check(path);
    if found.skills().is_empty() && found.problems().is_empty() {
        let wrong = anyhow!(
            "{}: no SKILL.md in this folder or its direct subfolders",
            path.display()
        );
        return Err(as_command_line_error(wrong));
    }
    Ok(found)
}

fn print_problems(skills: usize, problems: &[SkillProblem]) -> Result<ExitCode> {
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
        format_count(skills, "skill"),
        format_count(errors, "error"),
        format_count(warnings, "warning")
    );
    print(&out)?;
    Ok(match errors {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

fn format_count(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}
