//! Tables of decisions: the policy, the call, and the expected action with its source.

use crate::decide_support::*;
use harn_model::{
    Grant, GrantEffect, GrantSubject, PolicyAction, RiskLabel, SideEffectLevel, ToolKind,
};
use harn_policy::{
    SessionMode, ToolApprovalPolicy, grant_for_call,
    shell::{LineDoubt, ShellLine},
};
use serde_json::json;

fn check(table: &[(&str, Owned, &str)]) {
    for (policy, call, expected) in table {
        let decision = decide(policy, call);
        assert_eq!(
            &outcome(&decision),
            expected,
            "{policy}\n{call:?}\n{decision:?}"
        );
        assert!(!decision.reason.is_empty());
    }
}

#[test]
fn path_in_another_case_is_denied_but_not_allowed() {
    let table = [
        (
            "rules = [{ deny = { path = 'Src/*.PEM' } }]",
            "src/a.pem",
            "deny rules #0",
        ),
        (
            "rules = [{ ask = { path = 'SRC/**' } }]",
            "src/a",
            "ask rules #0",
        ),
        (
            "rules = [{ allow = { path = 'SRC/**' } }]",
            "src/a",
            "ask mode ask",
        ),
        (
            "rules = [{ allow = { path = 'src/**' } }]",
            "src/a",
            "allow rules #0",
        ),
        // An ask rule for an outside path loosens, so here case counts.
        (
            "rules = [{ ask = { path = '/ETC/**' } }]",
            "/etc/x",
            "deny default_external_path",
        ),
        (
            "write_path_allowlist = ['SRC/**']",
            "src/a",
            "deny write_path_allowlist",
        ),
    ];
    for (policy, path, expected) in table {
        assert_eq!(
            outcome(&decide(policy, &edit(&[path]))),
            expected,
            "{policy}"
        );
    }
}

#[test]
fn auto_mode_allows_git_only_in_the_session_directory() {
    let auto = |line: &str, paths: &[&str]| {
        let call = run(line).paths(paths).with_mode(SessionMode::Auto);
        outcome(&decide("", &call.looked_up()))
    };
    assert_eq!(auto("git status", &[]), "allow mode auto");
    assert_eq!(auto("git status", &["."]), "allow mode auto");
    assert_eq!(auto("git status", &["src"]), "ask mode auto");
    assert_eq!(auto("ls; git ls-files", &["src"]), "ask mode auto");
    assert_eq!(auto("git rev-parse --all", &["/more"]), "ask mode auto");
    assert_eq!(auto("ls", &["src"]), "allow mode auto");
    // Without the disk, the repository is unknown.
    let unknown = run("git status").with_mode(SessionMode::Auto);
    assert_eq!(outcome(&decide("", &unknown)), "ask mode auto");
}

#[test]
fn trailing_star_allows_only_words_inside_the_directory() {
    let cat = "rules = [{ allow = { command = 'cat *' } }]";
    let name = "rules = [{ allow = { command_identity = 'cat' } }]";
    let etc = "rules = [{ allow = { command = 'cat /etc/*' } }]";
    check(&[
        (cat, run("cat a src/b"), "allow rules #0"),
        (cat, run("cat /etc/hostname"), "ask mode ask"),
        (cat, run("cat ../x"), "ask mode ask"),
        (cat, run("cat --x=/etc/x"), "ask mode ask"),
        (cat, run("cat a; cat /etc/hostname"), "ask mode ask"),
        (name, run("cat a"), "allow rules #0"),
        (name, run("cat /etc/hostname"), "ask mode ask"),
        (etc, run("cat /etc/hostname"), "allow rules #0"),
    ]);
}

#[test]
fn trailing_star_allows_no_link_that_leads_outside() {
    let copy = "rules = [{ allow = { command = 'cp *' } }]";
    let name = "rules = [{ allow = { command_identity = 'cp' } }]";
    let spelled = "rules = [{ allow = { command = 'cp a leaves/x' } }]";
    let middle = "rules = [{ allow = { command = 'cp * leaves/x' } }]";
    let linked = |line: &str| run(line).looked_up();
    let auto = |line: &str| linked(line).with_mode(SessionMode::Auto);
    check(&[
        (copy, linked("cp a src/b"), "allow rules #0"),
        (copy, linked("cp a stays/b"), "allow rules #0"),
        (copy, linked("cp a leaves/b"), "ask mode ask"),
        (copy, linked("cp a dangles"), "ask mode ask"),
        (copy, run("cp a leaves/b"), "allow rules #0"),
        (copy, linked("cp a b; cp a leaves/b"), "ask mode ask"),
        (name, linked("cp a stays/b"), "allow rules #0"),
        (name, linked("cp a leaves/b"), "ask mode ask"),
        (spelled, linked("cp a leaves/x"), "allow rules #0"),
        (middle, linked("cp a leaves/x"), "ask mode ask"),
        ("", auto("cat stays/x"), "allow mode auto"),
        ("", auto("cat leaves/x"), "ask mode auto"),
        ("", auto("cat < leaves/x"), "ask mode auto"),
        ("", auto("echo leaves"), "allow mode auto"),
        (
            "rules = [{ deny = { path = 'src/**' } }]",
            linked("cp a stays/b"),
            "deny rules #0",
        ),
        (
            "rules = [{ deny = { path = '/etc/**' } }]",
            linked("cp leaves/x b"),
            "deny rules #0",
        ),
        (
            "auto_approve = ['run']",
            linked("echo a > leaves/x"),
            "ask default_external_path",
        ),
    ]);
    let reason = decide("", &auto("cat leaves/x")).reason;
    let expected = "the session's mode is auto: leaves/x may lead outside the session's directories through a link";
    assert_eq!(reason, expected);
    let many: String = (0..12).map(|at| format!("cd d{at}; ")).collect();
    let all = "rules = [{ allow = { command = ['cd *', 'cp *'] } }]";
    let unsure = decide(all, &linked(&format!("{many}cp a b")));
    assert_eq!(unsure.action, PolicyAction::Ask, "{unsure:?}");
    let words = "a ".repeat(1500);
    let long = |folders: &str| decide(all, &linked(&format!("{folders}cp {words}b"))).action;
    assert_eq!(long("cd d1; "), PolicyAction::Allow);
    assert_eq!(long("cd d1; cd d2; cd d3; "), PolicyAction::Ask);
}

