//! The example for authors of agents: it is small, the README shows it verbatim, and it works.

use std::{fs, path::PathBuf, process::Command};

use crate::client::Agent;
use serde_json::Value;

const EXAMPLE: &str = include_str!("../../examples/greeter.rs");

#[test]
fn the_greeter_is_small_and_uses_the_public_api_only() {
    assert!(EXAMPLE.lines().count() <= 40);
    let uses = EXAMPLE.lines().filter(|line| line.starts_with("use "));
    for line in uses {
        assert!(line.starts_with("use harn_serve::"), "{line}");
    }
}

#[test]
fn the_readme_shows_the_greeter_as_it_is() {
    let readme = include_str!("../../../../README.md");
    let block = format!("```rust\n{EXAMPLE}```\n");
    let fix = "copy crates/serve/examples/greeter.rs into its block";
    assert!(readme.contains(&block), "README.md is out of date: {fix}");
}

/// Builds the example with the features of the workspace's tests; returns its path as cargo reports it.
fn build_greeter() -> PathBuf {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--workspace", "--example", "greeter"])
        .arg("--message-format=json")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{said}");
    let messages = String::from_utf8(built.stdout).unwrap();
    let messages = messages.lines().map(serde_json::from_str::<Value>);
    messages
        .flatten()
        .filter(|message| message["target"]["name"] == "greeter")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .unwrap()
}

#[test]
fn the_greeter_reads_counts_and_asks() {
    let (home, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(work.path().join("README.md"), "one\ntwo\nthree\n").unwrap();
    for (answer, notes) in [
        ("reject_once", None),
        ("allow_once", Some("Your README has 3 lines.")),
    ] {
        let mut agent =
            Agent::start(Command::new(build_greeter()).env("XDG_STATE_HOME", home.path()));
        agent.answer = answer;
        let session = agent.open(work.path());
        let id = agent.prompt(&session, "hello");
        assert_eq!(agent.read_answer(id)["result"]["stopReason"], "end_turn");
        assert!(agent.agent_text().starts_with("Your README has 3 lines."));

        let [ask] = &agent.asked[..] else {
            panic!("asked {} times", agent.asked.len());
        };
        assert_eq!(ask["toolCall"]["title"], "Write NOTES.md");
        assert_eq!(ask["toolCall"]["kind"], "edit");
        let written = fs::read_to_string(work.path().join("NOTES.md")).ok();
        assert_eq!(written.as_deref(), notes);

        let (status, ..) = agent.end();
        assert!(status.success(), "{status}");
    }
}
