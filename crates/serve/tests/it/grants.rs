//! `harn-serve grants` with the binary, and its effect on the file.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use harn_model::{Grant, GrantEffect, GrantSubject, Timestamp};
use harn_policy::{GrantFile, with_effect};
use serde_json::Value;
use tempfile::TempDir;

fn grant(effect: GrantEffect, workspace: &str, tool: &str, subject: GrantSubject) -> Grant {
    let grant = Grant {
        id: String::new(),
        effect,
        workspace: workspace.to_owned(),
        tool: tool.to_owned(),
        kind: None,
        subject,
    };
    // Computes the id from the content.
    with_effect(&grant, effect)
}

fn argv(words: &[&str]) -> GrantSubject {
    GrantSubject::Argv(words.iter().map(|word| (*word).to_owned()).collect())
}

struct State {
    dir: TempDir,
    grants: Vec<Grant>,
}

impl State {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let paths = GrantSubject::Paths(vec!["notes.md".to_owned()]);
        let grants = vec![
            grant(
                GrantEffect::Allow,
                "/home/ada",
                "run_command",
                argv(&["cargo", "test"]),
            ),
            grant(GrantEffect::Deny, "/home/ada", "write_file", paths),
            grant(
                GrantEffect::Allow,
                "/home/bob",
                "run_command",
                argv(&["make"]),
            ),
        ];
        let at: Timestamp = 1_700_000_000_000;
        let file = GrantFile {
            grants: grants.iter().map(|grant| (grant.clone(), at)).collect(),
        };
        fs::write(dir.path().join("grants.toml"), file.to_text()).unwrap();
        Self { dir, grants }
    }

    fn run(&self, args: &[&str]) -> Output {
        harn_serve(self.dir.path(), args)
    }

    fn stored_grants(&self) -> Vec<Grant> {
        let text = fs::read_to_string(self.dir.path().join("grants.toml")).unwrap();
        let file = GrantFile::parse("grants.toml", &text).unwrap();
        file.grants.into_iter().map(|(grant, _)| grant).collect()
    }
}

