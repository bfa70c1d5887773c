//! The end of the process: fast, silent, and without leftover child processes.

use std::{fs, path::Path, thread, time::Duration};

use crate::client::Agent;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;
use tempfile::TempDir;

/// Starts an agent with a running child process; returns both.
fn start_with_running_child(state: &TempDir, work: &TempDir) -> (Agent, Pid) {
    let state = state.path().to_str().unwrap();
    let mut agent = Agent::harn_serve(&["acp", "--state-dir", state]);
    let session = agent.open(work.path());
    agent.prompt(
        &session,
        "/run echo $$ > pid.tmp; mv pid.tmp pid; exec sleep 600",
    );
    while agent.asked.is_empty() {
        agent.next();
    }
    let child = read_pid(&work.path().join("pid"), agent.pid());
    assert!(is_alive(child));
    (agent, child)
}

/// Reads the id that a command of `server` wrote, which is that of its sandbox.
fn read_pid(file: &Path, server: u32) -> Pid {
    for _ in 0..3000 {
        if let Ok(text) = fs::read_to_string(file) {
            let inner = text.trim().parse().unwrap();
            let outer = harn_testkit::outer_pid(server, inner);
            return Pid::from_raw(outer.try_into().unwrap()).unwrap();
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("the command did not start");
}

fn is_alive(pid: Pid) -> bool {
    // A killed process that its new parent has not waited for still exists as a zombie.
    let zombie =
        fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).is_ok_and(|stat| {
            stat.rsplit(") ")
                .next()
                .is_some_and(|rest| rest.starts_with('Z'))
        });
    test_kill_process(pid).is_ok() && !zombie
}

fn assert_gone(pid: Pid) {
    for _ in 0..500 {
        if !is_alive(pid) {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("the command is still running");
}

#[test]
fn end_of_input_ends_the_process_and_its_children() {
    let (state, work) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (mut agent, child) = start_with_running_child(&state, &work);
    agent.close_stdin();
    assert_eq!(agent.wait_for_exit().code(), Some(0));
    assert_gone(child);
}

#[test]
fn signals_end_the_process_and_its_children() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let (state, work) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let (mut agent, child) = start_with_running_child(&state, &work);
        let pid = Pid::from_raw(agent.pid().try_into().unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        assert_eq!(agent.wait_for_exit().code(), Some(0), "{signal:?}");
        assert_gone(child);
    }
}

#[test]
fn a_turn_cut_by_the_end_of_input_is_settled() {
    let (state, work) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (mut agent, _) = start_with_running_child(&state, &work);
    agent.close_stdin();
    agent.wait_for_exit();
    let state = state.path().to_str().unwrap();
    let mut again = Agent::harn_serve(&["acp", "--state-dir", state]);
    again.request("initialize", json!({"protocolVersion": 1}));
    let list = again.request("session/list", json!({}));
    let session = list["sessions"][0]["sessionId"]
        .as_str()
        .unwrap()
        .to_owned();
    let load = json!({"sessionId": session, "cwd": work.path(), "mcpServers": []});
    again.request("session/load", load);
    let last = again
        .updates
        .iter()
        .rev()
        .find(|u| u["sessionUpdate"] == "tool_call_update");
    assert_eq!(last.unwrap()["status"], "failed");
}

#[test]
fn client_that_does_not_read_does_not_delay_the_end() {
    let dir = TempDir::new().unwrap();
    let scenario = dir.path().join("flood.yaml");
    // Far more than a pipe and all queues can store.
    let flood = "repeat: {times: 1000000, steps: [{say: a line of forty characters or about}]}";
    let text = format!("name: flood\nturns:\n  - steps:\n      - {flood}\n");
    fs::write(&scenario, text).unwrap();
    let engine = format!("script:{}", scenario.display());
    let state = dir.path().to_str().unwrap();
    let mut agent = Agent::harn_serve(&["acp", "--engine", &engine, "--state-dir", state]);
    let session = agent.open(dir.path());
    agent.prompt(&session, "go");
    // The test stops reading here. The size of the journal shows when the turn is well under way.
    let folder = dir.path().join("threads").join(&session);
    let journal = folder.join("events.jsonl");
    while fs::metadata(&journal).unwrap().len() < 4_000_000 {
        thread::sleep(Duration::from_millis(10));
    }
    agent.close_stdin();
    assert_eq!(agent.wait_for_exit().code(), Some(0));
}

/// Requests from a pipe are answered although the pipe is closed; only a prompt is cancelled.
#[test]
fn requests_that_need_no_turn_are_answered_at_the_end_of_input() {
    let (state, work) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let place = state.path().to_str().unwrap();
    let mut agent = Agent::harn_serve(&["acp", "--state-dir", place]);
    agent.send("initialize", json!({"protocolVersion": 1}));
    agent.send("session/new", json!({"cwd": work.path(), "mcpServers": []}));
    agent.send("session/list", json!({}));
    agent.send("session/delete", json!({"sessionId": "nowhere"}));
    let (status, lines, _) = agent.end();
    assert_eq!(status.code(), Some(0));
    let answers = lines.iter().map(|line| serde_json::from_str(line).unwrap());
    let answers: Vec<serde_json::Value> = answers.collect();
    for id in 1..=4 {
        let answer = answers.iter().find(|it| it["id"] == id);
        let answer = answer.unwrap_or_else(|| panic!("no answer to {id}: {lines:#?}"));
        assert!(answer["result"].is_object(), "{answer}");
    }
}
