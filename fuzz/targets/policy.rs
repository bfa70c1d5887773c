//! Policy files: any text is parsed or rejected, a parsed policy decides about every call and survives writing
//! and parsing again, and an added restriction never allows more.
#![no_main]

use std::{io, path::Path, sync::LazyLock};

use harn_fuzz::seeds;
use harn_model::{GrantEffect, PolicyAction, SideEffectLevel, ToolKind};
use harn_policy::{
    LocatedPath, PathEntry, PathProbe, Policy, PolicyCall, PolicyRule, RuleMatcher, SessionMode,
    SessionRoots, ToolApprovalPolicy, grant_for_call, locate,
    shell::{self, ShellLine},
};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

const POLICY: &str = include_str!("../../fixtures/policy/policy.toml");
const SHELL_POLICY: &str = include_str!("../../fixtures/policy/shell-policy.toml");

fuzz_target!(init: seeds::write(files()), |data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        check(text);
    }
});

/// Returns the policies of the tables, and each of their rules alone.
fn files() -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    for text in [POLICY, SHELL_POLICY] {
        let policy = ToolApprovalPolicy::from_toml("seed", text).expect("the policy of a table");
        files.push(text.to_owned());
        files.push(policy.clone().with_only_tightens().to_toml());
        files.push(ToolApprovalPolicy::default().and(policy.clone()).to_toml());
        for rule in &policy.rules {
            let alone = ToolApprovalPolicy {
                rules: vec![rule.clone()],
                ..ToolApprovalPolicy::default()
            };
            files.push(alone.to_toml());
        }
    }
    files.into_iter().map(String::into_bytes).collect()
}

fn check(text: &str) {
    let Ok(policy) = ToolApprovalPolicy::from_toml("policy.toml", text) else {
        return;
    };
    let written = policy.to_toml();
    let again = ToolApprovalPolicy::from_toml("policy.toml", &written);
    let again = again.unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert_eq!(policy, again, "{written}");
    let Ok(before) = policy.compile() else {
        return;
    };
    let said: Vec<_> = CALLS.iter().map(|call| decide(&before, call)).collect();
    for closed in closed_variants(&policy) {
        let Ok(after) = closed.compile() else {
            continue;
        };
        for call in &*CALLS {
            let now = decide(&after, call);
            assert_eq!(
                now,
                PolicyAction::Deny,
                "{}\n{}",
                call.tool,
                closed.to_toml()
            );
        }
    }
    for tighter in tighter_variants(&policy) {
        // It may exceed the size limit of a policy.
        let Ok(after) = tighter.compile() else {
            continue;
        };
        for (call, said) in CALLS.iter().zip(&said) {
            let now = decide(&after, call);
            assert!(
                strength(now) >= strength(*said),
                "{said:?} became {now:?} for {:?}\n{}",
                call.tool,
                tighter.to_toml()
            );
        }
    }
}

/// Returns the policy with additions that deny every call.
fn closed_variants(policy: &ToolApprovalPolicy) -> [ToolApprovalPolicy; 4] {
    let nothing = PolicyRule::new(PolicyAction::Deny, RuleMatcher::tool("*"));
    let mut listed = policy.clone();
    listed.auto_deny.push("*".to_owned());
    let mut last = policy.clone();
    last.rules.push(nothing.clone());
    let other = ToolApprovalPolicy {
        rules: vec![nothing],
        ..ToolApprovalPolicy::default()
    };
    let before = other.clone().with_only_tightens().and(policy.clone());
    [listed, last, policy.clone().and(other), before]
}

/// Returns the policy with additions that can only restrict.
fn tighter_variants(policy: &ToolApprovalPolicy) -> Vec<ToolApprovalPolicy> {
    let with = |change: &dyn Fn(&mut ToolApprovalPolicy)| {
        let mut policy = policy.clone();
        change(&mut policy);
        policy
    };
    let denying = |rule: &PolicyRule| PolicyRule::new(PolicyAction::Deny, rule.matcher.clone());
    let mut all = vec![
        with(&|policy| policy.auto_deny.push("edit*".to_owned())),
        with(&|policy| policy.require_approval.insert(0, "*".to_owned())),
        with(&|policy| {
            let rule = PolicyRule::new(PolicyAction::Deny, RuleMatcher::tool("r*"));
            policy.rules.insert(0, rule);
        }),
        policy.clone().with_only_tightens(),
        policy.clone().and(policy.clone().with_only_tightens()),
        policy.clone().with_only_tightens().and(policy.clone()),
    ];
    // The calls of each rule denied: before all others, and after.
    for rule in policy.rules.iter().take(4) {
        all.push(with(&|policy| policy.rules.insert(0, denying(rule))));
        all.push(with(&|policy| policy.rules.push(denying(rule))));
        let other = ToolApprovalPolicy {
            rules: vec![denying(rule)],
            ..ToolApprovalPolicy::default()
        };
        all.push(policy.clone().and(other.clone()));
        all.push(other.and(policy.clone()));
    }
    all
}

