//! Shell lines: any text can be parsed, parsing it twice gives the same, no program is invented, and a command
//! that is added to a line is found or doubted and never runs without a question.
#![no_main]

use std::sync::LazyLock;

use harn_fuzz::seeds::{self, SHELL, SHELL_AUTO, SHELL_READ, SHELL_WRITE};
use harn_model::{PolicyAction, ToolKind};
use harn_policy::{
    Policy, PolicyCall, SessionMode, ToolApprovalPolicy,
    shell::{self, LineDoubt, ShellLine},
};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// The policy of the table: a few programs that only read, and three that never run.
static LISTED: LazyLock<Policy> = LazyLock::new(|| {
    let text = include_str!("../../fixtures/policy/shell-policy.toml");
    let policy = ToolApprovalPolicy::from_toml("shell-policy.toml", text);
    policy
        .and_then(|policy| policy.compile())
        .expect("the policy of the table")
});

/// No rules at all: the session's mode decides.
static NONE: LazyLock<Policy> = LazyLock::new(|| {
    let policy = ToolApprovalPolicy::default().compile();
    policy.expect("a policy without rules")
});

fuzz_target!(
    init: seeds::write(
        [SHELL, SHELL_AUTO, SHELL_READ, SHELL_WRITE]
            .into_iter()
            .flat_map(|table| seeds::column(table, "line"))
            .map(String::into_bytes)
    ),
    |data: &[u8]| {
        if let Ok(text) = std::str::from_utf8(data) {
            check(text);
        }
    }
);

fn check(text: &str) {
    let line = shell::read(text);
    assert_eq!(line, shell::read(text), "read twice");
    let letters = without_quoting(text);
    for command in &line.commands {
        let program = command.argv.first().expect("a command without a program");
        let doubted = !line.doubts.is_empty();
        assert!(
            doubted || letters.contains(&without_quoting(program)),
            "{program:?} is made up: {line:?}"
        );
        let harmless = shell::is_read_only(command);
        assert!(!harmless || command.exec_capable.is_none(), "{command:?}");
    }
    for command in ["rm -rf x", "sh -c 'rm -rf x'"] {
        // A backslash at the end escapes the newline, in a shell too.
        if !text.ends_with('\\') {
            check_added(&format!("{text}\n{command}"));
        }
        check_added(&format!("{command}\n{text}"));
    }
}

/// Checks a line with a command that no policy here allows.
fn check_added(text: &str) {
    let line = shell::read(text);
    let found = |program: &str| {
        let first = |argv: &Vec<String>| argv.first().is_some_and(|first| first == program);
        line.commands.iter().any(|command| first(&command.argv))
    };
    assert!(
        found("rm") || !line.doubts.is_empty(),
        "lost: {text:?} {line:?}"
    );
    let told = |doubt: &LineDoubt| matches!(doubt, LineDoubt::Environment(_));
    let told = line.doubts.iter().all(told);
    assert!(
        found("rm") || !told,
        "lost, and may be remembered: {text:?} {line:?}"
    );
    for mode in [SessionMode::Ask, SessionMode::Auto] {
        for policy in [&*LISTED, &*NONE] {
            let decision = policy.decide(&call(text, &line, mode));
            assert_ne!(
                decision.action,
                PolicyAction::Allow,
                "{text:?} {decision:?}"
            );
        }
    }
}

fn call<'a>(text: &'a str, line: &'a ShellLine, mode: SessionMode) -> PolicyCall<'a> {
    PolicyCall {
        tool: "run",
        kind: Some(ToolKind::Execute),
        side_effect: None,
        capabilities: &[],
        arguments: &Value::Null,
        paths: &[],
        command: Some((text, line)),
        findings: None,
        workspace: "/w",
        mode,
        agent: None,
        grants: &[],
    }
}

/// Removes the characters of quoting, so that a word is found in the text it was quoted in.
fn without_quoting(text: &str) -> String {
    text.replace(['\'', '"', '\\', '\n'], "")
}
