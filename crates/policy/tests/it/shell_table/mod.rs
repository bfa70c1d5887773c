//! The table of lines in `fixtures/policy/shell.jsonl`, and the policy that decides about them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use harn_model::{PolicyAction, ToolKind};
use harn_policy::{
    CommandFindings, Policy, PolicyCall, SessionMode, ToolApprovalPolicy,
    shell::{self, ShellLine},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::path_tree::{StdProbe, World};

/// A line of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Case {
    /// The line to run.
    pub(crate) line: String,
    /// The expected decision.
    #[serde(default)]
    pub(crate) decision: String,
    /// The reason in the receipt.
    #[serde(default)]
    pub(crate) reason: String,
    /// The purpose of the case.
    pub(crate) why: String,
}

/// Returns the path of a file in the folder of the table.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/policy")
        .join(name)
}

pub(crate) fn cases() -> Vec<Case> {
    read_cases("shell.jsonl")
}

/// Returns the cases of mode `auto`, without rules.
pub(crate) fn auto_cases() -> Vec<Case> {
    read_cases("shell-auto.jsonl")
}

fn read_cases(name: &str) -> Vec<Case> {
    let text = fs::read_to_string(fixture(name)).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns the cases of programs that write files.
pub(crate) fn write_cases() -> Vec<Case> {
    read_cases("shell-write.jsonl")
}

/// Returns the policy for the table.
pub(crate) fn policy() -> Policy {
    read_policy("shell-policy.toml")
}

/// Returns the policy for the table of programs that write files.
pub(crate) fn write_policy() -> Policy {
    read_policy("shell-write-policy.toml")
}

fn read_policy(name: &str) -> Policy {
    let text = fs::read_to_string(fixture(name)).unwrap();
    let policy = ToolApprovalPolicy::from_toml(name, &text).unwrap();
    policy.compile().unwrap()
}

/// Decides about a line that runs in the tree of the table of paths, whose links it follows.
pub(crate) fn decide_in(
    world: &World,
    policy: &Policy,
    line: &str,
    mode: SessionMode,
) -> (PolicyAction, String) {
    let read = shell::read(line);
    let findings = CommandFindings::read(world.roots(), &[], &read, &StdProbe);
    let decision = policy.decide(&PolicyCall {
        command: Some((line, &read)),
        findings: Some(&findings),
        workspace: world.workspace().to_str().unwrap(),
        ..call(mode)
    });
    (decision.action, decision.reason)
}

/// Decides about a line and returns the action, the reason and the parsed line.
pub(crate) fn decide(
    policy: &Policy,
    line: &str,
    mode: SessionMode,
) -> (PolicyAction, String, ShellLine) {
    let read = shell::read(line);
    let decision = policy.decide(&PolicyCall {
        command: Some((line, &read)),
        ..call(mode)
    });
    (decision.action, decision.reason, read)
}

fn call(mode: SessionMode) -> PolicyCall<'static> {
    PolicyCall {
        tool: "run_command",
        kind: Some(ToolKind::Execute),
        side_effect: None,
        capabilities: &[],
        arguments: &Value::Null,
        paths: &[],
        command: None,
        findings: None,
        workspace: "/workspace",
        mode,
        agent: None,
        grants: &[],
    }
}
