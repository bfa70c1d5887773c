//! `harn-serve grants`: lists and revokes the grants of all workspaces.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Result;
use harn_model::{Grant, GrantEffect, Timestamp, format_rfc3339};
use harn_runtime::Clock;
use harn_terminal::{
    console::{print, print_error},
    paint::escape_controls,
    text,
};
use serde::Serialize;

use super::{absolute_path, args::GrantsCommand, one_line, print_json, session_ids::is_same_dir};
use crate::{SystemClock, rules::GrantStore};

pub(super) fn run(state_dir: &Path, command: GrantsCommand) -> Result<ExitCode> {
    let grants = GrantStore::new(state_dir);
    match command {
        GrantsCommand::List {
            json,
            workspace,
            all,
        } => {
            let place = match all {
                true => None,
                false => Some(workspace.unwrap_or_else(|| PathBuf::from("."))),
            };
            list(&grants, place.as_deref(), json)
        }
        GrantsCommand::Revoke { ids, all } => revoke(&grants, &ids, all),
    }
}

fn list(grants: &GrantStore, place: Option<&Path>, json: bool) -> Result<ExitCode> {
    let everywhere = grants.all()?;
    let place = place
        .map(|dir| absolute_path("--workspace", dir))
        .transpose()?;
    let place: Option<PathBuf> = place.map(|dir| dir.components().collect());
    let count = everywhere.len();
    let shown: Vec<_> = everywhere
        .into_iter()
        .filter(|(grant, _)| {
            place
                .as_deref()
                .is_none_or(|dir| is_same_dir(Path::new(&grant.workspace), dir))
        })
        .collect();
    if json {
        let shown: Vec<_> = shown.iter().map(GrantListRow::from_grant).collect();
        return print_json(&shown);
    }
    let elsewhere = count - shown.len();
    let mut out = match (&place, shown.is_empty()) {
        (Some(dir), true) => format!("no grants for {}\n", dir.display()),
        (None, true) => format!("no grants in {}\n", grants.path().display()),
        (_, false) => format_grants(&shown, SystemClock::new().now()),
    };
    if elsewhere > 0 {
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "{elsewhere} more for other workspaces; --all lists them"
        );
    }
    print(&out)?;
    Ok(ExitCode::SUCCESS)
}

/// Formats each grant in three lines, without cutting off anything that it covers.
fn format_grants(grants: &[(Grant, Timestamp)], now: Timestamp) -> String {
    let mut out = String::new();
    for (grant, at) in grants {
        let effect = effect_word(grant.effect);
        let when = text::format_age(now, *at);
        let tool = escape_controls(&grant.tool);
        let what = harn_policy::describe_whole(grant);
        let _ = writeln!(out, "{}  {effect:<5}  {tool}  {when}", grant.id);
        let indent = " ".repeat(grant.id.len() + 2);
        let _ = writeln!(out, "{indent}{}", one_line(&what));
        let _ = writeln!(out, "{indent}in {}", one_line(&grant.workspace));
    }
    out
}

fn effect_word(effect: GrantEffect) -> &'static str {
    match effect {
        GrantEffect::Allow => "allow",
        GrantEffect::Deny => "deny",
    }
}

/// A grant as JSON.
#[derive(Serialize)]
struct GrantListRow<'a> {
    #[serde(flatten)]
    grant: &'a Grant,
    description: String,
    granted_at: String,
}

impl<'a> GrantListRow<'a> {
    fn from_grant((grant, at): &'a (Grant, Timestamp)) -> Self {
        Self {
            grant,
            description: harn_policy::describe_whole(grant),
            granted_at: format_rfc3339(*at),
        }
    }
}

fn revoke(grants: &GrantStore, ids: &[String], all: bool) -> Result<ExitCode> {
    // One wrong id, and no grant is revoked: the user may have meant another.
    let known = grants.all()?;
    let unknown = ids
        .iter()
        .filter(|id| !known.iter().any(|(grant, _)| grant.id == **id));
    let mut wrong = false;
    for id in unknown {
        wrong = true;
        let names = known.iter().map(|(grant, _)| grant.id.as_str());
        let near = text::did_you_mean(id, names);
        print_error(format_args!(
            "unknown grant {id}; {near}`harn-serve grants list --all` lists all"
        ));
    }
    if wrong {
        return Ok(ExitCode::FAILURE);
    }
    let gone = grants.forget(|grant| all || ids.contains(&grant.id))?;
    let mut out = String::new();
    for grant in &gone {
        let what = one_line(&harn_policy::describe_whole(grant));
        let _ = writeln!(
            out,
            "revoked {}: {} {what}",
            grant.id,
            effect_word(grant.effect)
        );
    }
    if gone.is_empty() {
        out.push_str("no grants to revoke\n");
    }
    print(&out)?;
    Ok(ExitCode::SUCCESS)
}