#[test]
fn file_read_by_redirection_counts_as_a_word() {
    let cat = "rules = [{ allow = { command = 'cat *' } }]";
    let etc = "rules = [{ allow = { command = 'cat /etc/*' } }, { allow = { command = 'cat' } }]";
    check(&[
        (cat, run("cat < a"), "allow rules #0"),
        (cat, run("cat < /dev/null"), "allow rules #0"),
        (cat, run("cat < ../a"), "ask mode ask"),
        (cat, run("cat a; cat < /etc/x"), "ask mode ask"),
        (etc, run("cat < /etc/x"), "allow rules #1"),
        (etc, run("cat < /srv/x"), "ask mode ask"),
    ]);
}

#[test]
fn writing_what_decides_about_programs_asks_whatever_is_allowed() {
    let all = "auto_approve = ['*']\nrules = [{ allow = { command = ['cp *', 'cat *', 'make'] } }, \
               { allow = { path = '**' } }]";
    let auto = |call: Owned| call.with_mode(SessionMode::Auto);
    let asks = "ask protected_path";
    check(&[
        (all, edit(&["harn.toml"]), asks),
        (all, auto(edit(&["harn.toml"])), asks),
        (all, auto(edit(&["src/deep/HARN.toml"])), asks),
        (all, auto(edit(&["src/a", "harn.toml"])), asks),
        ("", auto(edit(&["skills/deploy/SKILL.md"])), asks),
        ("", auto(edit(&["skills/new/file"])), asks),
        ("", auto(edit(&["tools/server.py"])), asks),
        (
            "",
            auto(call("mv").kind(ToolKind::Move).paths(&["tools", "old"])),
            asks,
        ),
        (
            "",
            auto(call("rm").kind(ToolKind::Delete).paths(&["skills"])),
            asks,
        ),
        ("", auto(edit(&["tools/other.py"])), "allow mode auto"),
        (
            "",
            auto(read(&["harn.toml", "skills/a"])),
            "allow mode auto",
        ),
        (all, auto(call("host_tool").paths(&["harn.toml"])), asks),
        (all, run("cp a harn.toml"), asks),
        (all, run("cp a sub/harn.toml"), asks),
        (all, run("cp a skills/x").looked_up(), asks),
        (all, run("cp -r a tools").looked_up(), asks),
        (
            all,
            run("cp a tools/other.py").looked_up(),
            "allow rules #0",
        ),
        (all, run("cat a > ./skills/x").looked_up(), asks),
        (all, run("cat skills/x").looked_up(), "allow rules #0"),
        (all, run("cat a > harn.toml"), asks),
        (all, run("cat harn.toml"), "allow rules #0"),
        (all, run("make").paths(&["tools"]), "allow rules #0"),
        (
            "",
            edit(&["harn.toml"]).with_mode(SessionMode::ReadOnly),
            "deny mode read-only",
        ),
        (
            "auto_deny = ['edit_file']",
            edit(&["harn.toml"]),
            "deny auto_deny edit_file #0",
        ),
    ]);
    let edited = auto(edit(&["harn.toml"]).with_arguments(json!({"path": "harn.toml"})));
    let subject = GrantSubject::Paths(vec!["harn.toml".to_owned()]);
    let line = auto(run("cp a harn.toml"));
    let argv = ["cp", "a", "harn.toml"].map(str::to_owned);
    for (call, subject) in [(edited, subject), (line, GrantSubject::Argv(argv.into()))] {
        // No such grant is offered, but an older file may have one.
        assert_eq!(grant_for_call(&call.as_call(), GrantEffect::Allow), None);
        assert!(grant_for_call(&call.as_call(), GrantEffect::Deny).is_some());
        let grant = |effect| Grant {
            id: "g-1".to_owned(),
            effect,
            workspace: "/w".to_owned(),
            tool: call.tool.clone(),
            kind: call.kind,
            subject: subject.clone(),
        };
        check(&[
            (
                "",
                call.clone().with_grants(&[&grant(GrantEffect::Allow)]),
                asks,
            ),
            (
                "",
                call.clone().with_grants(&[&grant(GrantEffect::Deny)]),
                "deny grant g-1",
            ),
        ]);
    }
}

