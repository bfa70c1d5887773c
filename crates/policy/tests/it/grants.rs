//! Grants: as narrow as the displayed call, never above a deny, and a file that people can edit.

use crate::decide_support::*;
use expect_test::expect;
use harn_model::{Grant, GrantEffect, GrantSubject, PolicyAction, ToolKind};
use harn_policy::{
    GrantFile, SessionMode, describe, describe_whole, grant_for_call, matches, shell::LineDoubt,
};
use proptest::{prop_assert_eq, proptest};
use serde_json::json;

fn allow_grant(call: &Owned) -> Grant {
    grant_for_call(&call.as_call(), GrantEffect::Allow)
        .unwrap_or_else(|| panic!("no grant: {call:?}"))
}

fn deny_grant(call: &Owned) -> Grant {
    grant_for_call(&call.as_call(), GrantEffect::Deny)
        .unwrap_or_else(|| panic!("no grant: {call:?}"))
}

#[test]
fn grant_contains_what_was_shown() {
    let table = [
        (run("cargo test"), "Argv([\"cargo\", \"test\"])"),
        (run("  cargo   'test' "), "Argv([\"cargo\", \"test\"])"),
        (
            run("cargo test").paths(&["."]),
            "Argv([\"cargo\", \"test\"])",
        ),
        (run("cargo test && ls"), "Line(\"cargo test && ls\")"),
        (run("ls > out"), "Line(\"ls > out\")"),
        (run("FOO=1 ls"), "Line(\"FOO=1 ls\")"),
        (
            edit(&["src/b", "a", "src/../a"]),
            "Paths([\"a\", \"src/b\"])",
        ),
        (edit(&["/more/x"]), "Paths([\"/more/x\"])"),
        (
            call("deploy").with_arguments(json!({"to": "prod", "at": 1})),
            "Arguments(Object {\"at\": Number(1), \"to\": String(\"prod\")})",
        ),
    ];
    for (call, expected) in table {
        let grant = allow_grant(&call);
        assert_eq!(format!("{:?}", grant.subject), expected);
        assert!(matches(&grant, &call.as_call()), "{grant:?}");
    }
}

