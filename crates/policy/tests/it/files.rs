//! Policies as files: every form of a rule, the rejected ones with their position, and the pinned decisions.

use std::{env, fs, path::PathBuf};

use crate::decide_support::*;
use harn_model::{PolicyAction, PolicyDecision, SideEffectLevel, ToolKind};
use harn_policy::{PolicyRule, RuleMatcher, SessionMode, ToolApprovalPolicy, grant_for_call};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[test]
fn every_form_of_a_rule_is_parsed() {
    let read = RuleMatcher::tool("read_*");
    let rule = |action, matcher: &RuleMatcher| PolicyRule::new(action, matcher.clone());
    let two = RuleMatcher {
        tool: vec!["a".to_owned(), "b".to_owned()],
        ..RuleMatcher::default()
    };
    let mut table = vec![
        (json!({"allow": "read_*"}), rule(PolicyAction::Allow, &read)),
        (json!({"ask": ["read_*"]}), rule(PolicyAction::Ask, &read)),
        (
            json!({"deny": {"tool": "read_*"}}),
            rule(PolicyAction::Deny, &read),
        ),
        (
            json!({"require_approval": ["a", "b"]}),
            rule(PolicyAction::Ask, &two),
        ),
        (
            json!({"name": "n", "deny": "read_*", "reason": "r"}),
            rule(PolicyAction::Deny, &read)
                .with_id("n")
                .with_reason("r"),
        ),
    ];
    for key in ["match", "matches", "when"] {
        let written = json!({"id": "n", "action": "deny", key: {"tool": ["a", "b"]}});
        table.push((written, rule(PolicyAction::Deny, &two).with_id("n")));
    }
    for (words, action) in [
        (
            &["allow", "approve", "auto_approve"][..],
            PolicyAction::Allow,
        ),
        (
            &["ask", "approval", "require_approval", "requires_approval"],
            PolicyAction::Ask,
        ),
        (&["deny", "block", "auto_deny"], PolicyAction::Deny),
    ] {
        for word in words {
            let written = json!({"action": word, "match": {"tool": "read_*"}});
            table.push((written, rule(action, &read)));
        }
    }
    for (written, expected) in table {
        let rule: PolicyRule = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(rule, expected, "{written}");
        let again: PolicyRule =
            serde_json::from_value(serde_json::to_value(&rule).unwrap()).unwrap();
        assert_eq!(again, rule);
    }
}

#[test]
fn every_matcher_is_parsed() {
    let written = json!({
        "tool": "a", "tool_kind": ["edit", "move"], "side_effect": "process_exec", "path": "p",
        "command": "c", "command_identity": "i", "agent": "w", "mode": "read-only", "capability": "x.y",
        "sandbox": false,
    });
    let matcher: RuleMatcher = serde_json::from_value(written).unwrap();
    let expected = RuleMatcher {
        tool: vec!["a".to_owned()],
        tool_kind: vec![ToolKind::Edit, ToolKind::Move],
        side_effect: vec![SideEffectLevel::ProcessExec],
        path: vec!["p".to_owned()],
        command: vec!["c".to_owned()],
        command_identity: vec!["i".to_owned()],
        agent: vec!["w".to_owned()],
        mode: vec![SessionMode::ReadOnly],
        capability: vec!["x.y".to_owned()],
        sandbox: Some(false),
    };
    assert_eq!(matcher, expected);
}

