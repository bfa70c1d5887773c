//! Front matter as people write it, and the problems reported for it.

use expect_test::{Expect, expect};
use harn_model::McpTransport;
use serde_json::json;

use super::*;
use crate::skills::front_matter::split;

/// Compares the problems of a file; no problems means that it decodes to a card.
fn check(text: &str, expected: Expect) {
    let decoded = decode_file(&split(text), "folder");
    let mut out = String::new();
    for problem in &decoded.problems {
        let (line, severity) = (problem.line.unwrap(), problem.severity.as_str());
        out += &format!("{line}: {severity}: {}\n", problem.message);
    }
    let errors = decoded
        .problems
        .iter()
        .any(|r| r.severity == ProblemSeverity::Error);
    assert_eq!(decoded.card.is_none(), errors);
    expected.assert_eq(&out);
}

fn card(text: &str) -> SkillCard {
    let decoded = decode_file(&split(text), "folder");
    assert_eq!(decoded.problems, []);
    decoded.card.unwrap()
}

#[test]
fn every_key_of_a_card_is_decoded() {
    let card = card(
        "---\n\
         name: deploy\n\
         short: Ship a release\n\
         description: Ships a production release\n\
         when-to-use: The user says ship\n\
         disable_model_invocation: true\n\
         allowed-tools: [run_command, 'namespace:git']\n\
         user-invocable: false\n\
         paths:\n  - infra/**\n  - Dockerfile\n\
         context: fork\n\
         agent: releaser\n\
         model: large\n\
         effort: high\n\
         shell: bash\n\
         argument-hint: '[stage]'\n\
         hooks:\n  activate: echo hi\n  other: echo ho\n\
         require_signature: false\n\
         trusted_signers: [ada]\n\
         mcp_servers:\n  \
           local: {command: serve, args: [-v, ''], env: {TOKEN: s3cret}}\n  \
           far: {url: 'https://mcp.example/', headers: {authorization: s3cret}}\n\
         ---\nBody",
    );
    expect![[r#"
        SkillCard {
            name: "deploy",
            short: "Ship a release",
            description: "Ships a production release",
            when_to_use: "The user says ship",
            disable_model_invocation: true,
            allowed_tools: [
                "run_command",
                "namespace:git",
            ],
            user_invocable: false,
            paths: [
                "infra/**",
                "Dockerfile",
            ],
            context: Some(
                "fork",
            ),
            agent: Some(
                "releaser",
            ),
            model: Some(
                "large",
            ),
            effort: Some(
                "high",
            ),
            shell: Some(
                "bash",
            ),
            argument_hint: Some(
                "[stage]",
            ),
            hooks: [
                SkillHook {
                    event: "activate",
                    command: "echo hi",
                },
                SkillHook {
                    event: "other",
                    command: "echo ho",
                },
            ],
            require_signature: false,
            trusted_signers: [
                "ada",
            ],
            mcp_servers: [
                McpServerSpec {
                    name: "local",
                    transport: Stdio {
                        command: "serve",
                        args: [
                            "-v",
                            "",
                        ],
                        env: [
                            (
                                "TOKEN",
                                <secret>,
                            ),
                        ],
                    },
                },
                McpServerSpec {
                    name: "far",
                    transport: Http {
                        url: "https://mcp.example/",
                        headers: [
                            (
                                "authorization",
                                <secret>,
                            ),
                        ],
                    },
                },
            ],
        }
    "#]]
    .assert_debug_eq(&card);
}

#[test]
fn missing_keys_have_defaults() {
    let plain = card("# How to review\n\nRead it.");
    assert_eq!(
        (plain.name.as_str(), plain.short.as_str()),
        ("folder", "How to review")
    );
    assert!(plain.user_invocable && !plain.disable_model_invocation);
    let unterminated = card("---\nshort: x\n");
    assert_eq!(unterminated.name, "folder");
    let listed = card(
        "---\nshort: x\nhooks:\n  - {event: activate, command: a}\n  - {name: deactivate, run: b}\n---\n",
    );
    let hooks: Vec<_> = listed
        .hooks
        .iter()
        .map(|h| (&*h.event, &*h.command))
        .collect();
    assert_eq!(hooks, [("activate", "a"), ("deactivate", "b")]);
}

#[test]
fn missing_or_empty_short_is_an_error() {
    for text in ["---\n---\n", "---\n# only a comment\n---\n", "---\n\n---\n"] {
        check(
            text,
            expect![[r#"
                1: error: short is required: one line that describes the purpose of the skill
            "#]],
        );
    }
    check(
        "\n---\nname: a\nshort: '  '\n---\n",
        expect![[r#"
            4: error: short must not be empty: describe the purpose of the skill in one line
        "#]],
    );
}

#[test]
fn every_problem_is_reported_with_its_line() {
    check(
        "---\n\
         name: a b\n\
         short: [x]\n\
         allowed_tools: read, write\n\
         user_invocable: yes\n\
         paths: [1]\n\
         argument_hint: [stage]\n\
         1: x\n\
         true: x\n\
         model: 4\n\
         nmae: b\n\
         when-to-use: a\n\
         when_to_use: b\n\
         require_signature: true\n\
         hooks: run\n\
         ---\n",
        expect![[r#"
            2: error: the name "a b" cannot be a slash command: it contains ' '; use letters, digits, `-`, `_` and `.`, beginning with a letter or digit
            3: error: short must be text, in quotes if need be, not a list
            4: error: allowed_tools must be a list, such as [a, b], not text
            5: error: user_invocable must be true or false, not text
            6: error: each of paths must be text, in quotes if need be, not 1
            7: error: argument_hint must be text, in quotes if need be, not a list
            8: error: a key must be text, not 1; put it in quotes if it is text
            9: error: a key must be text, not true; put it in quotes if it is text
            10: error: model must be text, in quotes if need be, not 4
            11: warning: unknown key "nmae"; the keys are name, short, description, when_to_use, disable_model_invocation, allowed_tools, user_invocable, paths, context, agent, model, effort, shell, argument_hint, hooks, require_signature, trusted_signers, mcp_servers
            13: error: when_to_use is given twice; `-` and `_` are the same in a key
            14: error: require_signature: signatures are not verified here, so the skill is not offered
            15: error: hooks must be a map from events to commands, or a list of maps with event and command, not text
        "#]],
    );
}

#[test]
fn front_matter_that_is_no_map_is_an_error() {
    check(
        "\u{feff}\n---\n- a\n---\n",
        expect![[r#"
            3: error: front matter must be a map of keys and values, not a list
        "#]],
    );
    check(
        "---\njust text\n---\n",
        expect![[r#"
            2: error: front matter must be a map of keys and values, not text
        "#]],
    );
    check(
        "---\nshort: a\n[a]: b\n---\n",
        expect![[r#"
            3: error: a key must be plain text
        "#]],
    );
    check(
        "---\nshort: a\nname: \"open\n---\n",
        expect![[r#"
            3: error: invalid YAML: while scanning a quoted scalar, found unexpected end of stream
        "#]],
    );
    check(
        "---\nshort: a\nshort: b\n---\n",
        expect![[r#"
            3: error: the key "short" is given twice
        "#]],
    );
}

#[test]
fn invalid_servers_and_hooks_are_errors() {
    for (value, expected) in [
        (
            "mcp_servers: [a]",
            expect![[r#"
            3: error: mcp_servers must be a map from names to servers, not a list
        "#]],
        ),
        (
            "mcp_servers: {a: {command: x, url: 'http://y'}}",
            expect![[r#"
            3: error: mcp_servers.a must be a map with command, args and env, or with url and headers
        "#]],
        ),
        (
            "mcp_servers: {a: {url: 'file:///etc'}}",
            expect![[r#"
            3: error: mcp_servers.a.url must be an address that begins with http:// or https://, not text
        "#]],
        ),
        (
            "mcp_servers: {a: {command: x, cwd: /}}",
            expect![[r#"
            3: error: unknown field "cwd" in mcp_servers.a; it is a map with command, args and env, or with url and headers
        "#]],
        ),
        (
            "hooks: [{event: activate}]",
            expect![[r#"
            3: error: a hook needs command
        "#]],
        ),
        (
            "hooks: [{event: a, name: b, run: c}]",
            expect![[r#"
            3: error: name sets a field of a hook that is set already; remove one of them
        "#]],
        ),
        (
            "hooks: {activate: ''}",
            expect![[r#"
            3: error: hooks.activate must not be empty
        "#]],
        ),
    ] {
        check(&format!("---\nshort: a\n{value}\n---\n"), expected);
    }
}

#[test]
fn host_manifest_is_decoded_like_front_matter() {
    let manifest = json!({
        "when-to-use": "shipping", "allowed_tools": ["bash", "git"], "paths": ["infra/**"],
        "mcp_servers": {"a": {"command": "x"}},
    });
    let mut skill = HostSkill {
        name: "deploy".to_owned(),
        description: "Ship it\nnow".to_owned(),
        body: "# Deploy".to_owned(),
        manifest: manifest.as_object().unwrap().clone(),
    };
    let card = decode_host_skill(&skill).card.unwrap();
    assert_eq!(
        (card.short.as_str(), card.when_to_use.as_str()),
        ("Ship it", "shipping")
    );
    assert_eq!(card.allowed_tools, ["bash", "git"]);
    assert!(matches!(
        card.mcp_servers[0].transport,
        McpTransport::Stdio { .. }
    ));

    skill.manifest.insert("paths".to_owned(), json!("infra/**"));
    let decoded = decode_host_skill(&skill);
    assert!(decoded.card.is_none());
    assert!(
        decoded.problems[0]
            .message
            .starts_with("paths must be a list")
    );
}

#[test]
fn every_part_of_a_file_gives_a_card_or_a_problem() {
    let whole = "\u{feff}---\nname: größe\nshort: \"a\\\"b\"\nhooks:\n  - {event: x, run: y}\npaths: [a, 'b']\n\
                 mcp_servers: {a: {url: 'http://x', headers: {k: v}}}\n? [q]\n: &a *b\n--- \nText $1 ${X\n";
    let places: Vec<_> = whole.char_indices().map(|(at, _)| at).collect();
    for from in &places {
        for to in places.iter().filter(|to| *to >= from) {
            let text = &whole[*from..*to];
            for text in [text.to_owned(), format!("---\n{text}\n---\n")] {
                let decoded = decode_file(&split(&text), "folder");
                let lines = text.lines().count() + 1;
                let placed = |problem: &SkillProblem| (1..=lines).contains(&problem.line.unwrap());
                assert!(decoded.problems.iter().all(placed), "{text:?} {decoded:?}");
                assert!(decoded.card.is_some() || !decoded.problems.is_empty());
            }
        }
    }
}

#[test]
fn too_many_or_too_long_globs_are_errors() {
    let refused = |paths: Vec<String>| {
        let mut skill = HostSkill {
            name: "many".to_owned(),
            description: String::new(),
            body: String::new(),
            manifest: serde_json::Map::new(),
        };
        skill.manifest.insert("paths".to_owned(), json!(paths));
        decode_host_skill(&skill).problems.remove(0).message
    };
    let many = (0..65).map(|n| format!("a{n}/**")).collect();
    assert_eq!(refused(many), "paths must be at most 64 globs, not 65");
    let long = vec!["*a".repeat(200)];
    assert_eq!(
        refused(long),
        "each of paths must be at most 256 bytes long"
    );
}
