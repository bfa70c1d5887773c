//! The command line as a user sees it.

use std::process::{Command, Output};

use harn_journal::{JsonlStore, META_VERSION, MetaChange, SessionMeta, Store};
use harn_model::{AgentEvent, Envelope, Seq, SessionId};
use tempfile::TempDir;

fn harn_serve(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_harn-serve"));
    command.args(args).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[cfg(feature = "terminal")]
#[test]
fn help_of_run_explains_when_a_line_reaches_the_agent() {
    let help = stdout(&harn_serve(&["run", "--help"]));
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        help.contains(
            "Once the agent waits for more, as it does for /watch, each line you type is sent to it"
        ),
        "{help}"
    );
}

#[cfg(all(feature = "terminal", feature = "threads"))]
#[test]
fn help_names_every_command() {
    let help = harn_serve(&["--help"]);
    assert!(help.status.success());
    for command in [
        "acp", "threads", "serve", "run", "sessions", "grants", "doctor",
    ] {
        assert!(
            stdout(&help).contains(&format!("\n  {command} ")),
            "{command}"
        );
        let help = harn_serve(&[command, "--help"]);
        assert!(help.status.success());
        assert!(stdout(&help).contains("--state-dir"), "{command}");
    }
    for command in ["acp", "serve", "threads", "run", "sessions", "doctor"] {
        let help = stdout(&harn_serve(&[command, "--help"]));
        assert!(help.contains("--sessions-dir"), "{command}");
    }
    // Commands that do not read sessions have no such flag.
    for command in ["grants", "trust", "attach"] {
        let help = stdout(&harn_serve(&[command, "--help"]));
        assert!(!help.contains("--sessions-dir"), "{command}");
    }
    assert!(stdout(&help).contains("[alias: harness]"));
    let version = stdout(&harn_serve(&["--version"]));
    assert_eq!(
        version,
        format!("harn-serve {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[cfg(feature = "terminal")]
#[test]
fn invalid_command_line_is_rejected_with_a_reason() {
    let table: [(&[&str], &str); 15] = [
        (
            &["acp", "--engine", "llm"],
            "known engines: explore, script:FILE",
        ),
        (
            &["acp", "--profile", "loud"],
            "the profiles are auto, harn, meta and acp",
        ),
        (
            &["acp", "--engine", "script:/does/not/exist.yaml"],
            "/does/not/exist.yaml",
        ),
        (
            &["acp", "--log-level", "loud"],
            "possible values: error, warn, info",
        ),
        (
            &["acp", "--log-file", "/does/not/exist/log"],
            "--log-file /does/not/exist/log",
        ),
        (
            &["run", "--cwd", "/does/not/exist", "hello"],
            "--cwd /does/not/exist",
        ),
        (
            &["acp", "--mode", "yolo"],
            "known modes: ask, read-only, accept-edits, auto",
        ),
        (&["acp", "--ask-timeout", "soon"], "such as 90s, 30m or 2h"),
        (
            &["run", "--ask-timeout", "0s", "hello"],
            "between 1s and 30days",
        ),
        (
            &["acp", "--policy", "/does/not/exist.toml"],
            "--policy /does/not/exist.toml: the file does not exist",
        ),
        (&["grants", "revoke"], "ID"),
        (
            &["acp", "--listen", "127.0.0.1:0", "--open"],
            "unexpected argument '--open'",
        ),
        (&["run"], "the prompt is empty"),
        (
            &["run", "--continue", "--session", "s1", "hello"],
            "cannot be used with",
        ),
        (&["nonsense"], "unrecognized subcommand"),
    ];
    for (args, reason) in table {
        let output = harn_serve(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(
            stderr(&output).contains(reason),
            "{args:?}: {}",
            stderr(&output)
        );
        assert_eq!(stdout(&output), "", "{args:?}");
    }
}

#[cfg(feature = "terminal")]
#[test]
fn invalid_timeout_variable_is_rejected() {
    for command in [&["acp"][..], &["serve"], &["run", "hello"]] {
        for wrong in ["0", "soon"] {
            let output = Command::new(env!("CARGO_BIN_EXE_harn-serve"))
                .args(command)
                .env("HARN_HOST_CALL_TIMEOUT_SECS", wrong)
                .output()
                .unwrap();
            assert_eq!(output.status.code(), Some(2), "{command:?}");
            let told = format!(
                "error: HARN_HOST_CALL_TIMEOUT_SECS is `{wrong}`; it must be a whole number of seconds, \
                 from 1 to 4294967295\n"
            );
            assert_eq!(stderr(&output), told, "{command:?}");
        }
    }
}

/// avante.nvim starts agents with `PATH` and nothing else.
#[cfg(unix)]
#[test]
fn without_home_the_user_database_gives_the_state_directory() {
    let list = |vars: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_harn-serve"));
        let command = command.args(["sessions", "list"]).env_clear();
        command.envs(vars.iter().copied()).output().unwrap()
    };
    let output = list(&[("PATH", "/usr/bin:/bin")]);
    assert!(output.status.success(), "{}", stderr(&output));
    // A relative `HOME` is an error that names the settings to change.
    let output = list(&[("HOME", "nowhere")]);
    assert!(!output.status.success());
    for word in ["HOME", "XDG_STATE_HOME", "--state-dir"] {
        assert!(stderr(&output).contains(word), "{}", stderr(&output));
    }
}

#[test]
fn wrong_scenario_is_rejected_with_its_position() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("wrong.yaml");
    std::fs::write(&file, "name: wrong\nturns: 5\n").unwrap();
    let output = harn_serve(&["acp", "--engine", &format!("script:{}", file.display())]);
    assert_eq!(output.status.code(), Some(2));
    let place = format!("{}:2:8", file.display());
    assert!(stderr(&output).contains(&place), "{}", stderr(&output));
}

#[cfg(feature = "terminal")]
#[test]
fn wrong_policy_is_rejected_with_its_position() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("wrong.toml");
    std::fs::write(&file, "auto_deny = []\nrules = 5\n").unwrap();
    for command in [&["acp"][..], &["run", "hello"]] {
        let policy = ["--policy", file.to_str().unwrap()];
        let output = harn_serve(&[command, &policy].concat());
        assert_eq!(output.status.code(), Some(2));
        let words = stderr(&output);
        let start = format!("error: --policy {}: ", file.display());
        assert!(words.starts_with(&start), "{words}");
        assert!(words.contains("line 2"), "{words}");
    }
}

/// Returns a state directory with one session.
fn state_with_a_session() -> TempDir {
    let state = TempDir::new().unwrap();
    let events = include_str!("transcript.jsonl").lines();
    let events = events.map(|line| serde_json::from_str(line).unwrap());
    add_session(&state, "s1", "/home/ada/house", events.collect());
    state
}

fn add_session(state: &TempDir, id: &str, directory: &str, events: Vec<AgentEvent>) {
    let meta = SessionMeta {
        v: META_VERSION,
        thread_id: id.into(),
        title: "Where is the door?".to_owned(),
        directory: directory.into(),
        additional_directories: Vec::new(),
        created: 1_700_000_000_000,
        parent: None,
        worker: None,
        principal: None,
        failed: false,
        archived: false,
    };
    let mut log = JsonlStore::new(state.path()).create(meta).unwrap();
    let events: Vec<_> = (1..)
        .zip(events)
        .map(|(seq, event)| Envelope {
            seq: Seq(seq),
            at: 1_700_000_000_000 + seq,
            turn: Some("t1".into()),
            event,
        })
        .collect();
    log.append(&events).unwrap();
}

/// Returns a state directory with these sessions, the most recently changed first. Ids that end in `-empty`
/// have no prompt.
fn state_with_sessions(ids: &[(&str, &str)]) -> TempDir {
    let state = TempDir::new().unwrap();
    let prompt = include_str!("transcript.jsonl").lines().next().unwrap();
    for (age, (id, directory)) in ids.iter().enumerate() {
        let event = match id.ends_with("-empty") {
            true => AgentEvent::ModeChanged {
                mode_id: "ask".to_owned(),
            },
            false => serde_json::from_str(prompt).unwrap(),
        };
        add_session(&state, id, directory, vec![event]);
        let log = state.path().join(format!("threads/{id}/events.jsonl"));
        let log = std::fs::File::options().append(true).open(log).unwrap();
        let changed = 1_700_000_000 - u64::try_from(age).unwrap();
        let changed = std::time::UNIX_EPOCH + std::time::Duration::from_secs(changed);
        log.set_modified(changed).unwrap();
    }
    state
}

fn run_sessions(state: &TempDir, args: &[&str]) -> Output {
    let dir = state.path().to_str().unwrap();
    harn_serve(&[&["sessions", "--state-dir", dir], args].concat())
}

/// Returns the ids in a list, in its order.
fn listed_ids(output: &Output) -> Vec<String> {
    let rows = stdout(output);
    let first = |row: &str| row.split_whitespace().next().unwrap().to_owned();
    rows.lines().skip(1).map(first).collect()
}

#[test]
fn a_list_leaves_out_stored_sessions_without_a_prompt() {
    let state = state_with_sessions(&[("a-empty", "/w"), ("b", "/w"), ("c-empty", "/v")]);
    let list = run_sessions(&state, &["list"]);
    assert_eq!(listed_ids(&list), ["b"]);
    let hint = "harn-serve: 2 without a prompt left out; --all lists them\n";
    assert_eq!(stderr(&list), hint);
    let all = run_sessions(&state, &["list", "--all"]);
    assert_eq!(listed_ids(&all), ["a-empty", "b", "c-empty"]);
    assert_eq!(stderr(&all), "");
}

#[test]
fn a_list_leaves_out_archived_sessions() {
    let state = state_with_sessions(&[("a", "/w"), ("b", "/w"), ("c-empty", "/w")]);
    let store = JsonlStore::new(state.path());
    let mut opened = store.open(&"a".into()).unwrap();
    opened.log.amend(MetaChange::Archived(true)).unwrap();
    drop(opened);
    let list = run_sessions(&state, &["list"]);
    assert_eq!(listed_ids(&list), ["b"]);
    let hint = "harn-serve: 1 without a prompt and 1 archived left out; --all lists them\n";
    assert_eq!(stderr(&list), hint);
    let all = run_sessions(&state, &["list", "--all"]);
    assert_eq!(listed_ids(&all), ["a", "b", "c-empty"]);
    let state_of = |row: &str| row.contains(" archived ");
    let marked: Vec<_> = stdout(&all).lines().skip(1).map(state_of).collect();
    assert_eq!(marked, [true, false, false]);
    let json = run_sessions(&state, &["list", "--all", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json[0]["archived"], true);
    assert_eq!(json[1].get("archived"), None);
    // It can still be shown by its id; `last` is the last one in the list.
    assert!(run_sessions(&state, &["show", "a"]).status.success());
    let shown = run_sessions(&state, &["delete", "last"]);
    assert_eq!(stdout(&shown), "deleted b\n");
}

#[test]
fn list_filters_by_directory_limits_and_prints_json() {
    let here = TempDir::new().unwrap();
    let link = here.path().join("link");
    std::fs::create_dir(here.path().join("real")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(here.path().join("real"), &link).unwrap();
    let real = here.path().join("real");
    let (real, link) = (real.to_str().unwrap(), link.to_str().unwrap());
    let ids = [("a", "/gone"), ("b", real), ("c", link), ("d", real)];
    let state = state_with_sessions(&ids);
    let list = |args: &[&str]| listed_ids(&run_sessions(&state, &[&["list"], args].concat()));
    assert_eq!(list(&["--cwd", link]), ["b", "c", "d"]);
    assert_eq!(list(&["--cwd", "/gone/"]), ["a"]);
    assert_eq!(list(&["--limit", "2"]), ["a", "b"]);
    assert_eq!(list(&["--cwd", real, "--limit", "1"]), ["b"]);
    let none = run_sessions(&state, &["list", "--cwd", "/nowhere"]);
    assert!(stdout(&none).starts_with("no sessions of /nowhere in "));
    let wrong = run_sessions(&state, &["list", "--limit", "0"]);
    assert_eq!(wrong.status.code(), Some(2));

    let json = run_sessions(&state, &["list", "--json", "--limit", "1"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let expected = serde_json::json!([{
        "sessionId": "a",
        "title": "Where is the door?",
        "cwd": "/gone",
        "createdAt": "2023-11-14T22:13:20.000Z",
        "updatedAt": "2023-11-14T22:13:20.000Z",
        "liveState": "persisted",
        "activePrompt": false,
    }]);
    assert_eq!(json, expected);
    let none = run_sessions(&state, &["list", "--json", "--cwd", "/nowhere"]);
    assert_eq!(stdout(&none), "[]\n");
}

#[test]
fn session_is_found_by_a_prefix_of_its_id_or_last() {
    let state = state_with_sessions(&[
        ("x-empty", "/w"),
        ("ses_ab1", "/w"),
        ("ses_ab2", "/w"),
        ("ses_ab", "/w"),
        ("ses_cd1", "/w"),
    ]);
    let shown = |word: &str| {
        let output = run_sessions(&state, &["show", word]);
        let text = stdout(&output);
        let id = text.lines().nth(1).and_then(|line| line.split_once(','));
        id.map(|(id, _)| id.to_owned())
            .ok_or_else(|| stderr(&output))
    };
    assert_eq!(shown("ses_ab1").as_deref(), Ok("ses_ab1"));
    assert_eq!(shown("ses_ab").as_deref(), Ok("ses_ab"), "a whole id");
    assert_eq!(shown("cd").as_deref(), Ok("ses_cd1"));
    assert_eq!(shown("x").as_deref(), Ok("x-empty"));
    assert_eq!(shown("last").as_deref(), Ok("ses_ab1"));
    let several = "error: several sessions begin with ab: ses_ab1, ses_ab2, ses_ab\n";
    assert_eq!(shown("ab"), Err(several.to_owned()));
    let near = "error: unknown session ses_ab3; did you mean `ses_ab` or `ses_ab1` or `ses_ab2`? \
                `harn-serve sessions list` lists all\n";
    assert_eq!(shown("ses_ab3"), Err(near.to_owned()));

    for (word, id) in [("cd", "ses_cd1"), ("last", "ses_ab1"), ("last", "ses_ab2")] {
        let deleted = run_sessions(&state, &["delete", word]);
        assert_eq!(stdout(&deleted), format!("deleted {id}\n"));
    }
    assert_eq!(run_sessions(&state, &["delete", ""]).status.code(), Some(1));
    let left = run_sessions(&state, &["list", "--all"]);
    assert_eq!(listed_ids(&left), ["x-empty", "ses_ab"]);
}

#[test]
fn a_damaged_session_is_deleted_by_its_whole_id() {
    let state = state_with_sessions(&[("ses_ab1", "/w")]);
    let meta = state.path().join("threads/ses_ab1/meta.json");
    std::fs::write(meta, "{").unwrap();
    let deleted = run_sessions(&state, &["delete", "ses_ab1"]);
    assert_eq!(stdout(&deleted), "deleted ses_ab1\n");
}

#[test]
fn sessions_are_listed_shown_and_deleted() {
    let state = state_with_a_session();
    let dir = state.path().to_str().unwrap();
    let sessions = |args: &[&str]| harn_serve(&[&["sessions", "--state-dir", dir], args].concat());

    let list = stdout(&sessions(&["list"]));
    let lines: Vec<_> = list.lines().collect();
    assert_eq!(lines.len(), 2, "{list}");
    assert_eq!(
        lines[0].split_whitespace().collect::<Vec<_>>(),
        ["ID", "CHANGED", "STATE", "CONTROLLER", "TITLE", "DIRECTORY"]
    );
    assert!(lines[1].starts_with("s1  just now"), "{list}");
    assert!(
        lines[1].ends_with("Where is the door?  /home/ada/house"),
        "{list}"
    );

    let shown = stdout(&sessions(&["show", "s1"]));
    let (head, rest) = shown.split_once("\n\n").unwrap();
    assert!(
        head.starts_with("Where is the door?\ns1, created "),
        "{head}"
    );
    expect_test::expect_file!["transcript.txt"].assert_eq(rest);

    let deleted = sessions(&["delete", "s1"]);
    assert_eq!(stdout(&deleted), "deleted s1\n");
    assert!(stdout(&sessions(&["list"])).starts_with("no sessions in "));
    for args in [["show", "s1"], ["delete", "s1"]] {
        let output = sessions(&args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert_eq!(
            stderr(&output),
            "error: unknown session s1; `harn-serve sessions list` lists all\n",
            "{args:?}"
        );
    }
}

#[test]
fn damaged_session_is_reported_beside_the_list() {
    let state = state_with_a_session();
    let dir = state.path().to_str().unwrap();
    let damaged = state.path().join("threads/s2");
    std::fs::create_dir(&damaged).unwrap();
    std::fs::write(damaged.join("meta.json"), "{\n  nonsense").unwrap();
    let told = format!(
        "{}:2: the journal is damaged",
        damaged.join("meta.json").display()
    );

    let list = harn_serve(&["sessions", "--state-dir", dir, "list"]);
    assert_eq!(list.status.code(), Some(0));
    assert_eq!(stdout(&list).lines().count(), 2, "{}", stdout(&list));
    assert!(stdout(&list).contains("\ns1 "), "{}", stdout(&list));
    assert_eq!(stderr(&list).lines().count(), 1, "{}", stderr(&list));
    assert!(stderr(&list).contains(&told), "{}", stderr(&list));

    let report = harn_serve(&["doctor", "--state-dir", dir]);
    assert_eq!(report.status.code(), Some(1));
    assert!(stdout(&report).contains(&told), "{}", stdout(&report));

    std::fs::remove_dir_all(state.path().join("threads/s1")).unwrap();
    let list = harn_serve(&["sessions", "--state-dir", dir, "list"]);
    assert_eq!(list.status.code(), Some(0));
    assert_eq!(stdout(&list), "");
    assert!(stderr(&list).contains(&told), "{}", stderr(&list));
}

#[test]
fn a_session_that_is_open_elsewhere_is_not_deleted() {
    let state = state_with_a_session();
    let _open = JsonlStore::new(state.path())
        .open(&SessionId::from("s1"))
        .unwrap();
    let dir = state.path().to_str().unwrap();
    let output = harn_serve(&["sessions", "--state-dir", dir, "delete", "s1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("open in another process"),
        "{}",
        stderr(&output)
    );
    let shown = harn_serve(&["sessions", "--state-dir", dir, "show", "s1"]);
    assert!(shown.status.success());
}

#[test]
fn doctor_reports_version_state_and_sessions() {
    let state = state_with_a_session();
    let dir = state.path().to_str().unwrap();
    let report = harn_serve(&["doctor", "--state-dir", dir]);
    assert!(report.status.success());
    let text = stdout(&report);
    assert!(text.contains(env!("CARGO_PKG_VERSION")), "{text}");
    assert!(text.contains(&format!("{dir}, writable")), "{text}");
    assert!(text.contains("sessions   1\n"), "{text}");

    let fresh = format!("{dir}/not/there/yet");
    let report = harn_serve(&["doctor", "--state-dir", &fresh]);
    assert!(report.status.success());
    assert!(stdout(&report).contains("will be created"));
    assert!(!std::path::Path::new(&fresh).exists());
}

#[test]
fn the_doctor_finds_a_damaged_session() {
    let state = state_with_a_session();
    let journal = state.path().join("threads/s1/events.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, text.replacen("\"seq\":2", "\"seq\":7", 1)).unwrap();
    let report = harn_serve(&["doctor", "--state-dir", state.path().to_str().unwrap()]);
    assert_eq!(report.status.code(), Some(1));
    let text = stdout(&report);
    assert!(text.contains("wrong  sessions"), "{text}");
    assert!(
        text.contains("events.jsonl:2: the journal is damaged"),
        "{text}"
    );
}

#[test]
fn the_doctor_finds_an_impossible_state_dir() {
    let state = TempDir::new().unwrap();
    let file = state.path().join("file");
    std::fs::write(&file, "").unwrap();
    let report = harn_serve(&[
        "doctor",
        "--state-dir",
        file.join("inside").to_str().unwrap(),
    ]);
    assert_eq!(report.status.code(), Some(1));
    assert!(stdout(&report).contains("is not a directory"));
}

#[cfg(feature = "terminal")]
#[test]
fn log_file_receives_what_stderr_does_not() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("log");
    let output = harn_serve(&[
        "run",
        "--state-dir",
        dir.path().to_str().unwrap(),
        "--log-file",
        file.to_str().unwrap(),
        "--log-level",
        "trace",
        "/help",
    ]);
    assert!(output.status.success());
    assert_eq!(stderr(&output), "");
    assert!(!std::fs::read_to_string(&file).unwrap().is_empty());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn sessions_check_reports_damage_with_file_and_line() {
    let state = state_with_sessions(&[("s1", "/w"), ("s2", "/w")]);
    let whole = run_sessions(&state, &["check"]);
    assert_eq!(whole.status.code(), Some(0));
    assert_eq!(stdout(&whole), "ok  s1  1 event\nok  s2  1 event\n");

    let journal = state.path().join("threads/s2/events.jsonl");
    let mut text = std::fs::read(&journal).unwrap();
    text[40] ^= 1;
    std::fs::write(&journal, &text).unwrap();
    for args in [&["check"][..], &["check", "--all"], &["check", "s2"]] {
        let damaged = run_sessions(&state, args);
        assert_eq!(damaged.status.code(), Some(1), "{args:?}");
        let told = stdout(&damaged);
        let place = format!("damaged  s2  {}:1: ", journal.display());
        assert!(told.contains(&place), "{told}");
        assert!(told.contains("the checksum does not match"), "{told}");
        assert_eq!(told.contains("s1"), args != ["check", "s2"], "{told}");
    }
    assert_eq!(std::fs::read(&journal).unwrap(), text);
    assert_eq!(
        run_sessions(&state, &["check", "s1"]).status.code(),
        Some(0)
    );
    assert_eq!(
        run_sessions(&state, &["check", "s3"]).status.code(),
        Some(1)
    );
    // A repair names its sessions.
    let wrong = run_sessions(&state, &["check", "--repair"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert_eq!(std::fs::read(&journal).unwrap(), text);
}

#[test]
fn sessions_check_repairs_a_damaged_journal() {
    let state = state_with_sessions(&[("s1", "/w"), ("s2", "/w")]);
    let journal = state.path().join("threads/s2/events.jsonl");
    let mut text = std::fs::read(&journal).unwrap();
    text[40] ^= 1;
    std::fs::write(&journal, &text).unwrap();
    let meta = state.path().join("threads/s1/meta.json");
    let whole = std::fs::read(&meta).unwrap();
    std::fs::write(&meta, "{").unwrap();

    // What cannot be repaired is still damaged.
    let repaired = run_sessions(&state, &["check", "--all", "--repair"]);
    assert_eq!(repaired.status.code(), Some(1));
    let told = stdout(&repaired);
    let lost = format!("kept 0 events, lost 1 line with {} bytes", text.len());
    assert!(told.contains("repaired  s2  "), "{told}");
    assert!(told.contains(&lost), "{told}");
    assert!(told.contains("events.jsonl.damaged-1"), "{told}");
    assert!(told.contains("ok        s2  0 events"), "{told}");
    assert!(told.contains("damaged   s1  "), "{told}");
    assert_eq!(std::fs::read(&journal).unwrap(), b"");
    let kept = journal.with_extension("jsonl.damaged-1");
    assert_eq!(std::fs::read(kept).unwrap(), text);

    std::fs::write(&meta, whole).unwrap();
    let again = run_sessions(&state, &["check", "--all", "--repair"]);
    assert_eq!(again.status.code(), Some(0));
    assert_eq!(stdout(&again), "ok  s1  1 event\nok  s2  0 events\n");

    let empty = TempDir::new().unwrap();
    assert_eq!(stdout(&run_sessions(&empty, &["check"])), "no sessions\n");
}

/// A session that a server has open is checked, and not repaired.
#[test]
fn sessions_check_repairs_no_open_session() {
    let state = state_with_sessions(&[("s1", "/w")]);
    let opened = JsonlStore::new(state.path()).open(&"s1".into()).unwrap();
    let journal = state.path().join("threads/s1/events.jsonl");
    let mut text = std::fs::read(&journal).unwrap();
    text[40] ^= 1;
    std::fs::write(&journal, &text).unwrap();
    let locked = run_sessions(&state, &["check", "s1", "--repair"]);
    assert_eq!(locked.status.code(), Some(1));
    let told = stdout(&locked);
    assert!(
        told.contains("failed   s1  not repaired: session s1 is open"),
        "{told}"
    );
    assert_eq!(std::fs::read(&journal).unwrap(), text);
    drop(opened);
}
