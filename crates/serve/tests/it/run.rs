//! `harn-serve run` without a terminal.

use std::{
    fs,
    io::Write,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

const SCENARIO: &str = r#"
name: house
turns:
  - match: "^write"
    steps:
      - say: "I would like to leave a note."
      - ask:
          tool: write_file
          kind: edit
          title: "Write NOTES.md"
          diff: {path: NOTES.md, new_text: "Seen.\n"}
          on_allow: [{say: "Written."}]
          on_reject: [{say: "Then I leave it."}]
  - match: "^make"
    steps:
      - write: {path: NOTES.md, text: "Seen.\n"}
      - run: {command: "touch made"}
      - say: "Over."
  - match: "^fail"
    steps: [{say: "This will not end well."}, {fail: "the scenario said so"}]
  - match: "^wait"
    steps: [{say: "waiting"}, {await_cancel: {}}, {say: " no more"}]
  - match: "^ignore"
    steps: [{say: "ignoring"}, {sleep_ms: 600000}]
  - match: "^command"
    steps:
      - emit: {type: tool_call, tool_call_id: t1, tool_name: sh, title: "make", kind: execute}
      - emit: {type: tool_call_update, tool_call_id: t1, tool_name: sh, status: in_progress, content: [{type: content, content: {type: text, text: "one\n"}}]}
      - say: "Begun."
      - await_cancel: {}
      - emit: {type: tool_call_update, tool_call_id: t1, tool_name: sh, status: in_progress, content: [{type: content, content: {type: text, text: "one\ntwo\n"}}]}
      - emit: {type: tool_call_update, tool_call_id: t1, tool_name: sh, status: completed, content: [{type: content, content: {type: text, text: "one\ntwo\nthree\n"}}]}
  - match: "^delegate"
    steps:
      - worker: {name: left, task: "Look left", steps: [{say: "Said to nobody."}, {await_cancel: {}}]}
      - worker: {name: right, task: "Look right", steps: [{fail: "it is dark\nthere"}]}
      - await_workers: [right]
      - cancel_worker: {worker: left}
      - worker: {name: scribe, task: "Write it down", steps: [{ask: {tool: write_file, kind: edit, title: "Write NOTES.md"}}]}
      - await_workers: {}
      - emit: {type: skill_activated, skill_name: seeing, iteration: 1, reason: "it is dark"}
      - emit: {type: artifact, artifact_id: a1, kind: map, mime_type: text/plain, spec: {}, fallback: "A map of the house.", size_bytes: 2}
      - emit: {type: composition_start, run_id: r1, language: lua, snippet_hash: "", binding_manifest_hash: "", requested_side_effect_ceiling: none}
      - emit: {type: composition_error, run_id: r1, language: lua, snippet_hash: "", binding_manifest_hash: "", requested_side_effect_ceiling: none, error: "too deep"}
      - emit: {type: handoff, artifact_id: h1, handoff: {task: "Find a lamp", target_persona_or_human: {kind: human, label: "Ada"}}}
      - say: "Behind the door."
  - match: "^consult"
    steps:
      - question: {prompt: "Which door?", on_none: [{say: "No door. "}]}
      - question: {prompt: "Which lamp?", choices: [red, blue], default: blue}
      - approval: {action: deploy, on_approve: [{say: "Deployed."}], on_refuse: [{say: "Then not."}]}
  - match: "^enough"
    steps: [{stop: max_tokens}]
  - steps:
      - think: "where is it?"
      - emit: {type: plan, plan: [{content: "look", status: completed}]}
      - emit: {type: tool_call, tool_call_id: t1, tool_name: look, title: "Look around", kind: read}
      - emit: {type: tool_call_update, tool_call_id: t1, tool_name: look, status: completed}
      - say: "Behind the "
      - say: "curtain."
"#;

struct Ran {
    code: Option<i32>,
    answer: String,
    notes: String,
    state: TempDir,
}

fn command(state: &TempDir, prompt: &str) -> Command {
    let mut command = base_command(state);
    command.arg(prompt);
    command
}

fn base_command(state: &TempDir) -> Command {
    let scenario = state.path().join("house.yaml");
    fs::write(&scenario, SCENARIO).unwrap();
    // The state directory is protected from writes, so the working directory is outside of it.
    let (kept, work) = (state_dir(state), state.path().join("work"));
    fs::create_dir_all(&work).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_harn-serve"));
    command
        .env("XDG_CONFIG_HOME", state.path().join("config"))
        .args(["run", "--engine", &format!("script:{}", scenario.display())])
        .args(["--state-dir", kept.to_str().unwrap()])
        .args(["--cwd", work.to_str().unwrap()]);
    command
}

fn state_dir(state: &TempDir) -> PathBuf {
    state.path().join("state")
}

fn run(prompt: &str) -> Ran {
    run_with(prompt, &[])
}

fn run_with(prompt: &str, args: &[&str]) -> Ran {
    let state = TempDir::new().unwrap();
    let output = command(&state, prompt).args(args).output().unwrap();
    collect_output(output, state)
}

fn collect_output(output: Output, state: TempDir) -> Ran {
    Ran {
        code: output.status.code(),
        answer: String::from_utf8(output.stdout).unwrap(),
        notes: String::from_utf8(output.stderr).unwrap(),
        state,
    }
}

/// Runs the explore engine in a directory with a file, with rules that allow some commands.
fn explore(args: &[&str]) -> Ran {
    let state = TempDir::new().unwrap();
    let work = state.path().join("work");
    fs::create_dir(&work).unwrap();
    fs::write(work.join("a.txt"), "one\n").unwrap();
    let rules = state.path().join("rules.toml");
    let allowed = "command = [\"ls\", \"seq *\", \"false\", \"nosuchcommand\"]";
    let rule = format!("[[rules]]\naction = \"allow\"\nmatch = {{ {allowed} }}\n");
    fs::write(&rules, rule).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_harn-serve"))
        .env("XDG_CONFIG_HOME", state.path().join("config"))
        .args(["run", "--policy", rules.to_str().unwrap()])
        .args(["--state-dir", state_dir(&state).to_str().unwrap()])
        .args(["--cwd", work.to_str().unwrap()])
        .args(args)
        .output()
        .unwrap();
    collect_output(output, state)
}

/// Returns the sessions of a state directory, the most recently changed first.
fn list_sessions(state: &TempDir) -> Vec<Value> {
    let list = Command::new(env!("CARGO_BIN_EXE_harn-serve"))
        .args(["sessions", "list", "--json", "--state-dir"])
        .arg(state_dir(state))
        .output()
        .unwrap();
    let rows: Value = serde_json::from_slice(&list.stdout).unwrap();
    rows.as_array().unwrap().clone()
}

#[test]
fn a_mistyped_flag_is_an_error_and_never_the_prompt() {
    for (flag, near) in [("--mod", "--mode"), ("--polcy", "--policy")] {
        let ran = run_with("where is the door?", &[flag, "ask"]);
        assert_eq!(ran.code, Some(2), "{}", ran.notes);
        assert_eq!(ran.answer, "");
        let words = format!("unexpected argument '{flag}'");
        assert!(ran.notes.contains(&words), "{}", ran.notes);
        let tip = format!("a similar argument exists: '{near}'");
        assert!(ran.notes.contains(&tip), "{}", ran.notes);
        assert!(!state_dir(&ran.state).exists(), "a session was begun");
    }
}

#[test]
fn words_form_one_prompt_also_after_two_dashes() {
    let ran = run_with("where", &["is", "the door?"]);
    assert_eq!(ran.code, Some(0), "{}", ran.notes);
    assert_eq!(list_sessions(&ran.state)[0]["title"], "where is the door?");
    let ran = run_with("what", &["--", "is", "--mode", "-"]);
    assert_eq!(ran.code, Some(0), "{}", ran.notes);
    assert_eq!(list_sessions(&ran.state)[0]["title"], "what is --mode -");
}

#[test]
fn a_dash_or_no_words_read_the_prompt_from_stdin() {
    for words in [&["-"][..], &[]] {
        let state = TempDir::new().unwrap();
        let mut child = base_command(&state)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"where is\nthe door?\n").unwrap();
        drop(stdin);
        let ran = collect_output(child.wait_with_output().unwrap(), state);
        assert_eq!(ran.code, Some(0), "{}", ran.notes);
        assert_eq!(ran.answer, "Behind the curtain.\n");
        assert_eq!(list_sessions(&ran.state)[0]["title"], "where is");
    }
}

