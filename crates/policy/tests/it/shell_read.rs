//! Parsed lines in `fixtures/policy/shell-read.jsonl`: programs, files and doubts; and the limits.
//! `UPDATE_EXPECT=1` rewrites the expectations; read the difference before you keep it.

use std::fs;

use crate::shell_table::fixture;
use expect_test::expect_file;
use harn_policy::shell::{self, LineDoubt, MAX_BYTES, ShellLine};
use serde::{Deserialize, Serialize};

/// A line of the table.
#[derive(Debug, Serialize, Deserialize)]
struct Reading {
    line: String,
    #[serde(default)]
    commands: Vec<Program>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reads: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    writes: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    doubts: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Program {
    argv: Vec<String>,
    /// The flag or form that can run or write something that its words do not show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exec_capable: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    read_only: bool,
}

fn parse_line(line: &str) -> Reading {
    let ShellLine {
        commands,
        redirects,
        doubts,
    } = shell::read(line);
    let files = |write: bool| {
        let files = redirects.iter().filter(move |it| it.write == write);
        files.map(|it| it.path.clone()).collect()
    };
    Reading {
        line: line.to_owned(),
        reads: files(false),
        writes: files(true),
        doubts: doubts.iter().map(doubt_text).collect(),
        commands: commands
            .into_iter()
            .map(|command| Program {
                read_only: shell::is_read_only(&command),
                argv: command.argv,
                exec_capable: command.exec_capable,
            })
            .collect(),
    }
}

fn doubt_text(doubt: &LineDoubt) -> String {
    match doubt {
        LineDoubt::TooLong => "too long".to_owned(),
        LineDoubt::TooMuch => "too much".to_owned(),
        LineDoubt::Unparsable => "unparsable".to_owned(),
        LineDoubt::Dynamic(what) => format!("dynamic: {what}"),
        LineDoubt::Environment(what) => format!("environment: {what}"),
    }
}

#[test]
fn every_line_is_parsed_as_in_the_table() {
    let text = fs::read_to_string(fixture("shell-read.jsonl")).unwrap();
    let mut got = String::new();
    for line in text.lines() {
        let case: Reading = serde_json::from_str(line).unwrap();
        got.push_str(&serde_json::to_string(&parse_line(&case.line)).unwrap());
        got.push('\n');
    }
    expect_file![fixture("shell-read.jsonl")].assert_eq(&got);
}

#[test]
fn limits_fail_closed() {
    let table = [
        (
            format!("echo {}", "a".repeat(MAX_BYTES)),
            LineDoubt::TooLong,
        ),
        ("ls; ".repeat(600), LineDoubt::TooMuch),
        ("a|".repeat(6000) + "$(b)", LineDoubt::TooMuch),
        (
            format!("{}ls{}", "( ".repeat(60), ")".repeat(60)),
            LineDoubt::TooMuch,
        ),
        ("a=( ".repeat(4000), LineDoubt::TooMuch),
        ("$(".repeat(8000), LineDoubt::TooMuch),
        ("nice ".repeat(30) + "ls", LineDoubt::TooMuch),
        ("sudo -Z ".repeat(1500) + "ls", LineDoubt::TooMuch),
        ("cat ".to_owned() + &"<<E ".repeat(300), LineDoubt::TooMuch),
    ];
    for (line, expected) in table {
        let read = shell::read(&line);
        assert!(
            read.doubts.contains(&expected),
            "{:.40}: {:?}",
            line,
            read.doubts
        );
        assert!(read.commands.len() <= 256, "{:.40}", line);
    }
    let longest = format!("echo {}", "a".repeat(MAX_BYTES - 5));
    assert_eq!(shell::read(&longest).doubts, []);
}

#[test]
fn line_parses_the_same_after_any_other() {
    let text = fs::read_to_string(fixture("shell-read.jsonl")).unwrap();
    let lines: Vec<Reading> = text
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    for line in &lines {
        let first = shell::read(&line.line);
        for other in ["cat <<EOF\n$(a", "$(", "a=(", "\"`"] {
            drop(shell::read(other));
            assert_eq!(
                shell::read(&line.line),
                first,
                "{:?} after {other:?}",
                line.line
            );
        }
    }
}
