//! Prints one skill: its properties, its path and its text.

use std::{fmt::Write as _, process::ExitCode};

use anyhow::Result;
use harn_terminal::{
    console::{complain, print},
    paint::visible,
    text,
};
use harn_tools::skills::{Skill, SkillCard, WorkspaceSkills};

use crate::cli::one_line;

pub(super) fn run(skills: &WorkspaceSkills, id: &str) -> Result<ExitCode> {
    let registry = skills.registry();
    let Some(skill) = registry.find(id) else {
        let ids = registry.skills().iter().map(|skill| skill.id.as_str());
        let near = text::did_you_mean(id, ids);
        complain(format_args!(
            "there is no skill {id}; {near}`harn-serve skills list` lists them"
        ));
        return Ok(ExitCode::FAILURE);
    };
    let body = skills.body(skill)?;
    let mut out = head(skill);
    for shadow in registry.shadowed().iter().filter(|one| one.id == skill.id) {
        line(
            &mut out,
            "hides",
            &format!("{} ({})", shadow.origin, shadow.loser),
        );
    }
    // Writing to a string does not fail.
    let _ = write!(out, "\n{}", visible(&body));
    if !out.ends_with('\n') {
        out.push('\n');
    }
    print(&out)?;
    Ok(ExitCode::SUCCESS)
}

fn head(skill: &Skill) -> String {
    let card = &skill.card;
    let mut out = String::new();
    line(&mut out, "id", &skill.id);
    line(&mut out, "layer", skill.layer.as_str());
    line(&mut out, "origin", &skill.origin.to_string());
    if card.user_invocable {
        line(&mut out, "command", &usage(skill));
    }
    for (name, value) in said(card) {
        line(&mut out, name, &value);
    }
    for hook in &card.hooks {
        line(
            &mut out,
            "hook",
            &format!("{}: {}", hook.event, hook.command),
        );
    }
    for server in &card.mcp_servers {
        line(&mut out, "mcp server", &server.name);
    }
    out
}

fn usage(skill: &Skill) -> String {
    match &skill.card.argument_hint {
        Some(hint) => format!("/{} {hint}", skill.command()),
        None => format!("/{}", skill.command()),
    }
}

/// Returns the non-empty properties of a card.
fn said(card: &SkillCard) -> Vec<(&'static str, String)> {
    let optional = |text: &Option<String>| text.clone().unwrap_or_default();
    let models = match card.disable_model_invocation {
        true => "never by themselves",
        false => "",
    };
    let said = [
        ("short", card.short.clone()),
        ("description", card.description.clone()),
        ("when to use", card.when_to_use.clone()),
        ("paths", card.paths.join(" ")),
        ("allowed tools", card.allowed_tools.join(" ")),
        ("models use it", models.to_owned()),
        ("context", optional(&card.context)),
        ("agent", optional(&card.agent)),
        ("model", optional(&card.model)),
        ("effort", optional(&card.effort)),
        ("shell", optional(&card.shell)),
    ];
    let said = said.into_iter().filter(|(_, value)| !value.is_empty());
    said.collect()
}

fn line(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(out, "{:<14} {}", format!("{name}:"), one_line(value));
}