#[test]
fn pattern_that_may_name_what_decides_about_programs_asks() {
    let all =
        "rules = [{ allow = { command = ['cp *', 'git *', 'cat *', 'git checkout x -- *'] } }]";
    let asks = "ask protected_path";
    check(&[
        // A shell does not expand these, but some programs do.
        (all, run("cp 'evil/harn.tom?' ."), asks),
        (all, run("cp --from='evil/HARN.*' ."), asks),
        (all, run("git checkout x -- '*.toml'"), asks),
        (all, run("git checkout x -- ':(glob)**/[h]arn*'"), asks),
        (all, run("cp 'evil/*.rs' ."), "allow rules #0"),
        (all, run("cp 'evil/*' ."), "allow rules #0"),
        (all, run("cat 'harn.tom?'"), "allow rules #0"),
        // One that a shell expands asks in any case.
        (all, run("cp evil/harn.tom? ."), asks),
        (all, run("cp evil/* ."), "ask default_command_guard"),
        (all, run("cp {evil,x}/* ."), "ask default_command_guard"),
    ]);
}

#[test]
fn command_that_names_a_protected_path_asks() {
    let all = "rules = [{ allow = { command = ['cp *', 'cat *', 'tar *', 'touch *'] } }]";
    let auto = |line: &str| run(line).with_mode(SessionMode::Auto);
    let asks = "ask protected_path";
    check(&[
        (all, run("cp README.md .git/hooks/pre-commit"), asks),
        (all, run("cp a sub/.GIT/config"), asks),
        (all, run("cp --target-directory=.git/hooks a"), asks),
        (all, run("cp -t.git/hooks a"), asks),
        (all, run("cat a; touch ./.harn/x"), asks),
        (all, run("cp a .gitignore"), "allow rules #0"),
        (all, run("cat .git/config"), "allow rules #0"),
        ("", auto("cat .git/config"), "allow mode auto"),
        ("", auto("cp a .git/config"), asks),
        ("auto_approve = ['run']", run("cp a .git/config"), asks),
        (
            "rules = [{ deny = { command = 'cp' } }]",
            run("cp a .git/config"),
            "deny rules #0",
        ),
        (
            "",
            run("cp a .git/config").with_mode(SessionMode::ReadOnly),
            "deny mode read-only",
        ),
    ]);
    let call = run("cp README.md .git/hooks/pre-commit");
    let decision = decide(all, &call);
    assert_eq!(
        decision.reason,
        "the command names .git/hooks/pre-commit, which is never written"
    );
    assert!(decision.risk_labels.contains(&RiskLabel::ProtectedPath));
    let grant = harn_policy::grant_for_call(&call.as_call(), GrantEffect::Allow).unwrap();
    let known = decide(all, &call.with_grants(&[&grant]));
    assert_eq!(known.action, PolicyAction::Allow);
}

#[test]
fn deny_rule_for_a_path_also_denies_commands_that_name_it() {
    let secrets = "auto_approve = ['run']\nrules = [\
        { deny = { path = ['**/.env', '*.pem', 'keys/**', '/w/abs/**', '/etc/shadow'] } }]";
    let denied = "deny rules #0";
    for line in [
        "cat .env",
        "cat < .env",
        "cat ./src/../.ENV",
        "cat '.env'",
        "cp .env src/e",
        "echo a > key.pem",
        "head --lines=3 ./key.pem",
        "tar cf x --file=key.pem",
        "dd if=.env",
        "grep -f.env a",
        "git show HEAD:.env",
        "ls; true && wc keys/a",
        "cat /w/keys/a",
        "cat ../w/keys/a",
        "cat abs/a",
        "cat /w/abs/a",
        "cat /etc/../etc/shadow",
        "cat ../etc/shadow",
        "cat /home/me/.env",
        "timeout 3 cat .env",
        "cd keys && cat a",
        "cd src; cd ../keys; cat a",
        "(cd src); cd keys; cat a",
        "cd a; cd b; cd c; cd d; cd e; cd f; cd g; cd h; cd i; cd /w/keys; cat a",
        "tar -C keys -cf out.tar a",
        "git -Ckeys show a",
        "make --directory=keys a",
        "sh -c 'cat .env'",
    ] {
        let call = run(line);
        assert_eq!(outcome(&decide(secrets, &call)), denied, "{line}");
        let auto = run(line).with_mode(SessionMode::Auto);
        assert_eq!(outcome(&decide(secrets, &auto)), denied, "{line}");
    }
    for line in ["cat .env.example", "cat a.pem.txt", "ls", "cat mykeys/a"] {
        let allowed = "allow auto_approve run #0";
        assert_eq!(outcome(&decide(secrets, &run(line))), allowed, "{line}");
    }
    // More folders than are combined: the line may run in any of them.
    let many: String = (0..12).map(|at| format!("cd d{at}; ")).collect();
    let many = run(&format!("{many} cat a"));
    assert_eq!(outcome(&decide(secrets, &many)), denied);
    let folders: String = (0..10).map(|at| format!("cd d{at}; ")).collect();
    let cat = |words: usize| {
        let words: String = (0..words).map(|at| format!(" w{at}")).collect();
        outcome(&decide(secrets, &run(&format!("{folders}cat{words}"))))
    };
    assert_eq!(cat(20), "allow auto_approve run #0");
    assert_eq!(cat(70), denied, "more words in folders than are compared");
    // A declared file is no folder in which the line runs.
    let written = run("cat a > keys2/b").paths(&["keys2/b"]);
    let below = "auto_approve = ['run']\nrules = [{ deny = { path = 'keys2/b/a' } }]";
    assert_ne!(outcome(&decide(below, &written)), denied);
    let there = run("cat a").paths(&["keys"]);
    let only = |rule: &str| format!("auto_approve = ['*']\nrules = [{rule}]");
    check(&[
        (secrets, there, denied),
        // All other matchers of the rule must match as well.
        (
            &only("{ ask = { path = '*.pem', tool = 'run' } }"),
            run("cat a.pem"),
            "ask rules #0",
        ),
        (
            &only("{ deny = { path = '*.pem', tool = 'other' } }"),
            run("cat a.pem"),
            "allow auto_approve * #0",
        ),
        (
            &only("{ deny = { path = '*.pem', command = 'cp' } }"),
            run("cat a.pem"),
            "allow auto_approve * #0",
        ),
        (
            &only("{ deny = { path = '*.pem', command = 'cp' } }"),
            run("cp a.pem b"),
            "deny rules #0",
        ),
        // For an allow rule, a word is not a declared path.
        (
            "rules = [{ allow = { path = 'src/**' } }]",
            run("cat src/a"),
            "ask mode ask",
        ),
        // A class matches less when case is ignored, and an ask or deny rule must miss nothing.
        (
            "rules = [{ ask = { path = '[!A].env' } }]",
            run("cat a.env").with_mode(SessionMode::Auto),
            "ask rules #0",
        ),
    ]);
}

