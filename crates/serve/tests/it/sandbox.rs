//! The sandbox around commands and MCP servers, with the real binary: what they can write, read and reach in each mode,
//! and that they cannot drive the server that runs them.

use std::{
    fs,
    io::Write as _,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::Agent;

/// A token that no command may see.
const TOKEN: &str = "4f3c0d6be1a2978855aa";

/// Skips the calling test, with a line, where the system provides no complete sandbox.
fn skip_without_sandbox() -> bool {
    let state = TempDir::new().unwrap();
    let doctor = Command::new(env!("CARGO_BIN_EXE_harn-serve"))
        .args(["doctor", "--state-dir"])
        .arg(state.path())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&doctor.stdout).into_owned();
    let line = printed.lines().find(|line| line.contains(" sandbox "));
    let line = line.unwrap_or_else(|| panic!("the doctor does not mention the sandbox: {printed}"));
    if line.starts_with("ok") {
        return false;
    }
    #[expect(clippy::disallowed_methods, reason = "a test has no composition root")]
    let required = std::env::var_os("HARN_TESTS_REQUIRE_ALL");
    assert!(required.is_none(), "{line}");
    let _ = writeln!(std::io::stderr(), "skip: {line}");
    true
}

/// A workspace with protected files, a state directory with a secret, and a folder outside of both.
struct World {
    work: TempDir,
    state: TempDir,
    outside: TempDir,
}

const PROTECTED: [&str; 4] = [
    ".git/config",
    ".git/hooks/pre-commit",
    ".harn/policy.toml",
    "harn.toml",
];

impl World {
    fn new() -> Self {
        let world = Self {
            work: TempDir::new().unwrap(),
            state: TempDir::new().unwrap(),
            outside: TempDir::new().unwrap(),
        };
        for file in PROTECTED {
            world.write(file, "");
        }
        world.write(".git/HEAD", "ref: refs/heads/main\n");
        fs::write(world.state.path().join("secret"), TOKEN).unwrap();
        world
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.work.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn inside(&self, file: &str) -> PathBuf {
        self.work.path().join(file)
    }

    fn outside(&self) -> &Path {
        self.outside.path()
    }

    fn state(&self) -> &Path {
        self.state.path()
    }

    fn start(&self, command: &str, flags: &[&str]) -> (Agent, String) {
        let mut server = Command::new(env!("CARGO_BIN_EXE_harn-serve"));
        server.arg(command).arg("--state-dir").arg(self.state());
        server.args(flags).env("HARN_SERVE_TOKEN", TOKEN);
        let mut agent = Agent::start(&mut server);
        let session = agent.open(self.work.path());
        (agent, session)
    }

    fn protected_files_are_empty(&self) {
        for file in PROTECTED {
            let text = fs::read_to_string(self.inside(file));
            assert_eq!(text.as_deref().ok(), Some(""), "{file}");
        }
    }

    /// Returns the confinement in the last receipt of the session's journal.
    fn last_confinement(&self, session: &str) -> Option<Value> {
        let journal = self
            .state()
            .join("threads")
            .join(session)
            .join("events.jsonl");
        let text = fs::read_to_string(journal).unwrap();
        let mut receipts = text.lines().filter_map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            find(&line, "policy_decision").cloned()
        });
        receipts.next_back()?.get("confinement").cloned()
    }
}

/// Returns the first member of this name at any depth.
fn find<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    match value {
        Value::Object(members) => members
            .get(name)
            .or_else(|| members.values().find_map(|inner| find(inner, name))),
        Value::Array(items) => items.iter().find_map(|inner| find(inner, name)),
        _ => None,
    }
}

/// Runs a line and returns its exit code and everything that the client saw of it.
fn run(agent: &mut Agent, session: &str, line: &str) -> (Option<i64>, String) {
    let before = agent.updates.len();
    let id = agent.prompt(session, &format!("/run {line}"));
    let answer = agent.read_answer(id);
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    let updates = Value::Array(agent.updates[before..].to_vec());
    (
        find(&updates, "exit_code").and_then(Value::as_i64),
        updates.to_string(),
    )
}

