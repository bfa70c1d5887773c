//! Misbehaving agents: one prints to stdout, one never returns its thread.
//!
//! A separate program without the test harness, because it starts itself to serve such an agent.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]
#![allow(clippy::print_stdout, reason = "printing is what the agent does wrong")]

#[path = "it/client/mod.rs"]
#[allow(dead_code, reason = "this test uses a part of it")]
mod client;

use std::{process::Command, sync::Arc, thread, time::Duration};

use harn_serve::{
    Agent, AgentError, Result, ServeOptions, StopReason, TurnContext, acp_stdio_with, async_trait,
    threads_stdio_with,
};
use serde_json::json;

struct Misbehaving;

#[async_trait]
impl Agent for Misbehaving {
    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        if cx.prompt_text() == "block" {
            std::fs::write(cx.cwd().join("blocking"), "").map_err(AgentError::failed)?;
            loop {
                thread::sleep(Duration::from_secs(600));
            }
        }
        println!("printed by the agent");
        let child = Command::new("sh")
            .args(["-c", "echo printed by a child"])
            .status();
        child.map_err(AgentError::failed)?;
        cx.say("said").await?;
        Ok(StopReason::EndTurn)
    }
}

fn main() -> Result<()> {
    let args: Vec<_> = std::env::args().collect();
    if let [_, command, state] = &args[..]
        && let Some(serve) = front_end(command)
    {
        println!("printed too early to be caught");
        let options = ServeOptions {
            directory: Some(state.into()),
            ..ServeOptions::new(state)
        };
        return serve(Arc::new(Misbehaving), options);
    }
    prints_go_to_stderr();
    println!("prints_go_to_stderr ... ok");
    prints_of_a_thread_go_to_stderr();
    println!("prints_of_a_thread_go_to_stderr ... ok");
    an_agent_that_blocks_does_not_keep_us();
    println!("an_agent_that_blocks_does_not_keep_us ... ok");
    Ok(())
}

type Serve = fn(Arc<dyn Agent>, ServeOptions) -> Result<()>;

fn front_end(name: &str) -> Option<Serve> {
    match name {
        "acp" => Some(acp_stdio_with),
        "threads" => Some(threads_stdio_with),
        _ => None,
    }
}

fn start(front_end: &str, state: &tempfile::TempDir) -> client::Agent {
    let mut itself = Command::new(std::env::current_exe().unwrap());
    let mut agent = client::Agent::start(itself.arg(front_end).arg(state.path()));
    assert_eq!(agent.next_line(), "printed too early to be caught");
    agent
}

fn prints_go_to_stderr() {
    let state = tempfile::tempdir().unwrap();
    let mut agent = start("acp", &state);
    let session = agent.open(state.path());
    let id = agent.prompt(&session, "make some noise");
    assert_eq!(agent.read_answer(id)["result"]["stopReason"], "end_turn");
    assert_eq!(agent.agent_text(), "said");
    assert_prints_apart(agent);
}

fn prints_of_a_thread_go_to_stderr() {
    let state = tempfile::tempdir().unwrap();
    let mut agent = start("threads", &state);
    let made = agent.request("thread.create", json!({}));
    let input = json!([{"type": "text", "text": "make some noise"}]);
    let turn = json!({"threadId": made["thread"]["threadId"], "input": input});
    agent.request("turn.start", turn);
    // Fails on a line that is no message.
    while agent.next()["method"] != "turn.completed" {}
    assert_prints_apart(agent);
}

fn assert_prints_apart(agent: client::Agent) {
    let (status, stdout, stderr) = agent.end();
    assert!(status.success(), "{status}");
    let strays = stdout.iter().filter(|line| !line.starts_with('{'));
    assert_eq!(strays.count(), 0, "{stdout:?}");
    for printed in ["printed by the agent", "printed by a child"] {
        assert!(stderr.iter().any(|line| line == printed), "{stderr:?}");
    }
}

fn an_agent_that_blocks_does_not_keep_us() {
    let state = tempfile::tempdir().unwrap();
    let mut agent = start("acp", &state);
    let sessions: Vec<_> = (0..3).map(|_| agent.open(state.path())).collect();
    for session in &sessions {
        agent.prompt(session, "block");
    }
    while !state.path().join("blocking").exists() {
        thread::sleep(Duration::from_millis(10));
    }
    agent.close_stdin();
    assert!(agent.wait_for_exit().success());
}