#[test]
fn strongest_list_decides() {
    check(&[
        (
            "auto_deny = ['x', 'rm_*']",
            call("rm_all"),
            "deny auto_deny rm_* #1",
        ),
        (
            "require_approval = ['*_file']",
            read(&["a"]),
            "ask require_approval *_file #0",
        ),
        (
            "auto_approve = ['edit_*']",
            edit(&["a"]),
            "allow auto_approve edit_* #0",
        ),
        ("auto_approve = ['edit_']", edit(&["a"]), "ask mode ask"),
        ("auto_approve = ['Edit_*']", edit(&["a"]), "ask mode ask"),
        // The strongest wins, in any position.
        (
            "auto_approve = ['*']\nrequire_approval = ['edit_file']",
            edit(&["a"]),
            "ask require_approval edit_file #0",
        ),
        (
            "auto_approve = ['*']\nrequire_approval = ['*']\nauto_deny = ['*']",
            edit(&["a"]),
            "deny auto_deny * #0",
        ),
        // The receipt names the first match of a list.
        (
            "auto_deny = ['*mid*']",
            call("a\nmid\nb"),
            "deny auto_deny *mid* #0",
        ),
        (
            "auto_deny = ['a*', 'ab']",
            call("ab"),
            "deny auto_deny a* #0",
        ),
    ]);
}

#[test]
fn write_allowlist_restricts_written_paths() {
    let src = "write_path_allowlist = ['src/**']\nauto_approve = ['*']";
    check(&[
        (src, edit(&["src/a.rs"]), "allow auto_approve * #0"),
        (src, edit(&["docs/a.md"]), "deny write_path_allowlist"),
        (
            src,
            edit(&["src/a.rs", "docs/a.md"]),
            "deny write_path_allowlist",
        ),
        // Judged by the target, not by the spelling.
        (
            src,
            edit(&["src/../docs/a.md"]),
            "deny write_path_allowlist",
        ),
        (src, edit(&["docs/../src/a.rs"]), "allow auto_approve * #0"),
        (src, edit(&["/w/src/a.rs"]), "allow auto_approve * #0"),
        (src, edit(&["stays/a.rs"]), "allow auto_approve * #0"),
        (src, edit(&["srcs/a.rs"]), "deny write_path_allowlist"),
        (src, edit(&["/more/src/a.rs"]), "deny write_path_allowlist"),
        (
            "write_path_allowlist = ['/more/*']",
            edit(&["/more/a"]),
            "ask mode ask",
        ),
        // The list does not restrict calls that only read; a call without a kind counts as writing.
        (src, read(&["docs/a.md"]), "allow auto_approve * #0"),
        (
            src,
            call("x").paths(&["docs/a.md"]),
            "deny write_path_allowlist",
        ),
        (
            src,
            read(&["docs/a.md"]).with_side_effect(SideEffectLevel::WorkspaceWrite),
            "deny write_path_allowlist",
        ),
        // Without declared paths there is nothing to check.
        (src, call("x"), "allow auto_approve * #0"),
        // A denied name precedes a path, and both precede rules.
        (
            "write_path_allowlist = ['src/**']\nauto_deny = ['edit_file']",
            edit(&["docs/a.md"]),
            "deny auto_deny edit_file #0",
        ),
        (
            "write_path_allowlist = ['src/**']\nrules = [{ id = 'r', deny = '*' }]",
            edit(&["docs/a.md"]),
            "deny write_path_allowlist",
        ),
    ]);
}

#[test]
fn write_allowlist_restricts_redirections() {
    let src = "write_path_allowlist = ['src/**', '/srv/**']\nauto_approve = ['*']";
    let denied = "deny write_path_allowlist";
    check(&[
        (src, run("echo a > src/x"), "allow auto_approve * #0"),
        (
            src,
            run("echo a > ./src/../src/x"),
            "ask default_external_path",
        ),
        (src, run("echo a > x"), denied),
        (src, run("echo a >> docs/x"), denied),
        (src, run("echo a > src/../x"), denied),
        (src, run("echo a > SRC/x"), denied),
        (src, run("echo a > /etc/x"), denied),
        (src, run("echo a > /w/src/x"), "ask default_external_path"),
        (src, run("echo a > /srv/x"), "ask default_external_path"),
        (src, run("ls; echo a > x"), denied),
        (src, run("cat < x > /dev/null"), "allow auto_approve * #0"),
        // A declared path is judged by its target.
        (
            src,
            run("echo a > stays/x").paths(&["stays/x"]),
            "allow auto_approve * #0",
        ),
        (src, run("echo a > stays/x"), denied),
    ]);
    let decision = decide(src, &run("echo a > docs/x"));
    assert_eq!(decision.reason, "docs/x is not in write_path_allowlist");
    assert!(
        decision
            .risk_labels
            .contains(&RiskLabel::WritePathNotAllowed)
    );
}

