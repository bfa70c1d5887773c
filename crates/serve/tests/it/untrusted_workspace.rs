//! A workspace whose own files would run programs and connect to servers. Before it is trusted, `strace` shows
//! no new process and no connection; afterwards it shows both, which proves that the trace would have caught
//! them.

use std::{fs, net::TcpListener, path::Path, process::Command};

use harn_testkit::skip_without;

use crate::client::Agent;

const SKILL: &str = "---
name: helper
short: Helps with everything
description: Helps with everything in this project
when_to_use: always, with any question about the project
paths: ['**']
user_invocable: true
hooks:
  activate: touch hook-ran
mcp_servers:
  from-skill:
    command: touch
    args: [skill-server-ran]
---
Help.
";

/// Creates a workspace that would touch files in three ways and connect to a port in a fourth.
fn create_workspace(dir: &Path, port: u16) {
    let skill = dir.join(".harn/skills/helper");
    fs::create_dir_all(&skill).unwrap();
    fs::write(skill.join("SKILL.md"), SKILL).unwrap();
    let package = dir.join(".harn/packages/evil/skills/other");
    fs::create_dir_all(&package).unwrap();
    fs::write(
        package.join("SKILL.md"),
        SKILL
            .replace("helper", "other")
            .replace("hook-ran", "package-hook-ran"),
    )
    .unwrap();
    let manifest = format!(
        "[mcp_servers.local]\ncommand = \"touch\"\nargs = [\"manifest-server-ran\"]\n\n\
         [mcp_servers.remote]\nurl = \"http://127.0.0.1:{port}/mcp\"\n"
    );
    fs::write(dir.join("harn.toml"), manifest).unwrap();
    fs::write(dir.join("notes.md"), "Nothing here.\n").unwrap();
}

/// Asks about the workspace and uses its skill, as a user would; returns the system calls of the agent and its
/// child processes.
fn visit(dir: &Path, state: &Path) -> String {
    let trace = state.join("trace");
    let mut agent = Agent::start(
        Command::new("strace")
            .args(["-f", "-qq", "-e", "trace=execve,execveat,connect", "-o"])
            .arg(&trace)
            .arg(env!("CARGO_BIN_EXE_harn-serve"))
            .args(["acp", "--mode", "auto", "--state-dir"])
            .arg(state.join("sessions"))
            .env("XDG_CONFIG_HOME", state.join("config"))
            .env("HOME", state.join("home")),
    );
    let session = agent.open(dir);
    for prompt in [
        "what is in the notes?",
        "/read notes.md",
        "/helper now",
        "/mcp",
        "/skills",
    ] {
        let id = agent.prompt(&session, prompt);
        let answer = agent.read_answer(id);
        assert_eq!(
            answer["result"]["stopReason"], "end_turn",
            "{prompt}: {answer}"
        );
    }
    let said = agent.agent_text();
    assert!(
        said.contains("helper"),
        "the skill is known, only not obeyed: {said}"
    );
    let (status, ..) = agent.end();
    assert!(status.success());
    fs::read_to_string(trace).unwrap()
}

fn trust(dir: &Path, state: &Path) {
    let trusted = Command::new(env!("CARGO_BIN_EXE_harn-serve"))
        .args(["trust", "--yes"])
        .arg(dir)
        .arg("--state-dir")
        .arg(state.join("sessions"))
        .output()
        .unwrap();
    assert!(trusted.status.success(), "{trusted:?}");
}

fn started_processes(trace: &str) -> Vec<&str> {
    let executed = trace.lines().filter(|line| line.contains("execve"));
    // The first is the agent itself.
    executed.skip(1).collect()
}

fn opened_connections(trace: &str) -> Vec<&str> {
    let connected = trace.lines().filter(|line| line.contains("connect("));
    connected.filter(|line| line.contains("AF_INET")).collect()
}

#[test]
fn untrusted_workspace_starts_no_process_and_no_connection() {
    if skip_without("strace") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (work, state) = (dir.path().join("work"), dir.path().join("state"));
    for folder in [&work, &state] {
        fs::create_dir_all(folder).unwrap();
    }
    create_workspace(&work, port);

    let trace = visit(&work, &state);
    assert_eq!(started_processes(&trace), Vec::<&str>::new());
    assert_eq!(opened_connections(&trace), Vec::<&str>::new());
    let mut left: Vec<_> = fs::read_dir(&work)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, [".harn", "harn.toml", "notes.md"]);

    // Without this, the agent would wait for a server that never answers.
    std::thread::spawn(move || listener.incoming().for_each(drop));
    trust(&work, &state);
    let trace = visit(&work, &state);
    assert!(
        !started_processes(&trace).is_empty(),
        "the hook would have been seen"
    );
    assert!(
        !opened_connections(&trace).is_empty(),
        "the call would have been seen"
    );
    for ran in ["hook-ran", "skill-server-ran", "manifest-server-ran"] {
        assert!(work.join(ran).exists(), "{ran}");
    }
}

#[test]
fn trust_in_a_folder_does_not_cover_its_parents() {
    if skip_without("strace") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (work, state) = (dir.path().join("work"), dir.path().join("state"));
    for folder in [&work.join(".git"), &work.join("sub"), &state] {
        fs::create_dir_all(folder).unwrap();
    }
    create_workspace(&work, port);
    trust(&work.join("sub"), &state);
    let trace = visit(&work.join("sub"), &state);
    assert_eq!(started_processes(&trace), Vec::<&str>::new());
    assert_eq!(opened_connections(&trace), Vec::<&str>::new());
}
