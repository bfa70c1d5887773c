//! Decides about every line of `fixtures/policy/shell.jsonl` by the policy beside it, and of `shell-auto.jsonl` in mode
//! `auto`: attacks, and lines that look like one. `UPDATE_EXPECT=1` rewrites the expectations; read the difference
//! before you keep it.

use std::{
    collections::BTreeSet,
    process::{Command, Stdio},
};

use crate::path_tree::World;
use crate::shell_table::{
    Case, auto_cases, cases, decide, decide_in, fixture, policy, write_cases, write_policy,
};
use expect_test::expect_file;
use harn_model::PolicyAction;
use harn_policy::{SessionMode, ToolApprovalPolicy, shell};

#[test]
fn every_line_is_decided_as_in_the_table() {
    let policy = policy();
    check("shell.jsonl", cases(), |line| {
        let (action, reason, _) = decide(&policy, line, SessionMode::Ask);
        (action, reason)
    });
}

#[test]
fn every_line_is_decided_as_in_the_table_of_auto_mode() {
    let nothing = ToolApprovalPolicy::default().compile().unwrap();
    let world = World::build();
    check("shell-auto.jsonl", auto_cases(), |line| {
        decide_in(&world, &nothing, line, SessionMode::Auto)
    });
}

#[test]
fn every_line_that_writes_is_decided_as_in_the_table() {
    let (world, policy) = (World::build(), write_policy());
    check("shell-write.jsonl", write_cases(), |line| {
        decide_in(&world, &policy, line, SessionMode::Ask)
    });
}

/// Runs every allowed line of the table, and compares everything outside the session's directories, and what is
/// never written, before and after.
#[test]
fn allowed_line_that_writes_changes_nothing_elsewhere() {
    let mut ran = 0;
    for case in write_cases()
        .iter()
        .filter(|case| case.reason.contains("\"write\" allows"))
    {
        let world = World::build();
        let before = world.read_protected();
        let status = Command::new("timeout")
            .args(["20", "sh", "-c", &case.line])
            .current_dir(world.workspace())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(status.is_ok(), "{:?}", case.line);
        assert_eq!(world.read_protected(), before, "{:?}", case.line);
        ran += 1;
    }
    assert!(ran >= 60, "{ran} lines");
}

fn check(table: &str, cases: Vec<Case>, decide: impl Fn(&str) -> (PolicyAction, String)) {
    let mut got = String::new();
    for case in cases {
        let (action, reason) = decide(&case.line);
        let decision = match action {
            PolicyAction::Allow => "allow",
            PolicyAction::Ask => "ask",
            PolicyAction::Deny => "deny",
        };
        let found = Case {
            decision: decision.to_owned(),
            reason,
            ..case
        };
        got.push_str(&serde_json::to_string(&found).unwrap());
        got.push('\n');
    }
    expect_file![fixture(table)].assert_eq(&got);
}

#[test]
fn table_is_large_and_has_no_duplicates() {
    let cases = cases();
    let lines: BTreeSet<_> = cases.iter().map(|case| &case.line).collect();
    assert_eq!(lines.len(), cases.len());
    let all = cases.len() + auto_cases().len() + write_cases().len();
    assert!(all >= 1000, "{all} lines");
    for decision in ["allow", "ask", "deny"] {
        let count = cases
            .iter()
            .filter(|case| case.decision == decision)
            .count();
        assert!(count >= 30, "{count} that {decision}");
    }
}

#[test]
fn no_mode_allows_a_line_that_the_table_denies_or_doubts() {
    let policy = policy();
    for case in cases() {
        let (action, _, line) = decide(&policy, &case.line, SessionMode::Auto);
        let doubtful = !line.doubts.is_empty();
        match case.decision.as_str() {
            "deny" => assert_eq!(action, PolicyAction::Deny, "{:?}", case.line),
            "ask" if doubtful => assert_eq!(action, PolicyAction::Ask, "{:?}", case.line),
            _ => {}
        }
        // Beyond the table, the mode allows only commands in the table of read-only commands.
        if case.decision == "ask" && action == PolicyAction::Allow {
            assert!(
                line.commands.iter().all(shell::is_read_only),
                "{:?}",
                case.line
            );
        }
    }
}