#[test]
fn rule_applies_if_every_matcher_matches() {
    let two = "rules = [{ id = 'a', allow = 'edit_*' }, { id = 'b', allow = '*_file' }]";
    check(&[
        (
            "rules = [{ deny = 'rm_*' }]",
            call("rm_all"),
            "deny rules #0",
        ),
        (two, edit(&["a"]), "allow rules a #0"),
        (
            "rules = [{ allow = '*' }, { ask = '*' }, { id = 'no', deny = '*' }, { deny = 'e*' }]",
            edit(&["a"]),
            "deny rules no #2",
        ),
        // Of equal actions the first counts: rules before lists, except denied names.
        (
            "require_approval = ['*']\nrules = [{ id = 'r', ask = '*' }]",
            edit(&["a"]),
            "ask rules r #0",
        ),
        (
            "auto_approve = ['*']\nrules = [{ id = 'r', allow = '*' }]",
            edit(&["a"]),
            "allow rules r #0",
        ),
        (
            "auto_deny = ['*']\nrules = [{ deny = '*' }]",
            edit(&["a"]),
            "deny auto_deny * #0",
        ),
        // Every matcher must match, by one entry of each.
        (
            "rules = [{ deny = { tool = ['x', 'edit_file'], mode = 'ask' } }]",
            edit(&["a"]),
            "deny rules #0",
        ),
        (
            "rules = [{ deny = { tool = 'edit_file', mode = ['auto', 'read-only'] } }]",
            edit(&["a"]),
            "ask mode ask",
        ),
        (
            "rules = [{ deny = { tool_kind = 'edit' } }]",
            edit(&["a"]),
            "deny rules #0",
        ),
        (
            "rules = [{ deny = { tool_kind = 'other' } }]",
            call("x"),
            "deny rules #0",
        ),
        (
            "rules = [{ deny = { tool_kind = 'edit' } }]",
            call("x"),
            "ask mode ask",
        ),
        (
            "rules = [{ ask = { side_effect = 'network' } }]",
            read(&["a"]).with_side_effect(SideEffectLevel::Network),
            "ask rules #0",
        ),
        (
            "rules = [{ ask = { side_effect = 'none' } }]",
            read(&["a"]),
            "allow mode ask",
        ),
        (
            "rules = [{ deny = { agent = 'w-*' } }]",
            read(&[]).with_agent("w-1"),
            "deny rules #0",
        ),
        (
            "rules = [{ deny = { agent = '*' } }]",
            read(&[]),
            "allow mode ask",
        ),
        // Of several capabilities, an ask or deny rule needs one, and an allow rule all.
        (
            "rules = [{ deny = { capability = 'process.*' } }]",
            read(&[]).with_capabilities(&["process.exec", "workspace.read"]),
            "deny rules #0",
        ),
        (
            "rules = [{ allow = { capability = 'workspace.*' } }]",
            call("x").with_capabilities(&["process.exec", "workspace.read"]),
            "ask mode ask",
        ),
        (
            "rules = [{ allow = { capability = 'workspace.*' } }]",
            call("x").with_capabilities(&["workspace.read", "workspace.write"]),
            "allow rules #0",
        ),
        (
            "rules = [{ allow = { capability = '*' } }]",
            call("x"),
            "ask mode ask",
        ),
    ]);
}

#[test]
fn path_rules_decide_by_the_target() {
    let allow = "rules = [{ allow = { path = 'src/**' } }]";
    let deny = "rules = [{ deny = { path = ['*.env', 'secret/**', 'stays/**'] } }]";
    check(&[
        (allow, edit(&["src/a"]), "allow rules #0"),
        (allow, edit(&["src/a", "docs/a"]), "ask mode ask"),
        (allow, edit(&[]), "ask mode ask"),
        (allow, edit(&["src/../docs/a"]), "ask mode ask"),
        (deny, read(&["a", "deep/.env"]), "deny rules #0"),
        (deny, read(&["x/../secret/key"]), "deny rules #0"),
        (deny, read(&["/more/b.env"]), "deny rules #0"),
        (deny, read(&["a"]), "allow mode ask"),
        // A link also matches by its own name.
        (deny, read(&["stays/a"]), "deny rules #0"),
        (
            "rules = [{ allow = { path = 'stays/**' } }]",
            edit(&["stays/a"]),
            "ask mode ask",
        ),
        (
            "rules = [{ ask = { path = 'src/*.rs' } }]",
            read(&["src/a.rs"]),
            "ask rules #0",
        ),
        (
            "rules = [{ ask = { path = 'src/*.rs' } }]",
            read(&["src/b/a.rs"]),
            "allow mode ask",
        ),
        (
            "rules = [{ allow = { path = '/more/**' } }]",
            edit(&["/more/a"]),
            "allow rules #0",
        ),
    ]);
}

