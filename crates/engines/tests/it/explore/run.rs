//! `/run`: shows the output while the command runs, reports how it ended, and kills it on a cancel.

use std::time::Duration;

use harn_model::{
    AgentEvent, ContentBlock, Decision, ErrorCategory, StopReason, ToolCallStatus, ToolKind, TurnId,
};

use crate::explore::test_session::{Rig, Turn, assert_failed, shown_text};

#[tokio::test]
async fn successful_command_completes_its_call() {
    let mut rig = Rig::new(&[("a.txt", "apple\n")]).await;
    let turn = rig.play_allowing("/run cat a.txt; echo pear >&2").await;
    let (call, end) = turn.only_call();
    assert_eq!(call.kind, Some(ToolKind::Execute));
    assert_eq!(call.title.as_deref(), Some("cat a.txt; echo pear >&2"));
    assert_eq!(call.raw_input["command"], "cat a.txt; echo pear >&2");
    let ask = turn.permission_question().unwrap();
    assert_eq!(ask.tool_call.raw_input, call.raw_input);
    assert_eq!(end.status, ToolCallStatus::Completed);
    assert_eq!(shown_text(end), "```\napple\npear\n```\n\nexit code 0\n");
    let raw = end.raw_output.as_ref().unwrap();
    assert_eq!(
        (&raw["exit_code"], &raw["truncated"]),
        (&0.into(), &false.into())
    );
    assert_eq!(
        turn.answer(),
        "`cat a.txt; echo pear >&2` succeeded (exit code 0)."
    );
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);
}

#[tokio::test]
async fn failed_command_fails_only_its_call() {
    let mut rig = Rig::new(&[]).await;
    let turn = rig.play_allowing("/run echo oh; exit 3").await;
    let (_, end) = turn.only_call();
    assert_failed(end, "exit code 3");
    assert_eq!(end.error_category, Some(ErrorCategory::ToolError));
    assert!(shown_text(end).contains("oh\n"), "{}", shown_text(end));
    assert_eq!(turn.answer(), "`echo oh; exit 3` failed: exit code 3.");
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);

    let turn = rig.play_allowing("/run kill -TERM $$").await;
    assert_failed(turn.only_call().1, "ended by SIGTERM");
}

#[tokio::test]
async fn long_output_keeps_its_end() {
    let mut rig = Rig::new(&[]).await;
    let command = "/run i=0; while [ $i -lt 9000 ]; do echo line $i; i=$((i+1)); done";
    let turn = rig.play_allowing(command).await;
    let (_, end) = turn.only_call();
    let text = shown_text(end);
    assert!(
        text.starts_with("The end of the output:"),
        "{}",
        &text[..80]
    );
    assert!(text.contains("\nline 8999\n") && !text.contains("\nline 0\n"));
    assert!(text.len() < 33 * 1024);
    assert!(
        turn.updates()
            .iter()
            .all(|update| shown_text(update).len() < 33 * 1024)
    );
    assert_eq!(end.raw_output.as_ref().unwrap()["truncated"], true);
}

#[tokio::test]
async fn a_refused_command_is_not_run() {
    let mut rig = Rig::new(&[]).await;
    let refused = Decision::Rejected {
        option_id: Some("reject_once".to_owned()),
        reason: None,
    };
    let turn = rig.play_answering("/run touch made", refused, |_| ()).await;
    assert_eq!(rig.get("made"), None);
    assert_failed(turn.only_call().1, "permission was not granted");
    let answer = turn.answer();
    assert_eq!(
        answer,
        "`touch made` was not run: permission was not granted."
    );
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);
}

/// Starts a command and waits until it has printed `count` process ids.
async fn start(rig: &mut Rig, command: &str, count: usize) -> (TurnId, Vec<u32>) {
    let id = rig.begin(vec![ContentBlock::text(command)]).await;
    let asked = rig
        .collect_until(|event| matches!(event, AgentEvent::PermissionAsked(_)))
        .await;
    let allowed = Decision::Allowed {
        option_id: "allow_once".to_owned(),
        args: None,
    };
    let ask = asked.permission_question().unwrap().ask_id.clone();
    rig.session.answer(ask, allowed).await;
    let pids = move |event: &AgentEvent| -> Vec<u32> {
        match event {
            AgentEvent::ToolCallUpdate(update) => {
                let text = shown_text(update);
                text.lines().filter_map(|line| line.parse().ok()).collect()
            }
            _ => Vec::new(),
        }
    };
    let turn: Turn = rig.collect_until(|event| pids(event).len() == count).await;
    let pids = turn
        .events
        .iter()
        .map(pids)
        .find(|pids| pids.len() == count);
    (id, pids.unwrap())
}

/// Returns whether a process runs; a zombie does not.
fn is_running(pid: u32) -> bool {
    let look = std::process::Command::new("/bin/sh")
        .arg("-c")
        .arg(format!("kill -0 {pid}"))
        .stderr(std::process::Stdio::null())
        .status();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
    look.unwrap().success() && !state.is_some_and(|rest| rest.starts_with('Z'))
}

/// Waits until none of the processes runs; only the test's own time limit bounds it.
async fn wait_until_gone(pids: &[u32]) {
    while pids.iter().any(|pid| is_running(*pid)) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn cancel_kills_the_command() {
    let mut rig = Rig::new(&[]).await;
    let (id, pids) = start(&mut rig, "/run echo $$; exec sleep 600", 1).await;
    assert!(is_running(pids[0]));
    rig.session.cancel(id).await;
    let turn = rig.finish().await;
    assert_eq!(turn.stop_reason(), StopReason::Cancelled);
    let end = *turn.updates().last().unwrap();
    assert_failed(end, "cancelled");
    assert_eq!(end.error_category, Some(ErrorCategory::Cancelled));
    wait_until_gone(&pids).await;
}

#[tokio::test]
async fn cancel_kills_the_children_of_the_command() {
    let mut rig = Rig::new(&[]).await;
    let family = "/run echo $$; sleep 600 & echo $!; \
                  sh -c 'trap \"\" TERM; echo $$; sleep 600 & wait; sleep 600' & wait";
    let (id, pids) = start(&mut rig, family, 3).await;
    assert!(pids.iter().all(|pid| is_running(*pid)), "{pids:?}");
    rig.session.cancel(id).await;
    assert_eq!(rig.finish().await.stop_reason(), StopReason::Cancelled);
    wait_until_gone(&pids).await;
}