fn strength(action: PolicyAction) -> u8 {
    match action {
        PolicyAction::Allow => 0,
        PolicyAction::Ask => 1,
        PolicyAction::Deny => 2,
    }
}

struct Owned {
    tool: &'static str,
    kind: Option<ToolKind>,
    side_effect: Option<SideEffectLevel>,
    paths: Vec<LocatedPath>,
    command: Option<(&'static str, ShellLine)>,
    arguments: Value,
    mode: SessionMode,
    granted: Option<GrantEffect>,
}

static CALLS: LazyLock<Vec<Owned>> = LazyLock::new(|| {
    let mut calls = Vec::new();
    for mode in [
        SessionMode::Ask,
        SessionMode::ReadOnly,
        SessionMode::AcceptEdits,
        SessionMode::Auto,
    ] {
        let call = |tool, kind| Owned {
            tool,
            kind,
            side_effect: None,
            paths: Vec::new(),
            command: None,
            arguments: json!({"a": 1}),
            mode,
            granted: None,
        };
        let located = |paths: &[&str]| paths.iter().map(|path| locate_path(path)).collect();
        calls.push(call("rename", None));
        calls.push(Owned {
            side_effect: Some(SideEffectLevel::Network),
            ..call("fetch", Some(ToolKind::Fetch))
        });
        for paths in [
            &["src/lib.rs", "docs/a.md"][..],
            &["/etc/passwd"],
            &[".git/hooks/x"],
        ] {
            calls.push(Owned {
                paths: located(paths),
                ..call("edit_file", Some(ToolKind::Edit))
            });
            calls.push(Owned {
                paths: located(paths),
                ..call("read_file", Some(ToolKind::Read))
            });
        }
        for line in [
            "ls -la src",
            "cargo test && rm -rf x",
            "echo $(date) > /tmp/x",
        ] {
            let run = call("run", Some(ToolKind::Execute));
            calls.push(Owned {
                command: Some((line, shell::read(line))),
                ..run
            });
        }
        for effect in [GrantEffect::Allow, GrantEffect::Deny] {
            calls.push(Owned {
                paths: located(&["src/lib.rs"]),
                granted: Some(effect),
                ..call("edit_file", Some(ToolKind::Edit))
            });
        }
    }
    calls
});

fn decide(policy: &Policy, owned: &Owned) -> PolicyAction {
    let mut call = PolicyCall {
        tool: owned.tool,
        kind: owned.kind,
        side_effect: owned.side_effect,
        capabilities: &["disk.write".to_owned()],
        arguments: &owned.arguments,
        paths: &owned.paths,
        command: owned.command.as_ref().map(|(text, line)| (*text, line)),
        findings: None,
        workspace: "/w",
        mode: owned.mode,
        agent: Some("worker"),
        grants: &[],
    };
    let grant = owned
        .granted
        .and_then(|effect| grant_for_call(&call, effect));
    let grants: Vec<_> = grant.into_iter().collect();
    call.grants = &grants;
    let decision = policy.decide(&call);
    assert!(!decision.reason.is_empty(), "{decision:?}");
    decision.action
}

fn locate_path(path: &str) -> LocatedPath {
    locate(
        &SessionRoots::new(vec!["/w".into()], Vec::new()),
        path,
        &Told,
    )
}

/// A disk that has only some folders.
struct Told;

impl PathProbe for Told {
    fn read_entry(&self, path: &Path) -> io::Result<PathEntry> {
        Ok(match path.to_str() {
            Some("/" | "/w" | "/w/src" | "/etc") => PathEntry::Dir,
            _ => PathEntry::Absent,
        })
    }
}