#[test]
fn path_guards_deny_what_no_rule_names() {
    let all = "auto_approve = ['*']";
    let etc = "rules = [{ id = 'etc', allow = { tool = 'read_*', path = '/etc/**' } }]";
    check(&[
        (all, read(&["/etc/passwd"]), "deny default_external_path"),
        (all, read(&["../x"]), "deny default_external_path"),
        (all, read(&["leaves/passwd"]), "deny default_external_path"),
        (all, read(&["dangles"]), "deny default_path_guard"),
        (all, read(&[""]), "deny default_path_guard"),
        (all, read(&["a\0b"]), "deny default_path_guard"),
        (all, edit(&[".git/hooks/pre-commit"]), "deny protected_path"),
        (all, edit(&["deep/.GIT/config"]), "deny protected_path"),
        (all, edit(&["state/x"]), "deny protected_path"),
        (all, read(&[".git/config"]), "allow auto_approve * #0"),
        // A guard precedes every other source that denies.
        (
            "auto_deny = ['*']",
            read(&["/etc/passwd"]),
            "deny default_external_path",
        ),
        // Only a rule that names an outside path allows it, and only for the calls of the rule.
        (etc, read(&["/etc/passwd"]), "allow rules etc #0"),
        (etc, read(&["leaves/passwd"]), "allow rules etc #0"),
        (etc, edit(&["/etc/passwd"]), "deny default_external_path"),
        (
            etc,
            read(&["/etc/passwd", "/opt/x"]),
            "deny default_external_path",
        ),
        (etc, read(&["/etc/passwd", "src/a"]), "allow mode ask"),
        (etc, read(&["/etcetera"]), "deny default_external_path"),
        (
            "rules = [{ ask = { path = '/etc/**' } }]",
            read(&["/etc/passwd"]),
            "ask rules #0",
        ),
        (
            "rules = [{ allow = { path = '*' } }]",
            read(&["/etc/passwd"]),
            "deny default_external_path",
        ),
        (
            "rules = [{ allow = { path = '*passwd' } }]",
            read(&["/etc/passwd"]),
            "deny default_external_path",
        ),
        (
            "rules = [{ deny = { path = '/etc/**' } }, { allow = { path = '/etc/**' } }]",
            read(&["/etc/passwd"]),
            "deny rules #0",
        ),
        (
            "only_tightens = true\nrules = [{ allow = { path = '/etc/**' } }]",
            read(&["/etc/passwd"]),
            "deny default_external_path",
        ),
        (
            "rules = [{ allow = { path = '/opt/**' } }]",
            edit(&["/opt/.git/config"]),
            "deny protected_path",
        ),
        (
            "write_path_allowlist = ['src/**']\nrules = [{ allow = { path = '/opt/**' } }]",
            edit(&["/opt/x"]),
            "deny write_path_allowlist",
        ),
    ]);
}

#[test]
fn command_rules_must_allow_every_command_of_a_line() {
    let rules = "rules = [
        { id = 'test', allow = { command = ['cargo test *', 'cargo build'] } },
        { id = 'git', allow = { command_identity = 'git' } },
        { id = 'rm', deny = { command = 'rm' } },
        { id = 'push', ask = { command = 'git push' } },
    ]";
    let of = |line: ShellLine| call("run").kind(ToolKind::Execute).line("…", line);
    let test: &[&str] = &["cargo", "test", "-q"];
    check(&[
        (rules, of(line(&[test])), "allow rules test #0"),
        (
            rules,
            of(line(&[&["cargo", "build"]])),
            "allow rules test #0",
        ),
        (
            rules,
            of(line(&[&["cargo", "build", "-r"]])),
            "ask mode ask",
        ),
        // Rules of the policy must cover every command of the line; any of them may.
        (
            rules,
            of(line(&[test, &["git", "log"]])),
            "allow rules test #0",
        ),
        (
            rules,
            of(line(&[&["git", "log"], test])),
            "allow rules test #0",
        ),
        (rules, of(line(&[test, &["curl", "x"]])), "ask mode ask"),
        (
            rules,
            of(line(&[test, &["/bin/RM", "x"]])),
            "deny rules rm #2",
        ),
        (
            rules,
            of(line(&[test, &["git", "push", "-f"]])),
            "ask rules push #3",
        ),
        (rules, of(line(&[&["./git", "log"]])), "ask mode ask"),
        (rules, of(line(&[])), "ask mode ask"),
        (rules, call("run").kind(ToolKind::Execute), "ask mode ask"),
        // Rules cover only commands, no written files.
        (
            rules,
            of(with_written_file(line(&[test]), "out.txt")),
            "ask mode ask",
        ),
        (
            rules,
            of(with_written_file(line(&[test]), "/dev/null")),
            "allow rules test #0",
        ),
        (
            rules,
            of(with_doubt(
                line(&[test]),
                LineDoubt::Dynamic("$x".to_owned()),
            )),
            "ask default_command_guard",
        ),
        // A command that can run more than it shows needs a rule that shows it all.
        (rules, of(with_exec_capable(line(&[test]))), "ask mode ask"),
        (
            rules,
            of(with_exec_capable(line(&[&["git", "log"]]))),
            "ask mode ask",
        ),
        (
            rules,
            of(with_exec_capable(line(&[&["cargo", "build"]]))),
            "allow rules test #0",
        ),
        // A rule for commands has other matchers too.
        (
            "rules = [{ allow = { command = 'ls', tool = 'other' } }]",
            of(line(&[&["ls"]])),
            "ask mode ask",
        ),
        (
            "rules = [{ allow = { command = 'ls *', command_identity = 'cat' } }]",
            of(line(&[&["ls"]])),
            "ask mode ask",
        ),
        (
            "rules = [{ allow = { command = 'ls', tool = 'other' } }, { allow = { command = 'pwd' } }]",
            of(line(&[&["pwd"], &["ls"]])),
            "ask mode ask",
        ),
    ]);
}

