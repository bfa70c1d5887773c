//! Prints one skill: its properties, its path and its text.

use std::{fmt::Write as _, process::ExitCode};

use anyhow::Result;
use harn_terminal::{
    console::{print, print_error},
    paint::escape_controls,
    text,
};
use harn_tools::skills::{Skill, SkillCard, WorkspaceSkills};

use crate::cli::one_line;

pub(super) fn run(skills: &WorkspaceSkills, id: &str) -> Result<ExitCode> {
    let registry = skills.registry();
    let Some(skill) = registry.find(id) else {
        let ids = registry.skills().iter().map(|skill| skill.id.as_str());
        let near = text::did_you_mean(id, ids);
        print_error(format_args!(
            "unknown skill {id}; {near}`harn-serve skills list` lists all"
        ));
        return Ok(ExitCode::FAILURE);
    };
    let body = skills.text(skill)?.body;
    let mut out = format_head(skill);
    for shadow in registry.shadowed().iter().filter(|one| one.id == skill.id) {
        write_line(
            &mut out,
            "hides",
            &format!("{} ({})", shadow.origin, shadow.loser),
        );
    }
    // Writing to a string does not fail.
    let _ = write!(out, "\n{}", escape_controls(&body));
    if !out.ends_with('\n') {
        out.push('\n');
    }
    print(&out)?;
    Ok(ExitCode::SUCCESS)
}

fn format_head(skill: &Skill) -> String {
    let card = &skill.card;
    let mut out = String::new();
    write_line(&mut out, "id", &skill.id);
    write_line(&mut out, "layer", skill.layer.as_str());
    write_line(&mut out, "origin", &skill.origin.to_string());
    if card.user_invocable {
        write_line(&mut out, "command", &format_usage(skill));
    }
    for (name, value) in card_properties(card) {
        write_line(&mut out, name, &value);
    }
    for hook in &card.hooks {
        write_line(
            &mut out,
            "hook",
            &format!("{}: {}", hook.event, hook.command),
        );
    }
    for server in &card.mcp_servers {
        write_line(&mut out, "mcp server", &server.name);
    }
    out
}

fn format_usage(skill: &Skill) -> String {
    match &skill.card.argument_hint {
        Some(hint) => format!("/{} {hint}", skill.command()),
        None => format!("/{}", skill.command()),
    }
}

/// Returns the non-empty properties of a card.
fn card_properties(card: &SkillCard) -> Vec<(&'static str, String)> {
    let optional = |text: &Option<String>| text.clone().unwrap_or_default();
    let models = match card.disable_model_invocation {
        true => "never; the user runs it",
        false => "",
    };
    let said = [
        ("short", card.short.clone()),
        ("description", card.description.clone()),
        ("when to use", card.when_to_use.clone()),
        ("paths", card.paths.join(" ")),
        ("allowed tools", card.allowed_tools.join(" ")),
        ("used by models", models.to_owned()),
        ("context", optional(&card.context)),
        ("agent", optional(&card.agent)),
        ("model", optional(&card.model)),
        ("effort", optional(&card.effort)),
        ("shell", optional(&card.shell)),
    ];
    let said = said.into_iter().filter(|(_, value)| !value.is_empty());
    said.collect()
}

fn write_line(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(out, "{:<14} {}", format!("{name}:"), one_line(value));
}