#[test]
fn stdout_contains_the_output_of_a_command() {
    let ran = explore(&["/run ls"]);
    assert_eq!(ran.code, Some(0), "{}", ran.notes);
    assert_eq!(ran.answer, "a.txt\n");
    assert!(ran.notes.contains("$ ls"), "{}", ran.notes);
    assert!(ran.notes.contains("`ls` succeeded"), "{}", ran.notes);
    // Longer than the output that a finished call shows.
    let ran = explore(&["/run seq 30000"]);
    assert_eq!(ran.code, Some(0), "{}", ran.notes);
    let whole: String = (1..=30_000).map(|number| format!("{number}\n")).collect();
    assert!(ran.answer == whole, "{} bytes", ran.answer.len());
    let ran = explore(&["/run seq 0"]);
    assert_eq!((ran.code, ran.answer.as_str()), (Some(0), ""));
    // The reason for missing output is not printed as output.
    let ran = explore(&["/run rm a.txt"]);
    assert_eq!((ran.code, ran.answer.as_str()), (Some(1), ""));
    assert!(ran.notes.contains("there is no terminal"), "{}", ran.notes);
}

#[test]
fn a_call_that_is_refused_or_not_found_is_a_failure() {
    let table = [
        ("/read a.txt", 0, ""),
        ("/read nosuch.txt", 1, "a call failed: "),
        ("/tool nosuch {}", 1, "a call failed: nosuch"),
        ("/run nosuchcommand", 1, "a command was not found: "),
        ("/run false", 1, "a call failed: "),
        ("/run rm a.txt", 1, "a call was refused: "),
    ];
    for (prompt, code, why) in table {
        let ran = explore(&[prompt]);
        assert_eq!(ran.code, Some(code), "{prompt}: {}", ran.notes);
        assert!(ran.notes.contains(why), "{prompt}: {}", ran.notes);
    }
}