#[test]
fn allowed_command_writes_the_workspace_and_not_its_rules() {
    if skip_without_sandbox() {
        return;
    }
    let world = World::new();
    let outside = world.outside().display().to_string();
    let attack = format!(
        "echo a > made; for file in {}; do echo x > $file; rm -f $file; done\n\
         mv .git old; mv .git/hooks old; mv .harn old; mv harn.toml old; mkdir .git/hooks/more\n\
         echo a > {outside}/planted; ln harn.toml hard; echo x > hard; touch $TMPDIR/own && echo temporary\n",
        PROTECTED.join(" ")
    );
    world.write("attack.sh", &attack);
    let (mut agent, session) = world.start("acp", &[]);
    let (_, seen) = run(&mut agent, &session, "sh attack.sh");
    assert!(world.inside("made").exists(), "{seen}");
    assert!(seen.contains("temporary"), "{seen}");
    world.protected_files_are_empty();
    // A copy under another name is harmless.
    assert!(!world.inside(".git/hooks/more").exists());
    assert_eq!(fs::read_dir(world.outside()).unwrap().count(), 0, "{seen}");
    let confinement = world.last_confinement(&session).unwrap();
    assert_eq!(confinement["writes"], "workspace", "{confinement}");
    assert_eq!(confinement["network"], "off", "{confinement}");
    assert_eq!(
        confinement["layers"],
        json!(["namespaces", "landlock", "seccomp"])
    );
    // A failure that the sandbox caused says what to do, in the call and in the answer.
    let before = agent.updates.len();
    let (code, seen) = run(&mut agent, &session, &format!("sh -c 'touch {outside}/x'"));
    let answered = agent.updates[before..].iter().any(|update| {
        let update = update.to_string();
        update.contains("agent_message_chunk") && update.contains("The sandbox may be the cause")
    });
    assert!(answered, "{seen}");
    assert_eq!(code, Some(1), "{seen}");
    assert!(seen.contains("The sandbox may be the cause"), "{seen}");
    assert!(seen.contains("/run --no-sandbox"), "{seen}");
}

#[test]
fn command_that_nobody_saw_writes_nothing() {
    if skip_without_sandbox() {
        return;
    }
    let world = World::new();
    // Known as a command that only reads, but the program of this name is another.
    let programs = TempDir::new().unwrap();
    let ls = programs.path().join("ls");
    fs::write(&ls, "#!/bin/sh\necho listed; touch planted\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&ls, mode).unwrap();
    let path = format!("{}:/usr/bin:/bin", programs.path().display());
    let mut server = Command::new(env!("CARGO_BIN_EXE_harn-serve"));
    server
        .args(["acp", "--mode", "auto", "--state-dir"])
        .arg(world.state())
        .env("PATH", path);
    let mut agent = Agent::start(&mut server);
    let session = agent.open(world.work.path());
    let (_, seen) = run(&mut agent, &session, "ls");
    assert!(seen.contains("listed") && agent.asked.is_empty(), "{seen}");
    assert!(!world.inside("planted").exists(), "{seen}");
    let confinement = world.last_confinement(&session).unwrap();
    assert_eq!(confinement["writes"], "nothing", "{confinement}");
}

#[test]
fn network_and_the_outside_need_a_question_that_states_them() {
    if skip_without_sandbox() || harn_testkit::skip_without("python3") {
        return;
    }
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = format!("import socket; socket.create_connection(('127.0.0.1', {port}), 9)");
    world.write("connect.py", &connect);
    let (mut agent, session) = world.start("acp", &[]);
    let (code, seen) = run(&mut agent, &session, "python3 connect.py");
    assert_eq!(code, Some(1), "{seen}");
    let (code, seen) = run(&mut agent, &session, "--network python3 connect.py");
    assert_eq!(code, Some(0), "{seen}");
    let title = agent.asked.last().unwrap()["toolCall"]["title"].to_string();
    assert!(title.contains("(with network access)"), "{title}");
    assert_eq!(world.last_confinement(&session).unwrap()["network"], "on");
    let outside = world.outside().display();
    let line = format!("--no-sandbox sh -c 'touch {outside}/made'");
    let (code, seen) = run(&mut agent, &session, &line);
    assert_eq!(code, Some(0), "{seen}");
    let title = agent.asked.last().unwrap()["toolCall"]["title"].to_string();
    assert!(title.contains("(outside the sandbox)"), "{title}");
    assert!(world.outside().join("made").exists());
    assert_eq!(world.last_confinement(&session), None);
}

/// Prints what a command should not be able to print, and tries to answer through the server's own socket.
const SPY: &str = r#"
import glob, os, socket, subprocess, sys
state = sys.argv[1]
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob(state + "/**", recursive=True):
    try:
        print(path, open(path, "rb").read())
    except OSError as error:
        print(path, "refused", error.errno)
for path in [sys.argv[2]] + glob.glob(state + "/*.sock") + glob.glob(state + "/*/*.sock"):
    try:
        client = socket.socket(socket.AF_UNIX)
        client.connect(path)
        print("connec" + "ted", path)
    except OSError as error:
        print("socket refused", error.errno)
"#;

#[test]
fn command_sees_no_secret_and_cannot_approve_its_own_question() {
    if skip_without_sandbox() || harn_testkit::skip_without("python3") {
        return;
    }
    let world = World::new();
    world.write("spy.py", SPY);
    let (mut agent, session) = world.start("acp", &["--listen", "127.0.0.1:0"]);
    let sockets = find_sockets(world.state());
    let [socket] = &sockets[..] else {
        panic!("expected one socket: {sockets:?}");
    };
    let state = world.state().display();
    let line = format!("python3 spy.py {state} {}", socket.display());
    let (code, seen) = run(&mut agent, &session, &line);
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("socket refused"), "{seen}");
    assert!(!seen.contains(TOKEN), "{seen}");
    assert!(!seen.contains("connected"), "{seen}");
    // Nor with the network.
    let (_, seen) = run(&mut agent, &session, &format!("--network {line}"));
    assert!(
        !seen.contains("connected") && !seen.contains(TOKEN),
        "{seen}"
    );
}

