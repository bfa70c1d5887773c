//! `run_command`: its time limit, and its output, which is stored whole.

use std::{path::Path, time::Duration};

use harn_model::{ErrorCategory, ToolCallStatus, ToolExecutor};
use serde_json::json;

use crate::toolbox::{
    fake_host::{Answer, Desk},
    support::{Rig, assert_failed, is_running, shown_text},
};

const MANY_LINES: &str = "i=0; while [ $i -lt 9000 ]; do echo line $i; i=$((i+1)); done";

#[tokio::test]
async fn failed_command_returns_its_output() {
    let mut rig = Rig::new(&[]).await;
    let turn = rig
        .call_allowed("run_command", json!({"command": "echo oh; exit 3"}))
        .await;
    assert_failed(&turn, ErrorCategory::ToolError, "exit code 3");
    assert_eq!(
        turn.agent_text(),
        "the command failed: exit code 3\n\n```\noh\n```\n\nexit code 3\n"
    );
}

#[tokio::test]
async fn timeout_ends_the_process_group_and_keeps_the_output() {
    let mut rig = Rig::new(&[]).await;
    let command = "sleep 600 & echo $!; echo $$; sleep 600";
    let turn = rig
        .call_allowed(
            "run_command",
            json!({"command": command, "timeout_ms": 400}),
        )
        .await;
    assert_failed(&turn, ErrorCategory::Timeout, "it exceeded its 400 ms");
    let (_, end) = turn.only_call();
    assert_eq!(end.raw_output.as_ref().unwrap()["timed_out"], true);
    let text = shown_text(end);
    let pids = text.lines().filter(|line| line.parse::<u32>().is_ok());
    let pids: Vec<&str> = pids.collect();
    assert_eq!(pids.len(), 2, "{text}");
    for pid in pids {
        while is_running(pid) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test]
async fn long_output_is_stored_whole_for_its_session_only() {
    let mut rig = Rig::new(&[]).await;
    let turn = rig
        .call_allowed("run_command", json!({"command": MANY_LINES}))
        .await;
    let (_, end) = turn.only_call();
    assert_eq!(end.status, ToolCallStatus::Completed);
    let raw = end.raw_output.as_ref().unwrap();
    assert_eq!(raw["truncated"], true);
    let file = raw["output_file"].as_str().unwrap();
    let whole: String = (0..9000).map(|n| format!("line {n}\n")).collect();
    assert_eq!(raw["output_bytes"], whole.len());
    assert_eq!(std::fs::read_to_string(file).unwrap(), whole);
    let text = shown_text(end);
    assert!(text.starts_with("The end of the output:"));
    let said = format!("The whole output, {} bytes, is in {file}\n", whole.len());
    assert!(text.contains(&said) && text.contains("\nline 8999\n"));
    assert!(!text.contains("\nline 0\n"));

    // Reading it asks no question, although it is outside the directories of the session.
    let page = json!({"path": file, "line": 2, "lines": 1});
    let turn = rig.call("read_file", page.clone()).await;
    assert!(shown_text(turn.only_call().1).starts_with("```\nline 1\n```\n"));
    let beside = Path::new(file).with_file_name("../../meta.json");
    let turn = rig.call("read_file", json!({"path": beside})).await;
    assert_failed(&turn, ErrorCategory::PermissionDenied, "outside");

    rig.switch_session().await;
    let turn = rig.call("read_file", page).await;
    assert_failed(&turn, ErrorCategory::PermissionDenied, "outside");
}

#[tokio::test]
async fn short_and_binary_output_needs_no_file() {
    let mut rig = Rig::new(&[]).await;
    let turn = rig
        .call_allowed("run_command", json!({"command": "printf 'a\\377\\0b'"}))
        .await;
    let (_, end) = turn.only_call();
    assert_eq!(shown_text(end), "```\na\u{FFFD}\0b\n```\n\nexit code 0\n");
    assert_eq!(end.raw_output.as_ref().unwrap()["output_file"], json!(null));
}

#[tokio::test]
async fn host_without_a_terminal_runs_commands_over_its_bridge() {
    let mut rig = Rig::new(&[]).await;
    let desk = Desk::with_exec();
    rig.session.set_host(desk.clone());
    let cwd = rig.path("").display().to_string();
    let cwd = cwd.trim_end_matches('/');
    let says = |answer| *desk.result.lock().unwrap() = Answer::Says(answer);
    says(json!({"exit_code": 0, "signal": null, "stdout": "out\n", "stderr": "err\n"}));
    let command = json!({"command": "make all", "timeout_ms": 5000});
    let turn = rig.call_allowed("run_command", command.clone()).await;
    let (_, end) = turn.only_call();
    assert_eq!(shown_text(end), "```\nout\nerr\n```\n\nexit code 0\n");
    assert_eq!(end.executor, Some(ToolExecutor::HostBridge));
    let params = json!({
        "command": ["/bin/sh", "-c", "make all"], "cwd": cwd, "timeout_ms": 5000,
    });
    let expected = [("process.exec".to_owned(), params)];
    assert_eq!(*desk.called.lock().unwrap(), expected);

    says(
        json!({"exit_code": null, "signal": null, "stdout": "o", "stderr": "", "timed_out": true}),
    );
    let turn = rig.call_allowed("run_command", command.clone()).await;
    assert_failed(&turn, ErrorCategory::Timeout, "it exceeded its 5000 ms");
    says(json!({"status": "fine"}));
    let turn = rig.call_allowed("run_command", command).await;
    assert_failed(
        &turn,
        ErrorCategory::HostBridgeError,
        "its answer to process.exec is invalid",
    );
}