#[test]
fn json_prints_the_updates_of_the_session() {
    let ran = run_with("where is the door?", &["--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.notes);
    assert_eq!(ran.notes, "");
    let lines: Vec<Value> = ran
        .answer
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ids = lines.iter().map(|line| &line["_meta"]["harn"]["eventId"]);
    assert!(ids.filter(|id| id.is_string()).count() > 3, "{lines:#?}");
    let said: String = lines
        .iter()
        .map(|line| &line["update"])
        .filter(|update| update["sessionUpdate"] == "agent_message_chunk")
        .filter_map(|update| update["content"]["text"].as_str())
        .collect();
    assert_eq!(said, "Behind the curtain.");
    assert_eq!(lines.last().unwrap()["kind"], "turn_ended", "{lines:#?}");

    let refused = run_with("write", &["--json"]);
    assert_eq!(refused.code, Some(1), "{}", refused.notes);
    let why = "harn-serve: a call was refused: Write NOTES.md\n";
    assert!(refused.notes.ends_with(why), "{}", refused.notes);
}

#[test]
fn quiet_prints_the_answer_alone() {
    let ran = run_with("where is the door?", &["--quiet"]);
    assert_eq!((ran.code, ran.notes.as_str()), (Some(0), ""));
    assert_eq!(ran.answer, "Behind the curtain.\n");
    let ran = explore(&["--quiet", "/run ls"]);
    assert_eq!((ran.code, ran.notes.as_str()), (Some(0), ""));
    assert_eq!(ran.answer, "a.txt\n");
    // A refusal is printed even so.
    let ran = run_with("write", &["--quiet"]);
    assert_eq!(ran.code, Some(1));
    let refused = "rejected, because there is no terminal to ask on: Write NOTES.md\n";
    assert!(ran.notes.starts_with(refused), "{}", ran.notes);
}

#[test]
fn a_session_is_continued() {
    let state = TempDir::new().unwrap();
    let again = |prompt: &str, args: &[&str]| {
        let output = command(&state, prompt).args(args).output().unwrap();
        let notes = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), notes)
    };
    let (code, notes) = again("where is the door?", &["--continue"]);
    assert_eq!(code, Some(1), "{notes}");
    assert!(notes.contains("omit --continue"), "{notes}");

    assert_eq!(again("where is the door?", &[]).0, Some(0));
    let id = list_sessions(&state)[0]["sessionId"]
        .as_str()
        .unwrap()
        .to_owned();
    let beginning = &id[..id.len() - 2];
    let written = state.path().join("work/NOTES.md");
    for args in [&["--continue"][..], &["--session", beginning]] {
        let (code, notes) = again("make a note", args);
        assert_eq!(code, Some(1), "{notes}");
        assert!(!written.exists(), "{args:?}");
    }
    // A given mode applies, also in a session with another.
    again("make a note", &["--continue", "--mode", "accept-edits"]);
    assert!(written.exists());
    assert_eq!(
        list_sessions(&state).len(),
        1,
        "one session, prompted again"
    );
    let prompts = fs::read_to_string(state_dir(&state).join(format!("threads/{id}/events.jsonl")));
    let prompts = prompts.unwrap().matches(r#""type":"turn_started""#).count();
    assert_eq!(prompts, 4);

    let (code, notes) = again("where?", &["--session", "nosuch"]);
    assert_eq!(code, Some(1));
    assert!(notes.contains("unknown session nosuch"), "{notes}");
}

#[test]
fn answer_goes_to_stdout_and_the_rest_to_stderr() {
    let ran = run("where is the door?");
    assert_eq!(ran.code, Some(0), "{}", ran.notes);
    assert_eq!(ran.answer, "Behind the curtain.\n");
    let notes: Vec<_> = ran.notes.lines().collect();
    let ["where is it?", "", "[x] look", call] = notes[..] else {
        panic!("{notes:#?}");
    };
    assert!(call.starts_with("≡ Look around  ✓ "), "{call}");
    assert!(!ran.notes.contains('\x1b'), "colour where nobody sees it");
}

#[test]
fn permission_without_a_terminal_is_refused_with_a_message() {
    let ran = run("write");
    assert_eq!(ran.code, Some(1), "{}", ran.notes);
    let why = "harn-serve: a call was refused: Write NOTES.md\n";
    assert!(ran.notes.ends_with(why), "{}", ran.notes);
    assert_eq!(
        ran.answer,
        "I would like to leave a note.\n\nThen I leave it.\n"
    );
    assert!(ran.notes.contains("+Seen.\n"), "{}", ran.notes);
    let refused = "rejected, because there is no terminal to ask on: Write NOTES.md\n";
    assert!(ran.notes.contains(refused), "{}", ran.notes);
    let helped = "there is no terminal to ask on; allow calls with --mode or --policy\n";
    assert_eq!(ran.notes.matches(helped).count(), 1, "{}", ran.notes);
    // The record does not claim that a person rejected the call.
    let threads = fs::read_dir(state_dir(&ran.state).join("threads")).unwrap();
    let thread = threads.map(|thread| thread.unwrap().path()).next().unwrap();
    let journal = fs::read_to_string(thread.join("events.jsonl")).unwrap();
    assert!(journal.contains(r#""decision":"unavailable""#), "{journal}");
    assert!(!journal.contains(r#""decision":"rejected""#), "{journal}");
}

#[test]
fn mode_and_named_rules_decide_what_runs_unasked() {
    let written = |ran: &Ran| fs::read_to_string(ran.state.path().join("work/NOTES.md")).ok();
    let ran = run("make a note");
    assert_eq!(ran.answer, "Over.\n");
    assert_eq!(written(&ran), None);
    assert_eq!(
        ran.notes.matches("rejected, because").count(),
        2,
        "{}",
        ran.notes
    );
    assert_eq!(ran.notes.matches("--mode").count(), 2, "{}", ran.notes);

    let ran = run_with("make a note", &["--mode", "accept-edits"]);
    assert_eq!(written(&ran).as_deref(), Some("Seen.\n"), "{}", ran.notes);
    assert_eq!(
        ran.notes.matches("rejected, because").count(),
        1,
        "{}",
        ran.notes
    );

    let ran = run_with("make a note", &["--mode", "read-only"]);
    assert_eq!(written(&ran), None);
    assert!(ran.notes.contains("mode is read-only"), "{}", ran.notes);
    assert!(!ran.notes.contains("rejected, because"), "{}", ran.notes);

    let rules = TempDir::new().unwrap();
    let rules = rules.path().join("rules.toml");
    fs::create_dir_all(rules.parent().unwrap()).unwrap();
    let touch = "[[rules]]\naction = \"allow\"\nmatch = { command = [\"touch *\"] }\n";
    fs::write(&rules, touch).unwrap();
    let ran = run_with("make a note", &["--policy", rules.to_str().unwrap()]);
    assert_eq!(written(&ran), None);
    assert!(ran.state.path().join("work/made").exists(), "{}", ran.notes);
}

#[test]
fn question_without_a_terminal_is_declined_with_a_message() {
    let ran = run("consult");
    assert_eq!(ran.code, Some(0), "{}", ran.notes);
    assert!(ran.answer.contains("No door."), "{}", ran.answer);
    assert!(ran.answer.ends_with("Then not.\n"), "{}", ran.answer);
    for asked in ["Which door?", "Which lamp?", "May this be done: deploy?"] {
        let declined = format!("declined, because there is no terminal to ask on: {asked}\n");
        assert_eq!(ran.notes.matches(&declined).count(), 1, "{}", ran.notes);
    }
}

/// Removes durations from lines.
fn without_times(notes: &str) -> Vec<String> {
    let is_no_time = |word: &&str| {
        !word.starts_with(|c: char| c.is_ascii_digit()) && !["ms", "s"].contains(word)
    };
    let words = |line: &str| {
        line.split(' ')
            .filter(is_no_time)
            .collect::<Vec<_>>()
            .join(" ")
    };
    notes.lines().map(words).collect()
}

#[test]
fn workers_and_other_activity_print_a_line_each() {
    let ran = run("delegate");
    assert_eq!(ran.code, Some(1), "{}", ran.notes);
    assert_eq!(ran.answer, "Behind the door.\n");
    let expected = [
        "» started left, right",
        "» right: Look right  ✗  it is dark …",
        "» left: Look left  ✗  cancelled",
        "» started scribe",
        "rejected, because there is no terminal to ask on: Write NOTES.md",
        "  --mode and --policy set which calls run without a question",
        "» scribe: Write it down  ✓",
        "· skill seeing is active: it is dark",
        "· artifact map: A map of the house.",
        "» composition: lua  ✗  too deep",
        "· work is handed over to Ada: Find a lamp",
        "harn-serve: a call was refused: Write NOTES.md",
    ];
    let notes = without_times(&ran.notes);
    let notes: Vec<_> = notes.iter().map(|line| line.trim_end()).collect();
    assert_eq!(notes, expected);
}

#[test]
fn explore_all_uses_workers_that_the_list_hides() {
    let folder = TempDir::new().unwrap();
    for (path, text) in [
        ("src/a.rs", "fn apple() {}\n"),
        ("docs/guide.md", "Pears.\n"),
        ("README.md", "An apple.\n"),
    ] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let state = TempDir::new().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_harn-serve"))
        .args(["run", "--state-dir", state.path().to_str().unwrap()])
        .args(["--cwd", folder.path().to_str().unwrap()])
        .arg("/explore-all apple")
        .output()
        .unwrap();
    let answer = String::from_utf8(output.stdout).unwrap();
    let notes = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{notes}");
    assert!(answer.contains("1. `src/a.rs:1`"), "{answer}");
    let end = "\n\nSearched 3 files in 2 folders and the top level.\n";
    assert!(answer.ends_with(end), "{answer}");
    for line in [
        "[ ] Search docs/\n",
        "» docs: Search docs/ for \"apple\"  ✓ ",
        "» src: Search src/ for \"apple\"  ✓ ",
        "» top-level files: Search top-level files for \"apple\"  ✓ ",
        "[x] Merge the best matches\n",
    ] {
        assert_eq!(notes.matches(line).count(), 1, "{line} in:\n{notes}");
    }
    let of_workers = notes.lines().filter(|line| line.starts_with("[x] Search"));
    assert_eq!(of_workers.count(), 0, "said twice:\n{notes}");
    // The workers' calls are not shown: one line per worker describes its work.
    assert!(!notes.contains("⌕ Search"), "{notes}");

    let kept = fs::read_dir(state.path().join("threads")).unwrap().count();
    assert_eq!(kept, 4, "a session for each worker and one for the person");
    let list = Command::new(env!("CARGO_BIN_EXE_harn-serve"))
        .args(["sessions", "list", "--state-dir"])
        .arg(state.path())
        .output()
        .unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    assert_eq!(list.lines().count(), 2, "{list}");
}

#[test]
fn exit_code_is_one_when_a_turn_fails_or_stops_early() {
    let failed = run("fail");
    assert_eq!(failed.code, Some(1));
    assert_eq!(failed.answer, "This will not end well.\n");
    assert_eq!(failed.notes, "error: the scenario said so\n");
    let enough = run("enough");
    assert_eq!(enough.code, Some(1));
    assert_eq!(
        enough.notes,
        "harn-serve: the agent reached its token limit\n"
    );
}

#[test]
fn an_empty_prompt_is_refused() {
    for prompt in ["", " \n"] {
        let ran = run(prompt);
        assert_eq!(ran.code, Some(2));
        assert_eq!(ran.answer, "");
        assert_eq!(
            ran.notes,
            "error: the prompt is empty; write a question or a task\n"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_written_is_a_failure() {
    let state = TempDir::new().unwrap();
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = command(&state, "where is the door?")
        .stdout(full)
        .output()
        .unwrap();
    let notes = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{notes}");
    assert!(notes.contains("\nerror: writing to stdout: "), "{notes}");
}

#[test]
fn run_stores_its_session() {
    let ran = run("where is the door?");
    let output = Command::new(env!("CARGO_BIN_EXE_harn-serve"))
        .args(["sessions", "list", "--state-dir"])
        .arg(state_dir(&ran.state))
        .output()
        .unwrap();
    let list = String::from_utf8(output.stdout).unwrap();
    assert!(list.contains("where is the door?"), "{list}");
}

#[cfg(unix)]
mod interrupted {
    use std::{
        io::Read,
        process::{Child, ChildStdout},
    };

    use rustix::process::{Pid, Signal, kill_process};

    use super::*;

    /// Starts the command and waits until it has printed `said`.
    fn start(state: &TempDir, prompt: &str, said: &str) -> (Child, ChildStdout) {
        let mut command = command(state, prompt);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let mut heard = vec![0; said.len()];
        stdout.read_exact(&mut heard).unwrap();
        assert_eq!(heard, said.as_bytes());
        (child, stdout)
    }

    fn interrupt(child: &Child) {
        let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
        kill_process(pid, Signal::INT).unwrap();
    }

    #[test]
    fn the_output_of_a_command_is_shown_while_it_runs_and_once() {
        let state = TempDir::new().unwrap();
        let (mut child, _stdout) = start(&state, "command", "Begun.");
        // The command continues only when it is interrupted.
        let mut stderr = child.stderr.take().unwrap();
        let mut notes = vec![0; "$ make\n  one\n".len()];
        stderr.read_exact(&mut notes).unwrap();
        assert_eq!(notes, b"$ make\n  one\n");
        interrupt(&child);
        let mut rest = String::new();
        stderr.read_to_string(&mut rest).unwrap();
        let (_, rest) = rest.split_once("at once\n").unwrap();
        assert!(rest.starts_with("  two\n  three\n$ make  ✓ "), "{rest:?}");
        assert_eq!(rest.lines().count(), 3, "{rest:?}");
        child.wait().unwrap();
    }

    /// Reads until the output ends with `words`.
    fn read_until(from: &mut impl Read, words: &str) -> String {
        let mut heard = Vec::new();
        while !heard.ends_with(words.as_bytes()) {
            let mut byte = [0];
            from.read_exact(&mut byte).unwrap();
            heard.push(byte[0]);
        }
        String::from_utf8(heard).unwrap()
    }

    #[test]
    fn a_watch_prints_changes_as_they_come_until_it_is_interrupted() {
        let state = TempDir::new().unwrap();
        let work = state.path().join("work");
        fs::create_dir_all(work.join("src")).unwrap();
        fs::write(work.join("src/a.rs"), "one\n").unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_harn-serve"))
            .env("XDG_CONFIG_HOME", state.path().join("config"))
            .args(["run", "--state-dir", state_dir(&state).to_str().unwrap()])
            .args(["--cwd", work.to_str().unwrap(), "/watch src/**"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let opening = read_until(&mut stdout, "ends the watch.\n\n");
        assert!(
            opening.starts_with("Watching `src/**`: 1 file matches. "),
            "{opening}"
        );
        let mut stderr = child.stderr.take().unwrap();
        let mut notes = read_until(&mut stderr, "Ctrl-C ends it\n");
        // With a rename, so that it is one change.
        let beside = state.path().join("beside");
        fs::write(&beside, "two\n").unwrap();
        fs::rename(&beside, work.join("src/a.rs")).unwrap();
        assert_eq!(read_until(&mut stdout, ".\n\n"), "Changed `src/a.rs`.\n\n");
        interrupt(&child);
        stderr.read_to_string(&mut notes).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{notes}");
        let notes = without_times(&notes);
        let notes: Vec<_> = notes.iter().map(|line| line.trim_end()).collect();
        assert_eq!(
            notes,
            [
                "⌕ Watch src/**  ✓",
                "· the agent waits; Ctrl-C ends it",
                "· changed on disk: src/a.rs",
                "· reminder: Changed on disk: src/a.rs. Read again the files that you rely on.",
                "cancelling; Ctrl-C again exits at once",
            ]
        );
    }

    #[test]
    fn first_interrupt_cancels_the_turn() {
        let state = TempDir::new().unwrap();
        let (mut child, mut stdout) = start(&state, "wait", "waiting");
        interrupt(&child);
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        assert!(rest.ends_with("no more\n"), "{rest:?}");
        assert_eq!(child.wait().unwrap().code(), Some(130));
    }

    #[test]
    fn second_interrupt_exits() {
        let state = TempDir::new().unwrap();
        let (mut child, _stdout) = start(&state, "ignore", "ignoring");
        interrupt(&child);
        // The second one counts only after the first was handled.
        let mut stderr = child.stderr.take().unwrap();
        let mut heard = Vec::new();
        while !heard.ends_with(b"at once\n") {
            let mut byte = [0];
            stderr.read_exact(&mut byte).unwrap();
            heard.push(byte[0]);
        }
        interrupt(&child);
        assert_eq!(child.wait().unwrap().code(), Some(130));
    }
}
