//! Grants: the narrowest rule that repeats a person's answer about a call. Compares whole values; a grant
//! covers nothing that was not shown.

mod describe;
mod file;

use harn_model::{Grant, GrantEffect, GrantSubject, ToolKind};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::{
    PathScope, PolicyCall, decide,
    shell::{LineDoubt, ShellLine},
    word_table::WordTable,
};

pub use describe::{describe, describe_whole, quote_words, visible_line, visible_lines};
pub use file::GrantFile;

/// Longer arguments are not remembered: a person would not see what they agree to.
const LONGEST_ARGUMENTS: usize = 1024;
/// The bytes of the digest in a grant's id: short enough to type, too long to find by trying.
const NAME_BYTES: usize = 8;
/// Arguments of an edit that are content of a file and have no other effect.
const CONTENT: WordTable =
    WordTable("content text old_text new_text old_string new_string patch diff edits");

/// Returns the grant that covers exactly this call, or none if no grant is narrow enough.
#[must_use]
pub fn grant_for_call(call: &PolicyCall<'_>, effect: GrantEffect) -> Option<Grant> {
    if effect == GrantEffect::Allow && decide::must_ask(call) {
        return None;
    }
    if call.kind == Some(ToolKind::Move) {
        // A grant does not store which file becomes which, so it would also cover the way back.
        return None;
    }
    let subject = subject_of_call(call)?;
    let grant = Grant {
        id: String::new(),
        effect,
        workspace: call.workspace.to_owned(),
        tool: call.tool.to_owned(),
        kind: call.kind,
        subject,
    };
    Some(with_computed_id(grant))
}

/// Returns the same grant with another effect.
#[must_use]
pub fn with_effect(grant: &Grant, effect: GrantEffect) -> Grant {
    with_computed_id(Grant {
        effect,
        ..grant.clone()
    })
}

/// Whether a grant covers a call.
pub fn matches(grant: &Grant, call: &PolicyCall<'_>) -> bool {
    let subjects = || subjects(call, grant.effect);
    has_same_scope(grant, call)
        && subjects()
            .iter()
            .any(|subject| covers(grant, call, subject))
}

/// Returns the first of a call's grants with this effect that covers it.
pub(crate) fn find<'a>(call: &PolicyCall<'a>, effect: GrantEffect) -> Option<&'a Grant> {
    let grants = call.grants.iter();
    let mut near = grants.filter(|grant| grant.effect == effect && has_same_scope(grant, call));
    let first = near.next()?;
    let subjects = subjects(call, effect);
    let mut near = std::iter::once(first).chain(near);
    near.find(|grant| subjects.iter().any(|subject| covers(grant, call, subject)))
}

/// Returns the subjects of a call for grants of this effect. An answer "never" about a command also covers the command
/// with more access.
fn subjects(call: &PolicyCall<'_>, effect: GrantEffect) -> Vec<GrantSubject> {
    let mut subjects = Vec::from_iter(subject_of_call(call));
    if effect == GrantEffect::Deny
        && call.access().is_more()
        && let Some((text, line)) = call.command
    {
        subjects.extend(command_subject(text, line));
    }
    subjects
}

fn has_same_scope(grant: &Grant, call: &PolicyCall<'_>) -> bool {
    // A file may still contain a grant that allows a move, which is ignored; one that denies it counts.
    let counts = grant.effect == GrantEffect::Deny || call.kind != Some(ToolKind::Move);
    counts
        && grant.tool == call.tool
        && grant.kind == call.kind
        && grant.workspace == call.workspace
}

/// Whether a grant for this tool and workspace covers a call about `subject`.
fn covers(grant: &Grant, call: &PolicyCall<'_>, subject: &GrantSubject) -> bool {
    match (&grant.subject, subject) {
        (GrantSubject::Paths(granted), GrantSubject::Paths(paths)) => {
            // A grant does not store which file becomes which, so fewer paths would be another move.
            let whole = call.kind != Some(ToolKind::Move) || granted.len() == paths.len();
            whole && paths.iter().all(|path| granted.contains(path))
        }
        // A grant for a text also covers a call for which only the words would be stored.
        (GrantSubject::Line(line), GrantSubject::Argv(_)) => {
            call.command.is_some_and(|(text, _)| text == line)
        }
        (granted, subject) => granted == subject,
    }
}