#[test]
fn command_guards_ask_about_every_doubt() {
    let all = "auto_approve = ['*']";
    let of = |line: ShellLine| call("run").kind(ToolKind::Execute).line("…", line);
    let ls = || line(&[&["ls"]]);
    let doubts = [
        (LineDoubt::TooLong, RiskLabel::UnparsableCommand),
        (LineDoubt::TooMuch, RiskLabel::UnparsableCommand),
        (LineDoubt::Unparsable, RiskLabel::UnparsableCommand),
        (
            LineDoubt::Dynamic("$x".to_owned()),
            RiskLabel::DynamicCommand,
        ),
        (
            LineDoubt::Environment("A=1".to_owned()),
            RiskLabel::DynamicCommand,
        ),
    ];
    for (doubt, label) in doubts {
        for mode in [
            SessionMode::Ask,
            SessionMode::AcceptEdits,
            SessionMode::Auto,
        ] {
            let call = of(with_doubt(ls(), doubt.clone())).with_mode(mode);
            let decision = decide(all, &call);
            assert_eq!(outcome(&decision), "ask default_command_guard", "{doubt:?}");
            assert!(decision.risk_labels.contains(&label), "{decision:?}");
        }
    }
    check(&[
        (
            all,
            of(with_written_file(ls(), ".git/hooks/x")),
            "deny protected_path",
        ),
        (
            all,
            of(with_written_file(ls(), "a/../.GIT/x")),
            "deny protected_path",
        ),
        (
            all,
            of(with_written_file(ls(), "/etc/x")),
            "ask default_external_path",
        ),
        (
            all,
            of(with_written_file(ls(), "../x")),
            "ask default_external_path",
        ),
        (
            all,
            of(with_written_file(ls(), "~/x")),
            "ask default_external_path",
        ),
        (
            all,
            of(with_written_file(ls(), "$x")),
            "ask default_external_path",
        ),
        (
            all,
            of(with_written_file(ls(), "/dev/tty")),
            "ask default_external_path",
        ),
        (
            all,
            of(with_written_file(ls(), "/dev/stderr")),
            "allow auto_approve * #0",
        ),
        (
            all,
            of(with_written_file(ls(), "out.txt")),
            "allow auto_approve * #0",
        ),
        (
            "rules = [{ id = 'no', deny = { command = 'ls' } }]",
            of(with_doubt(ls(), LineDoubt::Unparsable)),
            "deny rules no #0",
        ),
    ]);
}

#[test]
fn modes_decide_as_in_the_table() {
    use SessionMode::{AcceptEdits, Ask, Auto, ReadOnly};
    let kinds = |tool: ToolKind| call("t").kind(tool).paths(&["src/a"]);
    // Each call, and the action in each mode: read-only, ask, accept-edits, auto.
    let table = [
        (read(&["a"]), "allow allow allow allow"),
        (kinds(ToolKind::Search), "allow allow allow allow"),
        (kinds(ToolKind::Think), "allow allow allow allow"),
        (kinds(ToolKind::Fetch), "allow allow allow allow"),
        (edit(&["a"]), "deny ask allow allow"),
        (edit(&["/more/a"]), "deny ask allow allow"),
        (edit(&["stays/a"]), "deny ask allow allow"),
        (edit(&[]), "deny ask ask ask"),
        (
            edit(&["a"]).with_side_effect(SideEffectLevel::WorkspaceWrite),
            "deny ask allow allow",
        ),
        (
            edit(&["a"]).with_side_effect(SideEffectLevel::ProcessExec),
            "deny ask ask ask",
        ),
        (
            edit(&["a"]).with_side_effect(SideEffectLevel::Network),
            "deny ask ask ask",
        ),
        (edit(&["a"]).command("ls"), "deny ask ask ask"),
        (kinds(ToolKind::Move), "deny ask ask allow"),
        (kinds(ToolKind::Delete), "deny ask ask allow"),
        (kinds(ToolKind::Other), "deny ask ask ask"),
        (kinds(ToolKind::Execute), "deny ask ask ask"),
        (call("t").paths(&["a"]), "deny ask ask ask"),
        (call("t"), "deny ask ask ask"),
        (
            read(&["a"]).with_side_effect(SideEffectLevel::WorkspaceWrite),
            "deny ask ask ask",
        ),
        (
            read(&["a"]).with_side_effect(SideEffectLevel::ProcessExec),
            "deny ask ask ask",
        ),
        (
            read(&["a"]).with_side_effect(SideEffectLevel::Network),
            "deny ask ask ask",
        ),
        (
            kinds(ToolKind::Fetch).with_side_effect(SideEffectLevel::Network),
            "deny ask ask ask",
        ),
        (read(&["a"]).command("ls"), "deny ask ask ask"),
        (run("ls -l"), "deny ask ask allow"),
        (run("ls; cat a"), "deny ask ask allow"),
        (run("ls; rm a"), "deny ask ask ask"),
        (run("ls > out"), "deny ask ask ask"),
        (run("ls > out").paths(&["out"]), "deny ask ask allow"),
        (run("ls > /dev/null"), "deny ask ask allow"),
        (run("ls $x"), "deny ask ask ask"),
        (run("# nothing"), "deny ask ask ask"),
        (edit(&["/etc/a"]), "deny deny deny deny"),
        (edit(&[".git/a"]), "deny deny deny deny"),
    ];
    for (call, expected) in table {
        let said = [ReadOnly, Ask, AcceptEdits, Auto].map(|mode| {
            let decision = decide("", &call.clone().with_mode(mode));
            outcome(&decision).split(' ').next().unwrap().to_owned()
        });
        assert_eq!(said.join(" "), expected, "{call:?}");
    }
    check(&[
        // Read-only overrides whatever is allowed; the other modes count only if nothing else matches.
        (
            "auto_approve = ['*']",
            edit(&["a"]).with_mode(ReadOnly),
            "deny mode read-only",
        ),
        (
            "require_approval = ['*']",
            edit(&["a"]).with_mode(ReadOnly),
            "deny mode read-only",
        ),
        (
            "auto_deny = ['*']",
            edit(&["a"]).with_mode(ReadOnly),
            "deny auto_deny * #0",
        ),
        (
            "require_approval = ['*']",
            edit(&["a"]).with_mode(Auto),
            "ask require_approval * #0",
        ),
        ("auto_approve = ['*']", call("t"), "allow auto_approve * #0"),
        (
            "require_approval = ['*']",
            read(&["a"]).with_mode(ReadOnly),
            "ask require_approval * #0",
        ),
    ]);
}

