//! Runs every line that the table allows under a tracer, and checks that nothing was executed that was not
//! approved: each program, with its first words, is one that the line was read as. Needs `strace`.

#![allow(
    clippy::unwrap_used,
    reason = "a test says what went wrong by panicking"
)]
#![cfg(target_os = "linux")]

#[allow(dead_code, reason = "shared by tests that use different parts")]
mod shell_table;

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use harn_policy::shell;
use shell_table::cases;

#[test]
fn what_runs_is_what_was_approved() {
    assert!(
        Command::new("strace").arg("-V").output().is_ok(),
        "this test needs strace: install it with `apt-get install strace` (or `dnf install strace`)"
    );
    let mut traced = 0;
    for case in cases().iter().filter(|case| case.decision == "allow") {
        let executed = trace(&case.line);
        let ours = ["sh".to_owned(), "-c".to_owned(), case.line.clone()];
        assert!(
            executed.contains(&ours.to_vec()),
            "nothing was traced of {:?}: {executed:?}",
            case.line
        );
        let read = shell::read(&case.line);
        for argv in executed.iter().filter(|argv| **argv != ours) {
            let approved = read
                .commands
                .iter()
                .any(|simple| begins(argv, &simple.argv));
            assert!(
                approved,
                "{:?} ran {argv:?}, and was read as {read:?}",
                case.line
            );
        }
        traced += 1;
    }
    assert!(traced >= 30, "{traced} lines");
}

/// Whether these words begin with those. A program may add words of its own (`xargs`), not change them.
fn begins(argv: &[String], approved: &[String]) -> bool {
    argv.len() >= approved.len() && argv.iter().zip(approved).all(|(got, want)| got == want)
}

/// Everything that a line executes, with its words.
fn trace(line: &str) -> Vec<Vec<String>> {
    let dir = tempfile::tempdir().unwrap();
    let (work, log) = (dir.path().join("work"), dir.path().join("log"));
    fs::create_dir_all(work.join("src")).unwrap();
    fs::create_dir(&log).unwrap();
    fs::write(work.join("a.txt"), "a\nx\nb\n").unwrap();
    // One log a process, so that no call is cut in two; strings in hex, so that none has to be guessed.
    let mut child = Command::new("strace")
        .args(["-ff", "-xx", "-s", "65536", "-e", "trace=execve", "-o"])
        .arg(log.join("trace"))
        .args(["timeout", "20", "/bin/sh", "-c", line])
        .current_dir(&work)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.wait().unwrap();
    let mut executed = Vec::new();
    for entry in fs::read_dir(&log).unwrap() {
        for call in fs::read_to_string(entry.unwrap().path()).unwrap().lines() {
            if call.starts_with("execve(") && call.ends_with("= 0") {
                executed.push(words(call));
            }
        }
    }
    // The timeout around the shell is ours.
    executed.retain(|argv| argv.get(1).is_none_or(|word| word != "20"));
    executed
}

/// The words of an `execve` as `strace -xx` writes it; the program by its last part.
fn words(call: &str) -> Vec<String> {
    let list = call.split_once('[').unwrap().1;
    let list = list.split_once(']').unwrap().0;
    let mut words: Vec<String> = list
        .split(", ")
        .map(|word| {
            let hex = word.trim_matches('"').replace("\\x", "");
            let bytes = hex.as_bytes().chunks(2);
            let bytes = bytes.map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16));
            String::from_utf8(bytes.collect::<Result<_, _>>().unwrap()).unwrap()
        })
        .collect();
    let name = Path::new(&words[0]).file_name().unwrap().to_str().unwrap();
    words[0] = name.to_owned();
    words
}
