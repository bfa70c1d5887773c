//! Runs every line that the tables allow, and random lines that would be allowed, under a tracer. Every executed
//! program, with its first words, must be a command of the parsed line, and no file may be created, changed or
//! removed. Needs `strace`.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::programs::skip_without;
use crate::shell_table::{auto_cases, cases, decide, policy};
use harn_model::PolicyAction;
use harn_policy::{Policy, SessionMode, ToolApprovalPolicy, shell};

/// Pieces of random lines: commands that read, flags that write or run, and syntax that shells split at.
const PIECES: &[&str] = &[
    "ls",
    "cat a.txt",
    "cat",
    "echo a",
    "grep a a.txt",
    "sed -n p a.txt",
    "sed -n",
    "sort a.txt",
    "sort",
    "uniq",
    "uniq -c",
    "head -n 1 a.txt",
    "wc -l",
    "find . -name a.txt",
    "true",
    "[ -f a.txt ]",
    "[ 1 -eq",
    "printf '%s' a",
    "printf",
    "xargs cat",
    "git status",
    "date",
    "file",
    "diff a.txt a.txt",
    "cut -d a -f 1",
    "tr a b",
    "env",
    "stat a.txt",
    "du",
    "tail -n 1",
    "timeout 5 ls",
    "touch out",
    "rm a.txt",
    "out",
    "a.txt",
    "-",
    "--",
    "-o",
    "-oout",
    "-no out",
    "--output=out",
    "--outp=out",
    "--compress-program=touch",
    "-i",
    "-n",
    "-e",
    "-f",
    "-z",
    "-exec",
    "-fprint out",
    "-delete",
    "{}",
    "'%n'",
    "PATH",
    "'w out'",
    "'1e touch out'",
    "s/a/b/w",
    "1p",
    "'s/a/b/p'",
    "'",
    "\"",
    "\\",
    "\\ ",
    "\\\n",
    " \\\n",
    "#",
    " # ",
    " ",
    " ",
    " ",
    " ",
    "\t",
    "; ",
    ";",
    " && ",
    "&&",
    " || ",
    " | ",
    "|",
    " & ",
    "\n",
    "(",
    ")",
    "( ",
    "{ ",
    "; }",
    "! ",
    ">",
    "> ",
    " >out",
    " >/dev/null",
    " 2>&1",
    " >&2",
    " 2>&-",
    " <a.txt",
    " </dev/null",
    " <>out",
    " &>out",
    " >&out",
    " 2 >out",
    " <<E\n",
    "\nE\n",
    " <<-'E'\n",
    "\n\tE\n",
    " <<''\n",
    "\n\n",
    "if ",
    "; then ",
    "; fi",
    "for i in 1 2; do ",
    "; done",
    "LANG=C ",
    "TZ=UTC ",
    "PATH=. ",
    "é",
    "Á",
    "=",
    "a=",
    "~",
    "%",
    "touch",
    "''",
    "\"\"",
    "$",
    "\"$\"",
    "'$(touch out)'",
    "'`touch out`'",
];

/// The number of random lines.
const MADE: usize = 200;
/// The limit of attempts: few lines are allowed.
const TRIED: usize = 200_000;

#[test]
fn allowed_line_runs_only_what_was_approved() {
    if skip_without("strace") {
        return;
    }
    let mut traced = 0;
    for case in cases().iter().chain(&auto_cases()) {
        if case.decision == "allow" {
            check(&case.line, "sh");
            traced += 1;
        }
    }
    assert!(traced >= 30, "{traced} lines");
}

#[test]
fn random_allowed_line_runs_only_what_was_approved() {
    if skip_without("strace") {
        return;
    }
    let rules = policy();
    let nothing = ToolApprovalPolicy::default().compile().unwrap();
    let mut lines = BTreeSet::new();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut any = |most: usize| {
        // The same numbers in every run.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap() % most
    };
    for _ in 0..TRIED {
        if lines.len() >= MADE {
            break;
        }
        let pieces: Vec<&str> = (0..3 + any(8)).map(|_| PIECES[any(PIECES.len())]).collect();
        let blank = if any(2) == 0 { " " } else { "" };
        let line = pieces.join(blank);
        let allows = |policy: &Policy, mode| decide(policy, &line, mode).0 == PolicyAction::Allow;
        if allows(&rules, SessionMode::Ask) || allows(&nothing, SessionMode::Auto) {
            lines.insert(line);
        }
    }
    assert_eq!(lines.len(), MADE);
    for (at, line) in lines.iter().enumerate() {
        // A line that the shells read differently would be a hole in one of them.
        let second = at % 2 == 1 && Path::new("/bin/bash").exists();
        check(line, if second { "bash" } else { "sh" });
    }
}

