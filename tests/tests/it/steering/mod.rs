//! Steers and stops the binary: accepted messages survive a kill and are delivered once, and no process that it
//! started survives a cancel.

// Reads `/proc`.
#[cfg(target_os = "linux")]
mod groups;
mod killed;

use crate::support_stress::Process;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder with a scenario, where agents are started one after another.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
}

impl Place {
    pub(crate) fn new(turns: &Value) -> Result<Self> {
        let folder = TempDir::with_prefix("harn-steering-")?;
        let scenario = json!({"name": "steered", "turns": turns}).to_string();
        std::fs::write(folder.path().join("steered.json"), scenario)?;
        Ok(Self { folder })
    }

    pub(crate) fn state_dir(&self) -> std::path::PathBuf {
        self.folder.path().join("state")
    }

    pub(crate) async fn start(&self) -> Result<Process> {
        let scenario = self.folder.path().join("steered.json");
        Process::start(&scenario, &self.state_dir()).await
    }

    pub(crate) async fn create(&self, agent: &mut Process) -> Result<String> {
        let new = json!({"cwd": self.folder.path(), "mcpServers": []});
        let (_, made) = agent.request("session/new", new).await?;
        let id = made["sessionId"].as_str().context("no session id")?;
        Ok(id.to_owned())
    }

    pub(crate) async fn load(&self, agent: &mut Process, session: &str) -> Result<()> {
        let load = json!({"sessionId": session, "cwd": self.folder.path(), "mcpServers": []});
        agent.request("session/load", load).await?;
        Ok(())
    }
}

pub(crate) fn prompt(session: &str, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}

/// Reads up to the first line that `wanted` accepts and returns it.
pub(crate) async fn read_until(
    agent: &mut Process,
    wanted: impl Fn(&Value) -> bool,
) -> Result<Value> {
    loop {
        let message = agent.next_message().await?;
        if wanted(&message) {
            return Ok(message);
        }
    }
}

pub(crate) fn is_text(text: &str) -> impl Fn(&Value) -> bool {
    let text = text.to_owned();
    move |message| {
        let update = &message["params"]["update"];
        update["sessionUpdate"] == "agent_message_chunk" && update["content"]["text"] == *text
    }
}

/// Returns a predicate for lines that deliver the user's message with this id.
pub(crate) fn is_delivery_of(id: &str) -> impl Fn(&Value) -> bool {
    let id = id.to_owned();
    move |message| {
        let update = &message["params"]["update"];
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        kind.starts_with("user_message") && update["messageId"] == *id
    }
}

/// Sends a message to the agent; returns the lines before the response, and the id of the message.
pub(crate) async fn inject(
    agent: &mut Process,
    session: &str,
    mode: &str,
    text: &str,
) -> Result<(Vec<Value>, String)> {
    let params = json!({"sessionId": session, "mode": mode, "content": text});
    let (before, accepted) = agent.request("session/inject", params).await?;
    ensure!(accepted["status"] == "accepted", "{accepted}");
    let id = accepted["messageId"].as_str().context("no message id")?;
    Ok((before, id.to_owned()))
}
