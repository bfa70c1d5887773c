//! A call with ten paths under a hundred rules. The floor matches the same ten paths against the same path
//! patterns, in one pass each, and decides nothing.

use std::{hint::black_box, io, path::Path};

use anyhow::Result;
use globset::{Glob, GlobSet, GlobSetBuilder};
use harn_model::{PolicyAction, ToolKind};
use harn_policy::{
    LocatedPath, PathEntry, PathProbe, Policy, PolicyCall, PolicyRule, RuleMatcher, SessionMode,
    SessionRoots, ToolApprovalPolicy, locate_all,
};
use serde_json::Value;

use super::time_alternating;
use crate::{
    setup::Setup,
    table::{Bar, Figure, Table, Unit},
};

const RULES: usize = 100;
const PATHS: usize = 10;

pub(super) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    let policy = policy(RULES).compile()?;
    let globs = globs()?;
    let (first, none) = (locate_files("area-0"), locate_files("elsewhere"));
    let texts: Vec<_> = none.iter().map(|path| &path.info.normalized).collect();
    let mut hits = Vec::new();
    let [floor, early, late] = time_alternating(
        setup.judgements,
        [
            &mut || {
                for text in &texts {
                    globs.matches_into(black_box(text.as_str()), &mut hits);
                    black_box(&hits);
                }
            },
            &mut || decide(&policy, &first),
            &mut || decide(&policy, &none),
        ],
    );
    for (which, value) in [("one of them allows", early), ("none of them speaks", late)] {
        table.add(&Figure {
            name: format!("{PATHS} paths, {RULES} rules, {which}"),
            unit: Unit::Nanos,
            value,
            against: Some(("globs", floor)),
            bar: Bar::AtMost(20e-6),
        });
    }
    Ok(())
}

fn decide(policy: &Policy, paths: &[LocatedPath]) {
    black_box(policy.decide(black_box(&PolicyCall {
        tool: "edit_file",
        kind: Some(ToolKind::Edit),
        side_effect: None,
        capabilities: &[],
        arguments: &Value::Null,
        paths,
        command: None,
        findings: None,
        workspace: "/w",
        mode: SessionMode::Ask,
        agent: None,
        grants: &[],
    })));
}

/// Returns rules of every kind, like the long list of a large repository.
pub(super) fn policy(rules: usize) -> ToolApprovalPolicy {
    let list = |items: &[String]| items.to_vec();
    let rules = (0..rules).map(|place| {
        let (action, matcher) = match place % 5 {
            0 => (PolicyAction::Allow, path_matcher(&allowed_pattern(place))),
            1 => (PolicyAction::Ask, path_matcher(&asked_pattern(place))),
            2 => (PolicyAction::Deny, path_matcher(&denied_pattern(place))),
            3 => {
                let command = list(&[format!("tool-{place} run *"), format!("make t{place}")]);
                let matcher = RuleMatcher {
                    command,
                    ..RuleMatcher::default()
                };
                (PolicyAction::Allow, matcher)
            }
            _ => {
                let matcher = RuleMatcher {
                    command: list(&[format!("danger-{place}")]),
                    ..RuleMatcher::default()
                };
                (PolicyAction::Deny, matcher)
            }
        };
        PolicyRule::new(action, matcher).with_id(format!("rule-{place}"))
    });
    ToolApprovalPolicy {
        rules: rules.collect(),
        ..ToolApprovalPolicy::default()
    }
}

fn path_matcher(pattern: &str) -> RuleMatcher {
    RuleMatcher {
        tool: vec!["edit_*".to_owned()],
        path: vec![pattern.to_owned()],
        ..RuleMatcher::default()
    }
}

fn allowed_pattern(place: usize) -> String {
    format!("area-{place}/**")
}

fn asked_pattern(place: usize) -> String {
    format!("area-{place}/**/*.{{lock,toml}}")
}

fn denied_pattern(place: usize) -> String {
    format!("**/secret-{place}/*.pem")
}

fn globs() -> Result<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for place in 0..RULES {
        let pattern = match place % 5 {
            0 => allowed_pattern(place),
            1 => asked_pattern(place),
            2 => denied_pattern(place),
            _ => continue,
        };
        set.add(Glob::new(&pattern)?);
    }
    Ok(set.build()?)
}

/// Returns ten files in a folder of the session's directory.
fn locate_files(folder: &str) -> Vec<LocatedPath> {
    let names: Vec<_> = (0..PATHS)
        .map(|place| format!("{folder}/src/module-{place}/file.rs"))
        .collect();
    let roots = SessionRoots::new(vec!["/w".into()], Vec::new());
    locate_all(&roots, &names, &Empty)
}

/// A disk that has only folders.
struct Empty;

impl PathProbe for Empty {
    fn read_entry(&self, _: &Path) -> io::Result<PathEntry> {
        Ok(PathEntry::Dir)
    }
}
