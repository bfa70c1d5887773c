//! Grants: the narrowest rule that says of a call what somebody said of it. Compares whole; a grant covers
//! nothing that was not shown.

mod describe;
mod file;

use harn_model::{Grant, GrantEffect, GrantSubject, ToolKind};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::{
    Call, Standing,
    shell::{Doubt, Line},
};

pub use describe::describe;
pub(crate) use describe::{plain, shown};
pub use file::GrantFile;

/// Longer arguments are not remembered: nobody would see what they agree to.
const LONGEST_ARGUMENTS: usize = 1024;

/// The grant that covers exactly this call; none where nothing narrow enough can be said.
#[must_use]
pub fn narrow(call: &Call<'_>, effect: GrantEffect) -> Option<Grant> {
    let subject = subject(call)?;
    Some(named(effect, call.workspace, call.tool, subject))
}

/// The same grant, deciding otherwise.
#[must_use]
pub fn with_effect(grant: &Grant, effect: GrantEffect) -> Grant {
    named(effect, &grant.workspace, &grant.tool, grant.subject.clone())
}

/// Whether a grant covers a call.
#[must_use]
pub fn matches(grant: &Grant, call: &Call<'_>) -> bool {
    is_near(grant, call) && subject(call).is_some_and(|subject| covers(grant, call, &subject))
}

/// The first of a call's grants with this effect that covers it.
pub(crate) fn find<'a>(call: &Call<'a>, effect: GrantEffect) -> Option<&'a Grant> {
    let grants = call.grants.iter();
    let mut near = grants.filter(|grant| grant.effect == effect && is_near(grant, call));
    let first = near.next()?;
    let subject = subject(call)?;
    let mut near = std::iter::once(first).chain(near);
    near.find(|grant| covers(grant, call, &subject))
}

fn is_near(grant: &Grant, call: &Call<'_>) -> bool {
    grant.tool == call.tool && grant.workspace == call.workspace
}

/// Whether a grant of this tool and workspace covers a call that is about `subject`.
fn covers(grant: &Grant, call: &Call<'_>, subject: &GrantSubject) -> bool {
    match (&grant.subject, subject) {
        (GrantSubject::Paths(granted), GrantSubject::Paths(paths)) => {
            // Which file becomes which is not remembered, so less than all would be something else.
            let whole = call.kind != Some(ToolKind::Move) || granted.len() == paths.len();
            whole && paths.iter().all(|path| granted.contains(path))
        }
        // The text itself covers whatever would be remembered of it.
        (GrantSubject::Line(line), GrantSubject::Argv(_)) => {
            call.command.is_some_and(|(text, _)| text == line)
        }
        (granted, subject) => granted == subject,
    }
}

/// What a call is about, for a grant.
fn subject(call: &Call<'_>) -> Option<GrantSubject> {
    match call.command {
        Some((text, line)) => {
            // A command may do something else in another folder, and a grant has no place to say which.
            let at_home = |path: &crate::Located| path.info.workspace_path.as_deref() == Some(".");
            let at_home = call.paths.iter().all(at_home);
            at_home.then(|| of_command(text, line)).flatten()
        }
        None if call.paths.is_empty() => {
            let arguments = sorted(call.arguments);
            let short = arguments.to_string().len() <= LONGEST_ARGUMENTS;
            short.then_some(GrantSubject::Arguments(arguments))
        }
        None => of_paths(call),
    }
}

fn of_command(text: &str, line: &Line) -> Option<GrantSubject> {
    let told = |doubt: &Doubt| match doubt {
        Doubt::Environment(_) => true,
        Doubt::TooLong | Doubt::TooMuch | Doubt::Unparsable | Doubt::Dynamic(_) => false,
    };
    if !line.doubts.iter().all(told) || line.commands.is_empty() {
        return None;
    }
    match line.commands.as_slice() {
        // What a here-document or another line feeds a program stands in no word of it.
        [command]
            if line.doubts.is_empty()
                && line.redirects.is_empty()
                && !text.trim().contains(['<', '\n', '\r']) =>
        {
            Some(GrantSubject::Argv(command.argv.clone()))
        }
        _ => Some(GrantSubject::Line(text.to_owned())),
    }
}

fn of_paths(call: &Call<'_>) -> Option<GrantSubject> {
    // What a tool runs is not in the names of the files it is given.
    if call.kind == Some(ToolKind::Execute) {
        return None;
    }
    let inside = |path: &crate::Located| {
        let inside = path.standing == Standing::Inside && !path.protected;
        inside.then(|| path.info.display().to_owned())
    };
    let paths: Option<Vec<String>> = call.paths.iter().map(inside).collect();
    let mut paths = paths?;
    paths.sort_unstable();
    paths.dedup();
    Some(GrantSubject::Paths(paths))
}

/// A grant with the name that follows from what it says.
pub(crate) fn named(
    effect: GrantEffect,
    workspace: &str,
    tool: &str,
    subject: GrantSubject,
) -> Grant {
    let mut grant = Grant {
        id: String::new(),
        effect,
        workspace: workspace.to_owned(),
        tool: tool.to_owned(),
        subject,
    };
    let mut all = serde_json::to_value(&grant).unwrap_or_default();
    if let Value::Object(members) = &mut all {
        members.remove("id");
    }
    let digest = Sha256::digest(sorted(&all).to_string());
    let hex: String = digest
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    grant.id = format!("g-{hex}");
    grant
}

/// The same value whatever order its members were given in.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort_unstable();
            let members = names.into_iter().filter_map(|name| {
                let member = members.get(name)?;
                Some((name.clone(), sorted(member)))
            });
            Value::Object(members.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
