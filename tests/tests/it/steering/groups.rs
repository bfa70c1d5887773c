//! A cancel ends every process of a running command, not the shell alone.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{Place, is_text, prompt, read_until};
use crate::support_stress::in_time;

/// Three processes that keep the fifo open: the shell, and two that sleep for long. One of them ignores
/// SIGTERM.
const COMMAND: &str = "exec 9>fifo; sh -c 'trap \"\" TERM; echo $$ >&9; while :; do sleep 1000; done' & \
     sleep 1000 & echo $$ $! >&9; sleep 1000";

#[tokio::test]
async fn cancel_of_a_turn_ends_every_process_of_its_command() -> Result<()> {
    let place = Place::new(&json!([
        {"match": "^run", "steps": [{"run": {"command": COMMAND}}, {"say": "went on"}]},
        {"steps": [{"say": "done"}]},
    ]))?;
    let fifo = place.folder.path().join("fifo");
    let made = Command::new("mkfifo").arg(&fifo).status()?;
    ensure!(made.success(), "mkfifo: {made}");
    let mut agent = place.start().await?;
    let session = place.create(&mut agent).await?;
    let sent = agent
        .send("session/prompt", prompt(&session, "run"))
        .await?;
    let asks = |m: &Value| m["method"] == "session/request_permission";
    let ask = read_until(&mut agent, asks).await?;
    let options = ask["params"]["options"].as_array().context("no options")?;
    let once = options.iter().find(|option| option["kind"] == "allow_once");
    let once = &once.context("cannot be allowed")?["optionId"];
    let allowed = json!({"outcome": {"outcome": "selected", "optionId": once}});
    agent.answer(&ask["id"], allowed).await?;

    // The fifo opens with the shell, and reaches its end when the last process has closed it.
    let (running, gone) = tokio::sync::oneshot::channel();
    let listener = tokio::task::spawn_blocking(move || watch_fifo(&fifo, running));
    let pids = in_time("the command to run", gone).await??;
    // The command reports the ids of its sandbox.
    let server = agent.id().context("the server has ended")?;
    let pids = pids
        .into_iter()
        .map(|pid| harn_testkit::outer_pid(server, pid));
    let pids: Vec<u32> = pids.collect();
    for pid in &pids {
        ensure!(is_running(*pid), "{pid} of {pids:?} does not run");
    }

    let about = json!({"sessionId": session});
    let (seen, cancelled) = agent.request("session/cancel", about).await?;
    ensure!(cancelled["status"] == "cancelled", "{cancelled}");
    let answers = |m: &Value| m.get("method").is_none() && m["id"] == sent;
    let stopped = match seen.iter().find(|message| answers(message)) {
        Some(stopped) => stopped.clone(),
        None => read_until(&mut agent, answers).await?,
    };
    ensure!(stopped["result"]["stopReason"] == "cancelled", "{stopped}");
    in_time("every process to be gone", listener).await???;
    // A dying process closes its files first; its exit follows by itself.
    for pid in &pids {
        let end = async {
            while is_running(*pid) {
                tokio::task::yield_now().await;
            }
        };
        in_time("a process to be gone", end).await?;
    }
    // A later prompt runs.
    let (seen, stopped) = agent
        .request("session/prompt", prompt(&session, "next"))
        .await?;
    ensure!(stopped["stopReason"] == "end_turn", "{stopped}");
    ensure!(seen.iter().any(is_text("done")) && !seen.iter().any(is_text("went on")));
    agent.end().await
}

/// Sends the ids of the processes that have the fifo open, and returns when all have closed it.
fn watch_fifo(fifo: &Path, running: tokio::sync::oneshot::Sender<Vec<u32>>) -> Result<()> {
    let mut lines = BufReader::new(File::open(fifo)?);
    let mut pids = Vec::new();
    while pids.len() < 3 {
        let mut line = String::new();
        ensure!(lines.read_line(&mut line)? > 0, "gone after {pids:?}");
        for word in line.split_whitespace() {
            pids.push(word.parse()?);
        }
    }
    // The receiver may have given up.
    let _ = running.send(pids);
    lines.read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Returns whether the process exists and is not a zombie.
fn is_running(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    // The state follows the name, which is in brackets and may contain anything.
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
    !state.starts_with('Z')
}