#[test]
fn grant_includes_the_input_of_a_program() {
    for text in [
        "python3 <<E\nprint(1)\nE",
        "python3 <<< 'print(1)'",
        "sh <<'E'\nls\nE",
    ] {
        let call = run(text);
        match grant_for_call(&call.as_call(), GrantEffect::Allow).map(|grant| grant.subject) {
            None => {}
            Some(GrantSubject::Line(line)) => assert_eq!(line, text),
            Some(other) => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn call_without_a_narrow_grant_gets_none() {
    let long = "x".repeat(2000);
    let doubts = [
        LineDoubt::TooLong,
        LineDoubt::TooMuch,
        LineDoubt::Unparsable,
        LineDoubt::Dynamic("$x".to_owned()),
    ];
    let mut calls: Vec<Owned> = doubts
        .into_iter()
        .map(|doubt| call("run").line("ls", with_doubt(line(&[&["ls"]]), doubt)))
        .collect();
    calls.extend([
        run("ls $HOME"),
        run("cargo test").paths(&["src"]),
        call("x").with_arguments(json!({ "long": long })),
        edit(&["a", "/etc/passwd"]),
        edit(&[".git/config"]),
        edit(&["dangles"]),
        call("x").kind(ToolKind::Execute).paths(&["script.sh"]),
        // Other content of the arguments was in no label.
        run("ls").with_arguments(json!({"command": "ls", "env": {"PATH": "."}})),
        run("ls").with_arguments(json!({"command": "ls", "stdin": "x"})),
        run("ls").with_arguments(json!({"command": "rm x"})),
        run("ls").with_arguments(json!({})),
        run("ls").with_arguments(json!("ls")),
        run("ls").with_arguments(json!(null)),
        edit(&["a"]).with_arguments(json!({"path": "a", "to": "b"})),
        edit(&["a"]).with_arguments(json!({"path": "a", "content": {"of": "b"}})),
        edit(&["a"]).with_arguments(json!({"path": "a", "mode": 493})),
        edit(&["a"]).with_arguments(json!({"path": "a", "also": ["a", "b"]})),
        edit(&["a"])
            .with_arguments(json!({"path": "a", "edits": [{"path": "b", "new_text": "x"}]})),
        edit(&["a"]).with_arguments(json!(["a"])),
        read(&["a"]).with_arguments(json!({"path": "a", "content": "x"})),
        call("mv")
            .paths(&["a"])
            .with_arguments(json!({"path": "a", "force": true})),
        // A set of paths does not show which file becomes which.
        call("mv").kind(ToolKind::Move).paths(&["a", "b"]),
        call("mv")
            .kind(ToolKind::Move)
            .with_arguments(json!({"a": "b"})),
    ]);
    for call in calls {
        assert_eq!(
            grant_for_call(&call.as_call(), GrantEffect::Allow),
            None,
            "{call:?}"
        );
    }
}

#[test]
fn grant_for_a_file_ignores_the_new_content() {
    let grant = allow_grant(&edit(&["a", "b"]));
    for arguments in [
        json!(null),
        json!({}),
        json!({"path": "a", "content": "x"}),
        json!({"paths": ["a"], "old_string": "x", "new_string": "y"}),
        json!({"path": "a", "text": "x", "patch": "p", "diff": "d", "old_text": "", "new_text": ""}),
        json!({"path": "a", "edits": [{"old_text": "x", "new_text": "y"}]}),
    ] {
        let call = edit(&["a"]).with_arguments(arguments);
        assert!(matches(&grant, &call.as_call()), "{call:?}");
        assert_eq!(
            allow_grant(&call).subject,
            GrantSubject::Paths(vec!["a".to_owned()])
        );
    }
}

#[test]
fn grant_covers_only_the_same_call() {
    let cargo = allow_grant(&run("cargo test"));
    let find = allow_grant(&run("find . -name x"));
    let both = allow_grant(&run("cargo test && ls"));
    let files = allow_grant(&edit(&["a", "src/b"]));
    let moved = Grant {
        kind: Some(ToolKind::Move),
        ..allow_grant(&call("mv").kind(ToolKind::Edit).paths(&["a", "b"]))
    };
    let args = allow_grant(&call("x").with_arguments(json!({"a": 1, "b": [2]})));
    let table = [
        (&cargo, run("cargo test"), true),
        (&cargo, run("cargo  test"), true),
        (&cargo, run("cargo test --all"), false),
        (&cargo, run("cargo"), false),
        (&cargo, run("cargo test; ls"), false),
        (&cargo, run("cargo test > out"), false),
        (&cargo, run("cargo test < in"), false),
        (&cargo, run("cargo test <<E\nx\nE"), false),
        (&cargo, run("A=1 cargo test"), false),
        (&cargo, run("./cargo test"), false),
        (&cargo, run("Cargo test"), false),
        (&cargo, run("cargo 'test '"), false),
        (&cargo, run("cargo test").paths(&["src"]), false),
        (&cargo, run("cargo test").with_workspace("/v"), false),
        (&cargo, run("cargo test").with_tool("other"), false),
        (&cargo, run("cargo test").kind(ToolKind::Other), false),
        (
            &cargo,
            run("cargo test").with_arguments(json!({"command": "cargo test", "env": {"A": "1"}})),
            false,
        ),
        (
            &cargo,
            run("cargo test").with_arguments(json!({"command": ["cargo", "test"]})),
            true,
        ),
        (&find, run("find . -name x -exec rm {} ;"), false),
        (&find, run("find . -name x -delete"), false),
        (&both, run("cargo test && ls"), true),
        (&both, run("cargo test &&  ls"), false),
        (&both, run("cargo test || ls"), false),
        (&both, run("cargo test"), false),
        (&files, edit(&["src/b", "a"]), true),
        (&files, edit(&["a"]), true),
        (&files, edit(&["docs/../a"]), true),
        (&files, edit(&["a", "c"]), false),
        (&files, edit(&["src"]), false),
        (&files, edit(&["src/b/c"]), false),
        (&files, edit(&["a2"]), false),
        (&files, edit(&[]), false),
        (&files, edit(&["a"]).command("ls"), false),
        (&files, edit(&["a"]).with_tool("delete_file"), false),
        (&files, edit(&["a"]).kind(ToolKind::Delete), false),
        (
            &files,
            edit(&["a"]).with_arguments(json!({"path": "a", "to": "c"})),
            false,
        ),
        (
            &moved,
            call("mv").kind(ToolKind::Move).paths(&["a", "b"]),
            false,
        ),
        (&moved, call("mv").kind(ToolKind::Move).paths(&["a"]), false),
        (
            &args,
            call("x").with_arguments(json!({"b": [2], "a": 1})),
            true,
        ),
        (&args, call("x").with_arguments(json!({"a": 1})), false),
        (
            &args,
            call("x").with_arguments(json!({"a": 1, "b": [2], "c": 3})),
            false,
        ),
        (
            &args,
            call("x")
                .with_arguments(json!({"a": 1, "b": [2]}))
                .paths(&["a"]),
            false,
        ),
        (
            &args,
            call("x")
                .with_arguments(json!({"a": 1, "b": [2]}))
                .command("ls"),
            false,
        ),
    ];
    for (grant, call, expected) in table {
        assert_eq!(
            matches(grant, &call.as_call()),
            expected,
            "{grant:?}\n{call:?}"
        );
        let decision = decide("", &call.clone().with_grants(&[grant]));
        let named = decision.matched_rule.unwrap().id;
        assert_eq!(named.as_ref() == Some(&grant.id), expected, "{call:?}");
    }
}

#[test]
fn deny_grant_for_a_move_stays_in_force() {
    let move_it = call("mv").kind(ToolKind::Move).paths(&["a", "b"]);
    let refused = Grant {
        kind: Some(ToolKind::Move),
        ..deny_grant(&call("mv").kind(ToolKind::Edit).paths(&["a", "b"]))
    };
    assert!(matches(&refused, &move_it.as_call()));
    let decision = decide("", &move_it.with_grants(&[&refused]));
    assert_eq!(decision.action, PolicyAction::Deny);
}

#[test]
fn grant_for_a_line_covers_exactly_that_line() {
    let grant = Grant {
        subject: GrantSubject::Line("cargo test".to_owned()),
        ..allow_grant(&run("cargo test"))
    };
    assert!(matches(&grant, &run("cargo test").as_call()));
    assert!(!matches(&grant, &run("cargo  test").as_call()));
}

#[test]
fn grant_answers_an_ask_and_lifts_no_deny() {
    let call = run("A=1 ls > ../x");
    let yes = allow_grant(&call);
    let no = deny_grant(&call);
    let granted = format!("allow grant {}", yes.id);
    let refused = format!("deny grant {}", no.id);
    let asked = || call.clone().with_grants(&[&yes]);
    let table = [
        // Any source may ask: the mode, a list, a rule, a guard.
        ("", asked(), granted.as_str()),
        ("require_approval = ['*']", asked(), &granted),
        ("rules = [{ ask = '*' }]", asked(), &granted),
        // A grant never lifts a deny.
        ("auto_deny = ['*']", asked(), "deny auto_deny * #0"),
        (
            "rules = [{ deny = { command = 'ls' } }]",
            asked(),
            "deny rules #0",
        ),
        (
            "",
            asked().with_mode(SessionMode::ReadOnly),
            "deny mode read-only",
        ),
        // A deny grant precedes everything that allows, also a grant.
        (
            "auto_approve = ['*']",
            call.clone().with_grants(&[&no]),
            &refused,
        ),
        ("", call.clone().with_grants(&[&yes, &no]), &refused),
        (
            "rules = [{ deny = '*' }]",
            call.clone().with_grants(&[&no]),
            &refused,
        ),
    ];
    for (policy, call, expected) in table {
        assert_eq!(outcome(&decide(policy, &call)), expected, "{policy}");
    }
    // If a call is allowed without the grant, the receipt names that source.
    let plain = run("ls");
    let call = plain.clone().with_grants(&[&allow_grant(&plain)]);
    assert_eq!(
        outcome(&decide("auto_approve = ['run']", &call)),
        "allow auto_approve run #0"
    );
    let write = edit(&["src/a"]);
    let call = write.clone().with_grants(&[&allow_grant(&write)]);
    let list = "write_path_allowlist = ['docs/**']";
    assert_eq!(outcome(&decide(list, &call)), "deny write_path_allowlist");
}

#[test]
fn unparsable_command_asks_each_time() {
    let unreadable = call("run")
        .kind(ToolKind::Execute)
        .line("", with_doubt(line(&[]), LineDoubt::Unparsable))
        .with_arguments(json!({"command": 1}));
    assert_eq!(
        grant_for_call(&unreadable.as_call(), GrantEffect::Allow),
        None
    );
    for text in [
        "",
        "rules = [{ allow = { command = '*' } }]",
        "auto_approve = ['*']",
    ] {
        for mode in [
            SessionMode::Ask,
            SessionMode::AcceptEdits,
            SessionMode::Auto,
        ] {
            let decision = decide(text, &unreadable.clone().with_mode(mode));
            assert_eq!(outcome(&decision), "ask default_command_guard", "{text}");
            assert_eq!(
                decision.reason,
                "cannot determine what the command does: it could not be parsed"
            );
        }
    }
    let refused = decide("", &unreadable.with_mode(SessionMode::ReadOnly));
    assert_eq!(outcome(&refused), "deny mode read-only");
}

#[test]
fn grant_id_follows_from_its_content() {
    let grant = allow_grant(&run("cargo test"));
    assert_eq!(grant.id, allow_grant(&run("cargo  test")).id);
    let others = [
        deny_grant(&run("cargo test")),
        allow_grant(&run("cargo test x")),
        allow_grant(&run("cargo test").with_workspace("/v")),
        allow_grant(&run("cargo test").with_tool("other")),
        allow_grant(&run("cargo test").kind(ToolKind::Other)),
        allow_grant(&run("cargo test;ls")),
    ];
    for other in others {
        assert_ne!(other.id, grant.id, "{other:?}");
    }
    expect!["g-3cf0427fd6a6c8f4"].assert_eq(&grant.id);
}

#[test]
fn description_never_hides_the_end() {
    let long = format!("cargo test {} && rm -rf /", "very-".repeat(20));
    let table = [
        (run("cargo test"), "`cargo test`".to_owned()),
        (
            run("grep 'a b' \"it's\""),
            r"`grep 'a b' 'it'\''s'`".to_owned(),
        ),
        (
            call("run").line("…", line(&[&["printf", "a\nb\\n'"]])),
            r"`printf $'a\nb\\n\''`".to_owned(),
        ),
        (
            call("run").line("…", line(&[&["A=b", "--c=d"]])),
            "`'A=b' --c=d`".to_owned(),
        ),
        (
            call("run").line("…", line(&[&["a\u{3164}", "b\u{2800}c\u{fe0f}"]])),
            r"`$'a\u{3164}' $'b\u{2800}c\u{fe0f}'`".to_owned(),
        ),
        (edit(&["src/lib.rs"]), "edit_file src/lib.rs".to_owned()),
        (edit(&["a b", "c"]), "edit_file 'a b' c".to_owned()),
        (
            call("x").with_arguments(json!({"a": 1})),
            "x {\"a\":1}".to_owned(),
        ),
        (
            run(&long),
            "`cargo test very-very-very-ver … y-very-very-very- && rm -rf /` (123 characters)"
                .to_owned(),
        ),
        (
            call("run").line("…", line(&[&["printf", &format!("x{}", "\n".repeat(40))]])),
            // The cut is not inside an escape of one character.
            format!(
                "`printf $'x{} … {}'` (91 characters)",
                r"\n".repeat(9),
                r"\n".repeat(14)
            ),
        ),
        (
            call("x").with_arguments(json!("\u{1b}[2J\u{202e}")),
            "x \"\\u001b[2J\\u{202e}\"".to_owned(),
        ),
    ];
    for (call, expected) in table {
        assert_eq!(describe(&allow_grant(&call)), expected);
    }
    assert_eq!(
        describe_whole(&allow_grant(&run(&long))),
        format!("`{long}`")
    );
    let short = allow_grant(&edit(&["a b", "c"]));
    assert_eq!(describe_whole(&short), describe(&short));
}

fn sample() -> GrantFile {
    let calls = [
        run("cargo test"),
        run("cargo test && ls > out"),
        edit(&["src/lib.rs", "a \"b\""]),
        call("x").with_arguments(json!({"none": null, "big": u64::MAX, "list": [1, "a", {}]})),
    ];
    let grants = calls
        .iter()
        .map(allow_grant)
        .chain([deny_grant(&run("rm x"))]);
    let at = 1_772_000_000_123;
    GrantFile {
        grants: grants
            .enumerate()
            .map(|(n, grant)| (grant, at + n as u64))
            .collect(),
    }
}

#[test]
fn grant_file_is_readable_and_parses_back() {
    let text = sample().to_text();
    assert_eq!(GrantFile::parse("grants.toml", &text).unwrap(), sample());
    expect![[r##"
        # Remembered answers: the server does not ask again about calls exactly like these.
        # To revoke one, delete its table, or run: harn-serve grants revoke <id>

        [[grant]]
        id = "g-3cf0427fd6a6c8f4"
        effect = "allow"
        workspace = "/w"
        tool = "run"
        kind = "execute"
        argv = ["cargo", "test"]
        granted_at = 2026-02-25T06:13:20.123Z

        [[grant]]
        id = "g-e74b410eb2ab5cf6"
        effect = "allow"
        workspace = "/w"
        tool = "run"
        kind = "execute"
        line = "cargo test && ls > out"
        granted_at = 2026-02-25T06:13:20.124Z

        [[grant]]
        id = "g-482e698e6f0f428d"
        effect = "allow"
        workspace = "/w"
        tool = "edit_file"
        kind = "edit"
        paths = ['a "b"', "src/lib.rs"]
        granted_at = 2026-02-25T06:13:20.125Z

        [[grant]]
        id = "g-d72bb61835319625"
        effect = "allow"
        workspace = "/w"
        tool = "x"
        arguments = '{"big":18446744073709551615,"list":[1,"a",{}],"none":null}'
        granted_at = 2026-02-25T06:13:20.126Z

        [[grant]]
        id = "g-93047ec2795eec31"
        effect = "deny"
        workspace = "/w"
        tool = "run"
        kind = "execute"
        argv = ["rm", "x"]
        granted_at = 2026-02-25T06:13:20.127Z
    "##]]
    .assert_eq(&text);
    assert_eq!(GrantFile::parse("x", "").unwrap(), GrantFile::default());
    assert!(GrantFile::default().to_text().contains("grants revoke"));
}

#[test]
fn hand_edited_grant_gets_the_id_of_its_content() {
    let text = r#"
[[grant]]
id = "g-00000000"
effect = "allow"
workspace = "/w"
tool = "run"
kind = "execute"
note = "mine"
argv = ["cargo", "test"]
granted_at = "2026-02-25 06:13:20Z"

[[grant]]
effect = "allow"
workspace = "/w"
tool = "run"
kind = "execute"
argv = ["cargo", "test"]
granted_at = 2026-02-26T00:00:00Z
"#;
    let file = GrantFile::parse("grants.toml", text).unwrap();
    let [(grant, at)] = file.grants.as_slice() else {
        panic!("{file:?}");
    };
    assert_eq!(grant, &allow_grant(&run("cargo test")));
    assert_eq!(*at, 1_772_000_000_000);
}

#[test]
fn broken_grant_file_is_rejected_with_the_line() {
    let head = "[[grant]]\neffect = 'allow'\nworkspace = '/w'\ntool = 'run'\n";
    let at = "granted_at = 2026-02-26T00:00:00Z\n";
    let table = [
        (
            format!("{head}{at}"),
            "line 1: a grant must have exactly one of",
        ),
        (
            format!("\n\n{head}{at}argv = ['a']\nline = 'a'"),
            "line 3: a grant must have exactly one of",
        ),
        (
            format!("{head}{at}argv = []"),
            "line 1: a grant must have exactly one of",
        ),
        (
            format!("{head}{at}paths = []"),
            "line 1: a grant must have exactly one of",
        ),
        (
            format!("{head}{at}arguments = '{{'"),
            "line 1: `arguments` is not JSON",
        ),
        (
            format!("{head}argv = ['a']\ngranted_at = 'soon'"),
            "line 1: `granted_at` is not a time",
        ),
        (format!("{head}argv = ['a']"), "granted_at"),
        (format!("{head}{at}argv = 'a'"), "line 6"),
        ("[[grant]]\neffect = 'maybe'".to_owned(), "line 2"),
        ("[[grant]".to_owned(), "line 1"),
    ];
    for (text, expected) in table {
        let error = GrantFile::parse("grants.toml", &text)
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("grants.toml: "), "{error}");
        assert!(error.contains(expected), "{text}\n{error}");
    }
}

proptest! {
    #[test]
    fn written_grants_parse_back(
        words in proptest::collection::vec(".*", 1..4), line in ".*", at in 0..253_402_300_799_999_u64,
    ) {
        let of = |subject| Grant { subject, ..allow_grant(&run("ls")) };
        let all = [
            of(GrantSubject::Argv(words)),
            of(GrantSubject::Line(line.clone())),
            of(GrantSubject::Arguments(json!({ "a": line }))),
        ];
        let text = GrantFile { grants: all.into_iter().map(|grant| (grant, at)).collect() }.to_text();
        let first = GrantFile::parse("x", &text).unwrap();
        prop_assert_eq!(first.grants.len(), 3);
        prop_assert_eq!(&GrantFile::parse("x", &first.to_text()).unwrap(), &first);
    }
}