/// Returns the subject of a call, or none if no grant can cover it.
fn subject_of_call(call: &PolicyCall<'_>) -> Option<GrantSubject> {
    match call.command {
        Some((text, line)) => {
            // A command may do something else in another folder, and a grant does not store the folder.
            let at_home =
                |path: &crate::LocatedPath| path.info.workspace_path.as_deref() == Some(".");
            let shown = call.paths.iter().all(at_home) && is_only_command(call.arguments, text);
            let subject = shown.then(|| command_subject(text, line)).flatten()?;
            match call.access().is_more() {
                false => Some(subject),
                // The access is part of the answer.
                true => short_arguments(call.arguments),
            }
        }
        None if call.paths.is_empty() => short_arguments(call.arguments),
        None => paths_subject(call),
    }
}

/// Returns whole arguments as a subject, if a person can see all of them.
fn short_arguments(arguments: &Value) -> Option<GrantSubject> {
    let arguments = sort_members(arguments);
    let short = arguments.to_string().len() <= LONGEST_ARGUMENTS;
    short.then_some(GrantSubject::Arguments(arguments))
}

/// Whether the arguments are only this line, or the words it was made of, and the access that it requests: no
/// variables, no input.
fn is_only_command(arguments: &Value, text: &str) -> bool {
    let Value::Object(members) = arguments else {
        return false;
    };
    let mut names = members.keys();
    names.all(|name| matches!(name.as_str(), "command" | "network" | "sandbox"))
        && match members.get("command") {
            Some(Value::String(line)) => line == text,
            Some(Value::Array(words)) => words.iter().all(Value::is_string),
            _ => false,
        }
}

fn command_subject(text: &str, line: &ShellLine) -> Option<GrantSubject> {
    let told = |doubt: &LineDoubt| match doubt {
        LineDoubt::Environment(_) => true,
        LineDoubt::TooLong | LineDoubt::TooMuch | LineDoubt::Unparsable | LineDoubt::Dynamic(_) => {
            false
        }
    };
    if !line.doubts.iter().all(told) || line.commands.is_empty() {
        return None;
    }
    match line.commands.as_slice() {
        // Input from a here-document or another line is not among the words of a program.
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

fn paths_subject(call: &PolicyCall<'_>) -> Option<GrantSubject> {
    // The names of its files do not show what a tool runs.
    if call.kind == Some(ToolKind::Execute) || !is_only_paths(call) {
        return None;
    }
    let inside = |path: &crate::LocatedPath| {
        let inside = path.standing == PathScope::Inside && !path.protected;
        inside.then(|| path.info.display().to_owned())
    };
    let paths: Option<Vec<String>> = call.paths.iter().map(inside).collect();
    let mut paths = paths?;
    paths.sort_unstable();
    paths.dedup();
    Some(GrantSubject::Paths(paths))
}

/// Whether the arguments are only declared paths, plus the content of a file in an edit.
fn is_only_paths(call: &PolicyCall<'_>) -> bool {
    let declared = |value: &Value| {
        let mut paths = call.paths.iter();
        value
            .as_str()
            .is_some_and(|text| paths.any(|path| path.info.input == text))
    };
    let edits = call.kind == Some(ToolKind::Edit);
    match call.arguments {
        Value::Null => true,
        Value::Object(members) => members.iter().all(|(name, value)| {
            let several = || {
                let mut values = value.as_array().into_iter().flatten();
                value.is_array() && values.all(declared)
            };
            declared(value) || several() || (edits && is_content(name, value))
        }),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => false,
    }
}

/// Whether an argument is content of a file; a list may contain several edits.
fn is_content(name: &str, value: &Value) -> bool {
    let is_edit = |edit: &Value| {
        let mut members = edit.as_object().into_iter().flatten();
        edit.is_object() && members.all(|(name, value)| CONTENT.has(name) && value.is_string())
    };
    CONTENT.has(name)
        && match value {
            Value::String(_) => true,
            Value::Array(edits) => name == "edits" && edits.iter().all(is_edit),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
        }
}

/// Returns a grant with the id that follows from its content.
pub(crate) fn with_computed_id(mut grant: Grant) -> Grant {
    let mut all = serde_json::to_value(&grant).unwrap_or_default();
    if let Value::Object(members) = &mut all {
        members.remove("id");
    }
    let digest = Sha256::digest(sort_members(&all).to_string());
    let hex: String = digest
        .iter()
        .take(NAME_BYTES)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    grant.id = format!("g-{hex}");
    grant
}

/// Returns the value with the members of all objects in order of their names.
fn sort_members(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort_unstable();
            let members = names.into_iter().filter_map(|name| {
                let member = members.get(name)?;
                Some((name.clone(), sort_members(member)))
            });
            Value::Object(members.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(sort_members).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