#[test]
fn receipt_reason_is_readable() {
    let table = [
        (
            "auto_deny = ['rm_*']",
            call("rm_x"),
            "the tool is in auto_deny (\"rm_*\")",
        ),
        (
            "rules = [{ id = 'edit-src', ask = '*' }]",
            call("x"),
            "the rule \"edit-src\" asks",
        ),
        ("rules = [{ deny = '*' }]", call("x"), "rule 0 denies"),
        (
            "rules = [{ ask = '*', reason = 'patching needs a person' }]",
            call("x"),
            "patching needs a person",
        ),
        (
            "",
            read(&["../x"]),
            "../x is outside the session's directories",
        ),
        (
            "",
            read(&["leaves/x"]),
            "leaves/x leads outside the session's directories through a link",
        ),
        ("", edit(&[".git/x"]), ".git/x is never written"),
        (
            "write_path_allowlist = ['a']",
            edit(&["b"]),
            "b is not in write_path_allowlist",
        ),
        (
            "",
            call("x"),
            "the session's mode is ask: the call may change something",
        ),
        (
            "",
            call("x").with_mode(SessionMode::ReadOnly),
            "the session's mode is read-only: nothing is changed or run",
        ),
        (
            "",
            edit(&["../a\u{1b}[2J"]),
            "../a\\u{1b}[2J contains an invisible character",
        ),
    ];
    for (policy, call, expected) in table {
        assert_eq!(decide(policy, &call).reason, expected);
    }
}

#[test]
fn labels_are_sorted_and_name_facts_and_the_rule() {
    let table = [
        ("", call("x"), json!(["approval_required"])),
        ("", read(&["a"]), json!([])),
        (
            "rules = [{ deny = { path = '*' } }]",
            read(&["a"]),
            json!(["matched_deny_rule", "path_rule"]),
        ),
        ("auto_deny = ['*']", call("x"), json!(["matched_deny_rule"])),
        (
            "rules = [{ ask = { command = 'ls' } }]",
            run("ls"),
            json!(["approval_required", "command_rule"]),
        ),
        (
            "write_path_allowlist = ['a']",
            edit(&["/etc/x", "b", "dangles"]),
            json!(["external_path", "invalid_path", "write_path_not_allowed"]),
        ),
        (
            "rules = [{ allow = { path = '/etc/**' } }]",
            read(&["/etc/x"]),
            json!(["external_path", "path_rule"]),
        ),
        ("", edit(&[".git/x"]), json!(["protected_path"])),
    ];
    for (policy, call, expected) in table {
        let labels = serde_json::to_value(decide(policy, &call).risk_labels).unwrap();
        assert_eq!(labels, expected, "{policy}");
    }
}

#[test]
fn receipt_context_contains_the_judged_facts() {
    let call = run("git log | wc -l")
        .with_capabilities(&["process.exec", "a.b", "a.b"])
        .paths(&["src/b", "src/a", "src/a"])
        .with_agent("w-1");
    let context = decide("", &call).context;
    let shown: Vec<_> = context.paths.iter().map(|path| path.display()).collect();
    assert_eq!(shown, ["src/a", "src/b"]);
    assert_eq!(context.capabilities, ["a.b", "process.exec"]);
    assert_eq!(context.command_identities, ["git log", "wc -l"]);
    assert_eq!(context.agent.as_deref(), Some("w-1"));
    assert_eq!(context.mode.as_deref(), Some("ask"));
    assert_eq!(context.tool_kind, Some(ToolKind::Execute));
}

#[test]
fn policy_of_a_mode_decides_like_the_mode() {
    for mode in SessionMode::ALL {
        let policy = mode.to_policy();
        policy.compile().unwrap();
        // Where a mode does not look closer, its policy has the same result.
        for call in [
            read(&["a"]),
            read(&["a"]).with_side_effect(SideEffectLevel::Network),
            edit(&["a"]),
            call("x"),
            call("x").kind(ToolKind::Execute),
        ] {
            let call = call.with_mode(mode);
            let shown = decide_by(&policy, &call).action;
            assert_eq!(shown, decide("", &call).action, "{mode:?} {call:?}");
        }
    }
}

#[test]
fn empty_policy_leaves_the_decision_to_the_mode() {
    let policy = ToolApprovalPolicy::default().compile().unwrap();
    let asked = policy.decide(&call("x").as_call());
    assert_eq!(asked.action, PolicyAction::Ask);
    assert_eq!(asked, policy.decide(&call("x").as_call()));
}