#[test]
fn unknown_entry_is_rejected_and_never_ignored() {
    let table = [
        (
            "rules = [{ action = 'allow', deny = 'x' }]",
            "already contain the action",
        ),
        (
            "rules = [{ match = { tool = 'x' }, deny = 'x' }]",
            "already contain the action",
        ),
        ("rules = [{ deny = 'x', allow = 'y' }]", "already set"),
        (
            "rules = [{ match = { tool = 'x' }, when = { tool = 'y' }, action = 'ask' }]",
            "already set",
        ),
        (
            "rules = [{ id = 'a', name = 'b', deny = 'x' }]",
            "already set",
        ),
        ("rules = [{ action = 'allow' }]", "needs a `match`"),
        (
            "rules = [{ match = { tool = 'x' } }]",
            "a rule needs an action",
        ),
        ("rules = [{ id = 'x' }]", "a rule needs an action"),
        (
            "rules = [{ action = 'alow', match = { tool = 'x' } }]",
            "unknown action `alow`",
        ),
        ("rules = [{ deny = {} }]", "needs a condition"),
        (
            "rules = [{ action = 'deny', match = {} }]",
            "needs a condition",
        ),
        ("rules = [{ deny = [] }]", "empty list"),
        ("rules = [{ deny = { tool = [] } }]", "empty list"),
        (
            "rules = [{ deny = 1 }]",
            "the name of a tool, a list of names",
        ),
        (
            "rules = [{ deny = { tool = 1 } }]",
            "a text or a list of texts",
        ),
        (
            "rules = [{ deny = { tools = 'x' } }]",
            "did you mean `tool`?",
        ),
        ("rules = [{ deny = { pth = 'x' } }]", "did you mean `path`?"),
        (
            "rules = [{ deny = { commnad = 'x' } }]",
            "did you mean `command`?",
        ),
        (
            "rules = [{ deny = { 'Tool-Kind' = 'edit' } }]",
            "did you mean `tool_kind`?",
        ),
        (
            "rules = [{ deny = { whatever = 'x' } }]",
            "known keys: tool, tool_kind",
        ),
        ("rules = [{ denny = 'x' }]", "did you mean `deny`?"),
        (
            "rules = [{ deny = { url = 'x' } }]",
            "`url` is not supported yet",
        ),
        (
            "rules = [{ deny = { repeat_count_at_least = 3 } }]",
            "is not supported yet",
        ),
        (
            "rules = [{ deny = { mcp_server = 'x', tool = 'y' } }]",
            "is not supported yet",
        ),
        (
            "rules = [{ deny = 'x', approval = { risk = 'high' } }]",
            "is not supported yet",
        ),
        (
            "rules = [{ deny = { tool_kind = 'write' } }]",
            "unknown variant `write`",
        ),
        (
            "rules = [{ deny = { mode = 'yolo' } }]",
            "unknown variant `yolo`",
        ),
        ("auto_aprove = ['x']", "unknown field `auto_aprove`"),
        ("auto_approve = 'x'", "invalid type"),
        ("allow_external_paths = true", "unknown field"),
        ("rules = [{", "line 1"),
    ];
    for (text, expected) in table {
        let error = ToolApprovalPolicy::from_toml("p.toml", text)
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("p.toml: "), "{error}");
        assert!(error.contains(expected), "{text}\n{error}");
    }
    for key in [
        "url",
        "domain",
        "http_method",
        "mcp_server",
        "mcp_tool",
        "persona",
        "env_mode",
    ] {
        let rule = json!({"rules": [{"deny": {key: "x"}}]});
        let error = ToolApprovalPolicy::from_json("host", rule)
            .unwrap_err()
            .to_string();
        assert!(error.contains("is not supported yet"), "{error}");
    }
}

#[test]
fn errors_name_the_position() {
    let text = "auto_approve = ['a']\n\n[[rules]]\nid = 'x'\nallow = { tool = 'a', pth = 'b' }\n";
    let error = ToolApprovalPolicy::from_toml("p.toml", text)
        .unwrap_err()
        .to_string();
    assert!(error.contains("line 5"), "{error}");
    let table = [
        ("auto_deny = ['ok', 'a[b']", "(in auto_deny)"),
        (
            "write_path_allowlist = ['../x']",
            "(in write_path_allowlist)",
        ),
        (
            "rules = [{ deny = 'a' }, { deny = { path = 'a{' } }]",
            "rule 1: invalid pattern \"a{\"",
        ),
        ("rules = [{ deny = { command = \"rm 'x\" } }]", "rule 0: "),
        ("auto_deny = ['']", "it is empty"),
    ];
    for (text, expected) in table {
        let error = policy(text).compile().unwrap_err().to_string();
        assert!(error.contains(expected), "{text}\n{error}");
    }
    let large = format!("# {}", "x".repeat(1024 * 1024));
    assert!(ToolApprovalPolicy::from_toml("p.toml", &large).is_err());
}

