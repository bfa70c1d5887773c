//! The scenarios that ship, and those in the documentation.

use std::{fs, path::Path};

use harn_engines::{ScenarioError, ScriptAgent};
use harn_runtime::Agent;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn every_scenario_file_loads() {
    let mut loaded = 0;
    for entry in fs::read_dir(Path::new(ROOT).join("fixtures/scenarios")).expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|e| e == "yaml" || e == "json") {
            if let Err(error) = ScriptAgent::load(&path) {
                panic!("{error}");
            }
            loaded += 1;
        }
    }
    assert!(loaded > 0, "there are no scenarios");
}

/// A block of the page is a whole scenario or a list of steps.
#[test]
fn every_block_of_the_documentation_loads() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/scenarios.md")).expect("the page");
    let mut documented = String::new();
    for block in page.split("```yaml\n").skip(1) {
        let (yaml, _) = block.split_once("```").expect("a block ends");
        documented.push_str(yaml);
        let scenario = if yaml.starts_with("name:") {
            yaml.to_owned()
        } else {
            let steps: String = yaml.lines().map(|line| format!("    {line}\n")).collect();
            format!("name: block\nturns:\n  - steps:\n{steps}")
        };
        if let Err(error) = ScriptAgent::parse("docs/scenarios.md", &scenario) {
            panic!("{error}\nin this block:\n{yaml}");
        }
    }
    // The error for an unknown step lists all steps; each has an example.
    let refused = ScriptAgent::parse("", "name: a\nturns: [{steps: [{x: 1}]}]").expect_err("x");
    let refused = refused.to_string();
    let (_, steps) = refused.split_once("the steps are ").expect("the list");
    for step in steps.split(", ") {
        assert!(
            documented.contains(&format!("- {step}:")),
            "no example of {step}"
        );
    }
}

#[test]
fn error_names_a_file_that_cannot_be_read() {
    let error = ScriptAgent::load("/nowhere/tour.yaml").expect_err("there is no such file");
    assert!(matches!(error, ScenarioError::Read { .. }));
    let message = error.to_string();
    assert!(message.starts_with("/nowhere/tour.yaml: "), "{message}");
}

#[test]
fn file_that_is_not_text_is_rejected_with_its_position() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("t.yaml");
    fs::write(&path, b"name: t\nturns: \xc3\xa9\xff").expect("a file");
    let error = ScriptAgent::load(&path).expect_err("not UTF-8").to_string();
    assert!(
        error.ends_with("t.yaml:2:9: this is not UTF-8 text"),
        "{error}"
    );

    fs::write(&path, vec![0xff; 2 * 1024 * 1024]).expect("a file");
    let error = ScriptAgent::load(&path).expect_err("too big").to_string();
    assert!(
        error.ends_with("t.yaml: a scenario file must not be larger than 1 MiB"),
        "{error}"
    );
}

#[test]
fn json_file_loads_as_yaml() {
    let json = r#"{"name": "j", "turns": [{"match": "^\u00e9", "steps": [
	{"say": "a \ud83d\ude00 b \/ \u00e9 \\ud83d\\ude00"}, {"sleep_ms": 0}, {"stop": "end_turn"}]}]}"#;
    let agent = ScriptAgent::parse("j.json", json).expect("a JSON file");
    let shown = format!("{agent:?}");
    assert!(shown.contains(r"a 😀 b / é \\ud83d\\ude00"), "{shown}");
}

#[test]
fn scenario_sets_the_profile() {
    let scenario = "
name: mine
commands: [{name: go, description: Start, input: {hint: where}}]
options: [{id: o, name: O, description: d, choices: [{value: a, name: A}], default: a}]
turns: [{steps: []}]
";
    let profile = ScriptAgent::parse("t.yaml", scenario)
        .expect("a file")
        .profile();
    assert_eq!(profile.name, "mine");
    assert_eq!(profile.commands[0].name, "go");
    assert_eq!(profile.options[0].default, "a");
    assert!(profile.prompt.image && profile.prompt.audio && profile.prompt.embedded);
}