/// Runs a line and checks what it did.
fn check(line: &str, shell: &str) {
    let trace = trace(line, shell);
    let ours = [shell.to_owned(), "-c".to_owned(), line.to_owned()];
    assert!(
        trace.executed.contains(&ours.to_vec()),
        "nothing was traced of {line:?}: {trace:?}"
    );
    let read = shell::read(line);
    for argv in trace.executed.iter().filter(|argv| **argv != ours) {
        let approved = read
            .commands
            .iter()
            .any(|simple| begins_with(argv, &simple.argv));
        assert!(
            approved,
            "{shell}: {line:?} ran {argv:?}, and was read as {read:?}"
        );
    }
    assert!(
        trace.changed.is_empty(),
        "{shell}: {line:?} changed {:?}",
        trace.changed
    );
}

/// Whether these words begin with the approved ones. A program may add words (`xargs`), not change them.
fn begins_with(argv: &[String], approved: &[String]) -> bool {
    argv.len() >= approved.len() && argv.iter().zip(approved).all(|(got, want)| got == want)
}

/// The recorded effects of a line.
#[derive(Debug, Default)]
struct Trace {
    /// Every executed program, with its words.
    executed: Vec<Vec<String>>,
    /// System calls that create, change or remove a file.
    changed: Vec<String>,
}

fn trace(line: &str, shell: &str) -> Trace {
    let dir = tempfile::tempdir().unwrap();
    let (work, log) = (dir.path().join("work"), dir.path().join("log"));
    fs::create_dir_all(work.join("src")).unwrap();
    fs::create_dir(&log).unwrap();
    fs::write(work.join("a.txt"), "a\nx\nb\n").unwrap();
    // One log for each process, so that no call is split; strings in hex, so that each is unambiguous.
    let child = Command::new("strace")
        .args([
            "-ff",
            "-xx",
            "-s",
            "65536",
            "-e",
            "trace=execve,%file",
            "-o",
        ])
        .arg(log.join("trace"))
        .args(["timeout", "20"])
        .arg(format!("/bin/{shell}"))
        .args(["-c", line])
        .current_dir(&work)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CEILING_DIRECTORIES", dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    child.unwrap().wait().unwrap();
    let mut trace = Trace::default();
    for entry in fs::read_dir(&log).unwrap() {
        for call in fs::read_to_string(entry.unwrap().path()).unwrap().lines() {
            if call.starts_with("execve(") && call.ends_with("= 0") {
                trace.executed.push(execve_words(call));
            } else if changes_disk(call) {
                trace.changed.push(call.to_owned());
            }
        }
    }
    // The timeout around the shell is part of the test.
    trace
        .executed
        .retain(|argv| argv.get(1).is_none_or(|word| word != "20"));
    let names: BTreeSet<_> = fs::read_dir(&work)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["a.txt", "src"].map(Into::into).into(), "{line:?}");
    assert_eq!(
        fs::read_to_string(work.join("a.txt")).unwrap(),
        "a\nx\nb\n",
        "{line:?}"
    );
    trace
}

/// Whether a system call changes the disk. Writing to a sink does not.
fn changes_disk(call: &str) -> bool {
    let name = call.split('(').next().unwrap_or_default();
    let made = [
        "rename",
        "unlink",
        "mkdir",
        "rmdir",
        "link",
        "symlink",
        "truncate",
        "chmod",
        "fchmod",
        "chown",
        "lchown",
        "fchown",
        "utime",
        "mknod",
        "creat",
        "setxattr",
        "removexattr",
    ];
    let opened = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"];
    let sink = ["/dev/null", "/dev/tty"].iter().any(|path| {
        let hex: String = path.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
        call.contains(&format!("\"{hex}\""))
    });
    let writes = name.starts_with("open") && opened.iter().any(|flag| call.contains(flag)) && !sink;
    !call.contains("= -1 ") && (writes || made.iter().any(|made| name.starts_with(made)))
}

/// Returns the words of an `execve` as `strace -xx` writes it, the program by its last part.
fn execve_words(call: &str) -> Vec<String> {
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
