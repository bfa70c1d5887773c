//! Lists the skills of a directory, one per line.

use std::{borrow::Cow, process::ExitCode};

use anyhow::Result;
use harn_terminal::{
    console::{print, print_note},
    text,
};
use harn_tools::skills::{ProblemSeverity, SkillRegistry, WorkspaceSkills};
use serde::Serialize;

use crate::cli::{one_line, print_json};

/// The width of a skill's short description.
const SHORT: usize = 80;

pub(super) fn run(skills: &WorkspaceSkills, json: bool) -> Result<ExitCode> {
    let registry = skills.registry();
    let rows = build_rows(&registry);
    if json {
        return print_json(&rows);
    }
    match rows.is_empty() {
        true => print("no skills; docs/skills.md lists the folders for them\n")?,
        false => print(&format_table(&rows))?,
    }
    let problems = registry.problems();
    let errors = problems
        .iter()
        .filter(|one| one.severity == ProblemSeverity::Error);
    match (errors.count(), problems.len()) {
        (0, 0) => {}
        (0, _) => print_note("there are warnings; `harn-serve skills check` lists them"),
        (_, _) => {
            print_note("some skills cannot be read; `harn-serve skills check` lists the reasons")
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A skill as JSON.
#[derive(Serialize)]
struct SkillListRow {
    id: String,
    layer: &'static str,
    short: String,
    origin: String,
    command: Option<String>,
    /// The layer of the skill that hides this one.
    shadowed_by: Option<&'static str>,
}

/// Returns the active skills, each followed by those that it hides, by id.
fn build_rows(registry: &SkillRegistry) -> Vec<SkillListRow> {
    let mut rows = Vec::new();
    for skill in registry.skills() {
        rows.push(SkillListRow {
            id: skill.id.clone(),
            layer: skill.layer.as_str(),
            short: skill.card.short.clone(),
            origin: skill.origin.to_string(),
            command: skill.card.user_invocable.then(|| skill.command()),
            shadowed_by: None,
        });
        let hidden = registry.shadowed().iter().filter(|one| one.id == skill.id);
        rows.extend(hidden.map(|shadow| SkillListRow {
            id: shadow.id.clone(),
            layer: shadow.loser.as_str(),
            short: String::new(),
            origin: shadow.origin.to_string(),
            command: None,
            shadowed_by: Some(shadow.winner.as_str()),
        }));
    }
    rows
}

fn format_table(rows: &[SkillListRow]) -> String {
    let rows: Vec<[Cow<'_, str>; 3]> = rows
        .iter()
        .map(|row| {
            let short = match row.shadowed_by {
                None => text::cut(&one_line(&row.short), SHORT).into_owned(),
                Some(layer) => format!("(hidden by the {layer} skill) {}", one_line(&row.origin)),
            };
            [one_line(&row.id).into(), row.layer.into(), short.into()]
        })
        .collect();
    text::table(["ID", "LAYER", "SHORT"], &rows)
}