fn find_sockets(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(find_sockets(&path)),
            false if path.extension().is_some_and(|it| it == "sock") => found.push(path),
            false => {}
        }
    }
    found
}

/// An MCP server that only reports what it can do, and ends.
#[cfg(feature = "mcp")]
const SERVER: &str = r#"
import os, sys
report = []
for path in sys.argv[1:]:
    try:
        open(os.path.join(path, "planted"), "w")
        report.append("wrote " + path)
    except OSError as error:
        report.append("refused " + str(error.errno))
report.append("state " + str(os.listdir(sys.argv[2])))
open("report.tmp", "w").write("\n".join(report))
os.rename("report.tmp", "report")
"#;

#[cfg(feature = "mcp")]
#[test]
fn mcp_server_writes_the_workspace_only() {
    if skip_without_sandbox() || harn_testkit::skip_without("python3") {
        return;
    }
    let world = World::new();
    world.write("server.py", SERVER);
    let (mut agent, _) = world.start("acp", &[]);
    let args = [
        "server.py".to_owned(),
        world.outside().display().to_string(),
        world.state().display().to_string(),
        world.inside(".git/hooks").display().to_string(),
        world.inside(".").display().to_string(),
    ];
    let server = json!({"name": "small", "command": "python3", "args": args, "env": []});
    let new = json!({"cwd": world.work.path(), "mcpServers": [server]});
    agent.request("session/new", new);
    let report = (0..3000).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        fs::read_to_string(world.inside("report")).ok()
    });
    let report = report.expect("the server did not report");
    let lines: Vec<_> = report.lines().collect();
    assert!(lines[0].starts_with("refused"), "{report}");
    assert!(lines[1].starts_with("refused"), "{report}");
    assert!(lines[2].starts_with("refused"), "{report}");
    assert!(lines[3].starts_with("wrote"), "{report}");
    assert_eq!(lines[4], "state []", "{report}");
}

#[test]
fn workspace_can_only_tighten_the_sandbox() {
    if skip_without_sandbox() {
        return;
    }
    let world = World::new();
    let outside = world.outside().display();
    let own = format!("[sandbox]\nwritable = [\"{outside}\"]\nunix_sockets = true\n");
    world.write(".harn/policy.toml", &own);
    let (mut agent, session) = world.start("acp", &[]);
    let (code, seen) = run(&mut agent, &session, &format!("sh -c 'touch {outside}/x'"));
    assert_eq!(code, Some(1), "{seen}");
    // A file of the user opens the folder.
    let user = TempDir::new().unwrap();
    let file = user.path().join("rules.toml");
    fs::write(&file, &own).unwrap();
    fs::remove_file(world.inside(".harn/policy.toml")).unwrap();
    let (mut agent, session) = world.start("acp", &["--policy", file.to_str().unwrap()]);
    let (code, seen) = run(&mut agent, &session, &format!("sh -c 'touch {outside}/x'"));
    assert_eq!(code, Some(0), "{seen}");
}

#[test]
fn flag_turns_the_sandbox_off() {
    let world = World::new();
    let outside = world.outside().display();
    let (mut agent, session) = world.start("acp", &["--sandbox", "off"]);
    let (code, seen) = run(&mut agent, &session, &format!("sh -c 'touch {outside}/x'"));
    assert_eq!(code, Some(0), "{seen}");
    assert!(!seen.contains("sandbox"), "{seen}");
    assert_eq!(world.last_confinement(&session), None);
}
