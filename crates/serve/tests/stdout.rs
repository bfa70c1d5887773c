//! stdout belongs to the protocol: whatever an agent or its children print goes to stderr.
//!
//! A program of its own, without the test harness, because it serves an agent from itself when asked to.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]
#![allow(clippy::print_stdout, reason = "printing is what the agent does wrong")]

mod client;

use std::{process::Command, sync::Arc};

use harn_serve::{
    Agent, AgentError, Options, Result, StopReason, TurnContext, acp_stdio_with, async_trait,
};

struct Noisy;

#[async_trait]
impl Agent for Noisy {
    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
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
    if let [_, command, state] = &std::env::args().collect::<Vec<_>>()[..]
        && command == "serve"
    {
        println!("printed too early to be caught");
        return acp_stdio_with(Arc::new(Noisy), Options::new(state));
    }
    prints_go_to_stderr();
    println!("prints_go_to_stderr ... ok");
    Ok(())
}

fn prints_go_to_stderr() {
    let state = tempfile::tempdir().unwrap();
    let mut itself = Command::new(std::env::current_exe().unwrap());
    let mut agent = client::Agent::start(itself.arg("serve").arg(state.path()));
    assert_eq!(agent.line(), "printed too early to be caught");
    let session = agent.open(state.path());
    let id = agent.prompt(&session, "make some noise");
    assert_eq!(agent.answer(id)["result"]["stopReason"], "end_turn");
    assert_eq!(agent.said(), "said");
    let (status, stdout, stderr) = agent.end();
    assert!(status.success(), "{status}");
    let messages = stdout.iter().filter(|line| !line.starts_with('{'));
    assert_eq!(messages.count(), 0, "{stdout:?}");
    for printed in ["printed by the agent", "printed by a child"] {
        assert!(stderr.iter().any(|line| line == printed), "{stderr:?}");
    }
}