#[test]
fn schema_contains_the_canonical_form() {
    let schema = schemars::schema_for!(ToolApprovalPolicy);
    let text = serde_json::to_string(&schema).unwrap();
    for name in [
        "auto_approve",
        "\"match\"",
        "command_identity",
        "accept-edits",
        "only_tightens",
    ] {
        assert!(text.contains(name), "{name}");
    }
}

/// One pinned decision: the call as a host sees it, and the whole receipt.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Pinned {
    case: String,
    call: Value,
    receipt: PolicyDecision,
}

fn pinned_calls() -> Vec<(&'static str, Owned)> {
    use SessionMode::{AcceptEdits, Auto, ReadOnly};
    let kind = |tool: &str, kind| call(tool).kind(kind);
    let reads = |path: &str| read(&[path]);
    let edits = |path: &str| edit(&[path]);
    let granted = |call: Owned, effect| {
        let grant = grant_for_call(&call.as_call(), effect).unwrap_or_else(|| panic!("{call:?}"));
        call.with_grants(&[&grant])
    };
    let allow = harn_model::GrantEffect::Allow;
    let deny = harn_model::GrantEffect::Deny;
    vec![
        ("a listed tool runs", kind("list_files", ToolKind::Search)),
        ("a glob of names", call("outline")),
        ("a tool that asks", call("publish_site")),
        ("a tool that never runs", call("drop_table")),
        ("reading in the directory", reads("docs/a.md")),
        ("a read nobody names outside", reads("/etc/passwd")),
        ("a read that climbs out", reads("../other/a")),
        ("a read through a link that leaves", reads("leaves/passwd")),
        ("a link to nowhere", reads("dangles")),
        ("no path at all", reads("")),
        ("a rule allows with its reason", edits("src/lib.rs")),
        (
            "spelt with dots, the same file",
            edits("docs/../src/lib.rs"),
        ),
        ("not among what may be written", edits("build.rs")),
        ("a listed file without a rule asks", edits("notes.txt")),
        (
            "one of two files may not be written",
            edit(&["src/a.rs", "Cargo.toml"]),
        ),
        ("secrets stay shut", reads("deep/.env")),
        (
            "secrets stay shut even for a listed tool",
            kind("list_files", ToolKind::Search).paths(&["secrets/a"]),
        ),
        ("a protected name", edits("src/.git/hooks/pre-commit")),
        ("an outside file that a rule names", edits("/srv/shared/a")),
        (
            "an outside file that a rule asks about",
            reads("/etc/hosts"),
        ),
        ("a command by its words", run("cargo test --workspace")),
        (
            "two commands, both allowed",
            run("git log --oneline | wc -l"),
        ),
        (
            "two commands, one not allowed",
            run("cargo test && cargo publish"),
        ),
        ("a denied command by its path", run("/bin/rm notes.txt")),
        (
            "a denied command after an allowed one",
            run("git status; rm notes.txt"),
        ),
        ("a command that asks", run("git push origin main")),
        ("a longer one that is denied", run("git push --force")),
        ("a program that is denied", run("cargo test; ssh host")),
        ("a value known only when it runs", run("cargo test $FLAGS")),
        (
            "a variable set for a command",
            run("RUSTFLAGS=-g cargo test"),
        ),
        ("a command that writes a file", run("git log > notes.txt")),
        ("a command that writes elsewhere", run("git log > /tmp/log")),
        (
            "a command that writes what is protected",
            run("git log > .git/config"),
        ),
        ("a command that throws away", run("git status > /dev/null")),
        ("a line that cannot be read", run("if then")),
        ("what runs others, shown in full", run("make lint")),
        ("what runs others, behind a wildcard", run("make docs all")),
        (
            "what runs others, in its words",
            run("find . -exec rm '{}' ';'"),
        ),
        ("a worker's call", call("publish_site").with_agent("w-2")),
        (
            "a capability that asks",
            kind("query", ToolKind::Fetch).with_capabilities(&["database.read"]),
        ),
        ("a policy inside asks", call("migrate")),
        ("a tool that says nothing of itself", call("frobnicate")),
        ("read-only refuses", edits("notes.txt").with_mode(ReadOnly)),
        (
            "read-only hears a rule's deny first",
            edits("src/x.pem").with_mode(ReadOnly),
        ),
        ("accept-edits", edits("docs/a.md").with_mode(AcceptEdits)),
        (
            "accept-edits asks before commands",
            run("ls").with_mode(AcceptEdits),
        ),
        ("auto lets commands look", run("ls -l src").with_mode(Auto)),
        (
            "auto asks before commands that do more",
            run("make").with_mode(Auto),
        ),
        (
            "auto and the network",
            kind("fetch", ToolKind::Fetch)
                .with_side_effect(SideEffectLevel::Network)
                .with_mode(Auto),
        ),
        ("a remembered yes", granted(run("make check"), allow)),
        ("a remembered no", granted(run("cargo test"), deny)),
        (
            "a remembered yes lifts no deny",
            granted(run("rm notes.txt"), allow),
        ),
        ("a secret by a command", run("cat .env").with_mode(Auto)),
        ("a secret as a flag's value", run("tar cf x --file=key.pem")),
        (
            "a command that writes what is not listed",
            run("git log > log"),
        ),
        (
            "a command that names what is protected",
            run("cp README.md .git/hooks/pre-commit"),
        ),
    ]
}

