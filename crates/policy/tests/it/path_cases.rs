//! The table of paths in `fixtures/policy/paths.jsonl`, on a real disk with the tree of `paths-world.json`.
//! `UPDATE_EXPECT=1` rewrites the expectations; read the difference before you keep it.

use std::{fs, path::Path};

use expect_test::expect_file;
use harn_model::{PolicyAction, PolicyDecision, ToolKind};
use harn_policy::{
    LocatedPath, PathScope, Policy, PolicyCall, SessionMode, ToolApprovalPolicy, locate,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::path_tree::{StdProbe, World};

/// A line of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Case {
    /// `{root}` is the folder of the tree, `{x255}` and `{x256}` are so many letters, `{deep}` is more folders
    /// than fit.
    path: String,
    write: bool,
    #[serde(default)]
    standing: String,
    /// The displayed path.
    #[serde(default)]
    shown: String,
    #[serde(default)]
    protected: bool,
    /// The reason about the path; the decision may have another one.
    #[serde(default)]
    said: Option<String>,
    /// The decision about a tool that edits or reads the path, in mode `auto` and without rules.
    #[serde(default)]
    decision: Option<PolicyAction>,
    #[serde(default)]
    reason: String,
    why: String,
}

fn scope_name(standing: PathScope) -> &'static str {
    match standing {
        PathScope::Inside => "inside",
        PathScope::Outside => "outside",
        PathScope::Dangling => "dangling",
        PathScope::Invalid => "invalid",
    }
}

fn expand(path: &str, base: &Path) -> String {
    path.replace("{root}", base.to_str().unwrap())
        .replace("{x255}", &"x".repeat(255))
        .replace("{x256}", &"x".repeat(256))
        .replace("{deep}", &"d/".repeat(2048))
}

fn contract(path: &str, base: &Path) -> String {
    path.replace(base.to_str().unwrap(), "{root}")
        .replace(&"x".repeat(256), "{x256}")
        .replace(&"x".repeat(255), "{x255}")
        .replace(&"d/".repeat(2048), "{deep}")
}

fn decide(policy: &Policy, case: &Case, paths: &[LocatedPath]) -> PolicyDecision {
    let (tool, kind) = match case.write {
        true => ("write_file", ToolKind::Edit),
        false => ("read_file", ToolKind::Read),
    };
    policy.decide(&PolicyCall {
        tool,
        kind: Some(kind),
        side_effect: None,
        capabilities: &[],
        arguments: &Value::Null,
        paths,
        command: None,
        findings: None,
        workspace: "/",
        mode: SessionMode::Auto,
        agent: None,
        grants: &[],
    })
}

fn table() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/policy/paths.jsonl")
}

#[test]
fn every_path_resolves_as_in_the_table() {
    let text = fs::read_to_string(table()).unwrap();
    let world = World::build();
    let policy = ToolApprovalPolicy::default().compile().unwrap();
    let mut got = String::new();
    for line in text.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let path = expand(&case.path, world.base());
        let located = locate(world.roots(), &path, &StdProbe);
        let decision = decide(&policy, &case, std::slice::from_ref(&located));
        let found = Case {
            standing: scope_name(located.standing).to_owned(),
            shown: contract(located.info.display(), world.base()),
            protected: located.protected,
            said: located.info.reason.clone(),
            decision: Some(decision.action),
            reason: contract(&decision.reason, world.base()),
            ..case.clone()
        };
        got.push_str(&serde_json::to_string(&found).unwrap());
        got.push('\n');
    }
    expect_file![table()].assert_eq(&got);
    assert!(text.lines().count() >= 130, "the table holds its cases");
}