fn harn_serve(state: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_harn-serve"));
    let command = command.arg("grants").args(args);
    command.arg("--state-dir").arg(state).output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn list_prints_grants_as_text() {
    let state = State::new();
    let list = stdout(&state.run(&["list", "--all"]));
    let ids = list.lines().step_by(3);
    let ids: Vec<_> = ids.filter_map(|line| line.split(' ').next()).collect();
    let expected: Vec<_> = state.grants.iter().map(|grant| grant.id.as_str()).collect();
    assert_eq!(ids, expected, "{list}");
    let lines: Vec<_> = list.lines().collect();
    assert!(lines[0].contains("  allow  run_command  "), "{list}");
    assert!(lines[0].ends_with(" days ago"), "{list}");
    assert_eq!(lines[1].trim(), "`cargo test`");
    assert_eq!(lines[2].trim(), "in /home/ada");
    assert!(lines[3].contains("  deny   write_file  "), "{list}");
    assert_eq!(lines[4].trim(), "write_file notes.md");
    assert!(
        lines.iter().all(|line| line.chars().count() <= 80),
        "{list}"
    );

    let of_bob = stdout(&state.run(&["list", "--workspace", "/home/bob"]));
    assert_eq!(of_bob.lines().count(), 4, "{of_bob}");
    assert!(of_bob.contains("`make`"), "{of_bob}");
    assert!(
        of_bob.ends_with("2 more for other workspaces; --all lists them\n"),
        "{of_bob}"
    );
}

#[test]
fn list_prints_grants_as_json() {
    let state = State::new();
    let list = stdout(&state.run(&["list", "--json", "--all"]));
    let list: Vec<Value> = serde_json::from_str(&list).unwrap();
    assert_eq!(list.len(), 3);
    assert_eq!(list[0]["id"], state.grants[0].id);
    assert_eq!(list[0]["effect"], "allow");
    assert_eq!(list[0]["argv"], serde_json::json!(["cargo", "test"]));
    assert_eq!(list[0]["granted_at"], "2023-11-14T22:13:20.000Z");
    let none = stdout(&state.run(&["list", "--json", "--workspace", "/nowhere"]));
    assert_eq!(none, "[]\n");
}

#[test]
fn revoke_needs_the_whole_id() {
    let state = State::new();
    let [first, second, third] = &state.grants[..] else {
        panic!("three grants");
    };
    let gone = stdout(&state.run(&["revoke", &first.id]));
    assert_eq!(gone, format!("revoked {}: allow `cargo test`\n", first.id));
    assert_eq!(state.stored_grants(), [second.clone(), third.clone()]);

    // An almost correct id revokes nothing, also not the other ids of the command.
    let near = format!("{}0", &second.id[..second.id.len() - 1]);
    let near = if near == second.id {
        format!("{}1", &near[..9])
    } else {
        near
    };
    for args in [
        &["revoke", near.as_str()][..],
        &["revoke", &third.id, &near],
    ] {
        let refused = state.run(args);
        assert_eq!(refused.status.code(), Some(1));
        let words = String::from_utf8(refused.stderr).unwrap();
        let hint = format!("error: unknown grant {near}; did you mean `{}`", second.id);
        assert!(words.starts_with(&hint), "{words}");
    }
    for prefix in ["g-", &second.id[..6], "*", ""] {
        assert_eq!(
            state.run(&["revoke", prefix]).status.code(),
            Some(1),
            "{prefix}"
        );
    }
    assert_eq!(state.stored_grants().len(), 2);

    let all = stdout(&state.run(&["revoke", "--all"]));
    assert_eq!(all.lines().count(), 2, "{all}");
    assert_eq!(state.stored_grants(), []);
    assert_eq!(
        stdout(&state.run(&["revoke", "--all"])),
        "no grants to revoke\n"
    );
}

#[test]
fn revoke_needs_ids_or_all() {
    let state = State::new();
    for args in [&["revoke"][..], &["revoke", "--all", "g-00000000"]] {
        assert_eq!(state.run(args).status.code(), Some(2), "{args:?}");
    }
    assert_eq!(state.stored_grants().len(), 3);
}

#[test]
fn list_creates_no_file() {
    let dir = TempDir::new().unwrap();
    let state = dir.path().join("state");
    let none = stdout(&harn_serve(&state, &["list", "--all"]));
    assert!(none.starts_with("no grants in "), "{none}");
    assert!(!state.exists());
}

#[test]
fn unreadable_file_is_an_error_that_names_it() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("grants.toml");
    fs::write(&file, "[[grant]]\nnonsense\n").unwrap();
    for args in [&["list"][..], &["revoke", "--all"]] {
        let output = harn_serve(dir.path(), args);
        assert_eq!(output.status.code(), Some(1));
        let words = String::from_utf8(output.stderr).unwrap();
        assert!(words.contains(&file.display().to_string()), "{words}");
        assert!(words.contains("line 2"), "{words}");
    }
    assert_eq!(fs::read_to_string(file).unwrap(), "[[grant]]\nnonsense\n");
}

#[test]
fn list_prints_long_grants_whole() {
    let state = TempDir::new().unwrap();
    let words: Vec<_> = (0..40).map(|n| format!("word-{n}")).collect();
    let long = grant(
        GrantEffect::Allow,
        "/home/ada",
        "run_command",
        GrantSubject::Argv(words.clone()),
    );
    let file = GrantFile {
        grants: vec![(long.clone(), 1_700_000_000_000)],
    };
    fs::write(state.path().join("grants.toml"), file.to_text()).unwrap();
    let whole = words.join(" ");
    let list = stdout(&harn_serve(state.path(), &["list", "--all"]));
    assert!(list.contains(&whole), "{list}");
    let gone = stdout(&harn_serve(state.path(), &["revoke", &long.id]));
    assert!(gone.contains(&whole), "{gone}");
}