fn call_to_json(owned: &Owned) -> Value {
    let paths: Vec<&str> = owned
        .paths
        .iter()
        .map(|path| path.info.input.as_str())
        .collect();
    let mut shown = json!({ "tool": owned.tool, "mode": owned.mode });
    let mut put = |key: &str, value: Value| {
        shown[key] = value;
    };
    if let Some(kind) = owned.kind {
        put("kind", json!(kind));
    }
    if let Some(side_effect) = owned.side_effect {
        put("side_effect", json!(side_effect));
    }
    if !paths.is_empty() {
        put("paths", json!(paths));
    }
    if let Some((line, _)) = &owned.command {
        put("command", json!(line));
    }
    if !owned.capabilities.is_empty() {
        put("capabilities", json!(owned.capabilities));
    }
    if let Some(agent) = &owned.agent {
        put("agent", json!(agent));
    }
    if !owned.grants.is_empty() {
        put("grants", json!(owned.grants));
    }
    shown
}

#[test]
fn decisions_match_the_pinned_file() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/policy");
    let text = fs::read_to_string(folder.join("policy.toml")).unwrap();
    let policy = ToolApprovalPolicy::from_toml("policy.toml", &text).unwrap();
    let compiled = policy.compile().unwrap();
    let lines = pinned_calls().into_iter().map(|(case, call)| {
        let pinned = Pinned {
            case: case.to_owned(),
            call: call_to_json(&call),
            receipt: compiled.decide(&call.as_call()),
        };
        serde_json::to_string(&pinned).unwrap() + "\n"
    });
    let now: String = lines.collect();
    let file = folder.join("decisions.jsonl");
    #[allow(clippy::disallowed_methods, reason = "the switch of every expectation")]
    if env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&file, &now).unwrap();
    }
    let pinned = fs::read_to_string(&file).unwrap_or_default();
    for (number, (now, pinned)) in now.lines().zip(pinned.lines()).enumerate() {
        assert_eq!(
            now,
            pinned,
            "decisions.jsonl:{}; if it is meant: UPDATE_EXPECT=1 cargo test -p harn-policy --test it files",
            number + 1
        );
    }
    assert_eq!(
        now.lines().count(),
        pinned.lines().count(),
        "UPDATE_EXPECT=1 cargo test -p harn-policy"
    );
    for line in pinned.lines() {
        let _: Pinned = serde_json::from_str(line).unwrap();
    }
}
