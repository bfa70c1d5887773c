//! Initial input, written into the folder of a run. None is checked in: the tables in `fixtures/policy` are the
//! seeds, so a new case there is a new seed here.

use std::{fs, path::PathBuf};

use serde_json::Value;

/// Attack cases for shell lines.
pub const SHELL: &str = include_str!("../../fixtures/policy/shell.jsonl");
/// Shell lines that mode `auto` decides about.
pub const SHELL_AUTO: &str = include_str!("../../fixtures/policy/shell-auto.jsonl");
/// Shell lines that write files.
pub const SHELL_WRITE: &str = include_str!("../../fixtures/policy/shell-write.jsonl");
/// Shell lines with their expected parse.
pub const SHELL_READ: &str = include_str!("../../fixtures/policy/shell-read.jsonl");
/// Repositories that may run a program.
pub const GIT: &str = include_str!("../../fixtures/policy/git.jsonl");
/// Attack cases for paths.
pub const PATHS: &str = include_str!("../../fixtures/policy/paths.jsonl");

/// Writes seeds into the first folder on the command line. A run on single files, such as one that repeats a
/// failure, has no folder and gets none.
///
/// # Panics
///
/// When the folder cannot be written: a run without seeds would find nothing and look fine.
pub fn write(seeds: impl IntoIterator<Item = Vec<u8>>) {
    let dir = std::env::args()
        .skip(1)
        .map(PathBuf::from)
        .find(|path| path.is_dir());
    let Some(dir) = dir else { return };
    for (place, seed) in seeds.into_iter().enumerate() {
        fs::write(dir.join(format!("seed-{place:04}")), seed).expect("the folder of seeds");
    }
}

/// Returns one member of every line of a table.
///
/// # Panics
///
/// When a line is no JSON or has no such text: the table is wrong then.
pub fn column(table: &'static str, member: &'static str) -> impl Iterator<Item = String> {
    table.lines().map(move |line| {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        line[member].as_str().expect("a text").to_owned()
    })
}
