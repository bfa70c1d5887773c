//! What a skill does beside being read: commands when it comes and goes, and servers while it is there. A workspace's
//! skills do neither until somebody trusts the workspace.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use harn_model::{ErrorCategory, McpServerSpec, ToolContent};
use harn_runtime::{
    AgentError, BoxFuture, CommandExit, CommandSink, CommandSpec, ToolHandle, ToolOutput,
    TurnContext,
};
use serde_json::Value;

use super::{SessionSkills, warn};
use crate::{
    builtin::{BuiltinTool, built_in, unless_cancelled},
    skills::card::Skill,
};

const LOGGER: &str = "agent.skills";
const ACTIVATE: &str = "activate";
const DEACTIVATE: &str = "deactivate";
/// How much of a hook's output is kept.
const KEPT: usize = 8 * 1024;
/// How long a hook may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Says whether the workspace of a session is trusted now. May look at the disk; asked once a turn.
pub type SkillTrust = Arc<dyn Fn() -> bool + Send + Sync>;

/// Connects the servers that skills bring.
pub trait SkillServers: Send + Sync + 'static {
    /// A skill is active and has these. Those of others, and of the client, stay as they are.
    fn bind(&self, skill: &str, servers: Vec<McpServerSpec>);

    /// It is no longer active.
    fn unbind(&self, skill: &str);
}

impl SessionSkills {
    /// Whether a skill may do more than be read.
    pub(super) fn is_trusted(&self, skill: &Skill) -> bool {
        !skill.layer.is_the_workspaces() || self.trusted.load(Ordering::Relaxed)
    }

    /// A skill became active.
    pub(super) async fn joined(&self, cx: &TurnContext, skill: &Skill) -> Result<(), AgentError> {
        self.bind(cx, skill).await?;
        self.run_hooks(cx, skill, ACTIVATE).await
    }

    /// A skill is no longer active.
    pub(super) async fn left(&self, cx: &TurnContext, skill: &Skill) -> Result<(), AgentError> {
        self.unbind(skill);
        self.run_hooks(cx, skill, DEACTIVATE).await
    }

    /// Has a skill's servers connected, if it has any.
    pub(super) async fn bind(&self, cx: &TurnContext, skill: &Skill) -> Result<(), AgentError> {
        let servers = &skill.card.mcp_servers;
        if servers.is_empty() {
            return Ok(());
        }
        if !self.is_trusted(skill) {
            let names: Vec<_> = servers.iter().map(|server| server.name.as_str()).collect();
            let what = format!("its MCP servers ({}) are not connected", names.join(", "));
            return untrusted(cx, skill, &what).await;
        }
        self.config.servers.bind(&skill.id, servers.clone());
        Ok(())
    }

    pub(super) fn unbind(&self, skill: &Skill) {
        if !skill.card.mcp_servers.is_empty() {
            self.config.servers.unbind(&skill.id);
        }
    }

    /// Runs what a skill wants run when something happens. What is refused or fails is told, and changes nothing.
    fn run_hooks<'a>(
        &'a self,
        cx: &'a TurnContext,
        skill: &'a Skill,
        event: &'a str,
    ) -> BoxFuture<'a, Result<(), AgentError>> {
        Box::pin(async move {
            let hooks = skill.card.hooks.iter().filter(|hook| hook.event == event);
            for hook in hooks {
                if !self.is_trusted(skill) {
                    return untrusted(cx, skill, &format!("its {event} hook is not run")).await;
                }
                let line = self.line(skill, &hook.command);
                let title = format!("{} ({event} hook): {}", skill.id, hook.command);
                let call = built_in(cx, BuiltinTool::RunCommand).title(title);
                match call.command(&line).ask().await {
                    Ok(call) => run(cx, call).await?,
                    // The call says why.
                    Err(AgentError::Denied { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        })
    }

    /// A hook's line with what it may refer to, said in the shell's own way so that quoting holds.
    fn line(&self, skill: &Skill, command: &str) -> String {
        let folder = skill.folder().map(|folder| folder.display().to_string());
        let known = [
            ("HARN_SKILL_DIR", folder),
            ("HARN_SESSION_ID", Some(self.config.session.to_string())),
        ];
        let mut line = String::new();
        for (name, value) in known {
            if let Some(value) = value
                && command.contains(name)
            {
                let value = value.replace('\'', "'\\''");
                line.push_str(&format!("{name}='{value}'; "));
            }
        }
        line + command
    }
}

async fn untrusted(cx: &TurnContext, skill: &Skill, what: &str) -> Result<(), AgentError> {
    let message = format!(
        "the skill {} comes with the workspace, which is not trusted, so {what}; \
         `harn-serve trust` trusts it",
        skill.id
    );
    warn(cx, LOGGER, message).await
}

/// Runs the command of a call that may run, to its end.
async fn run(cx: &TurnContext, call: ToolHandle) -> Result<(), AgentError> {
    // Whoever was asked may have put another command in its place.
    let Some(line) = call.input().get("command").and_then(Value::as_str) else {
        let wrong = "the arguments have no command";
        return call.fail(wrong, ErrorCategory::ToolError).await;
    };
    let spec = CommandSpec::shell(line, cx.cwd(), KEPT);
    let mut unheard = SilentSink;
    let run = tokio::time::timeout(PATIENCE, call.host().run(spec, &mut unheard));
    let (error, category, output) = match unless_cancelled(cx, run).await? {
        Ok(Ok(exit)) if exit.code == Some(0) => return call.complete(output(exit)).await,
        Ok(Ok(exit)) => {
            let error = match (&exit.code, &exit.signal) {
                (Some(code), _) => format!("the hook failed: exit code {code}"),
                (None, Some(signal)) => format!("the hook was ended by {signal}"),
                (None, None) => "the hook failed".to_owned(),
            };
            (error, ErrorCategory::ToolError, output(exit))
        }
        Ok(Err(error)) => {
            let nothing = ToolOutput::default();
            (error.to_string(), ErrorCategory::ToolError, nothing)
        }
        Err(_) => {
            let error = format!("the hook took longer than {} seconds", PATIENCE.as_secs());
            (error, ErrorCategory::Timeout, ToolOutput::default())
        }
    };
    call.fail_with(&error, category, output).await
}

fn output(exit: CommandExit) -> ToolOutput {
    ToolOutput {
        content: Some(vec![ToolContent::text(exit.output)]),
        ..ToolOutput::default()
    }
}

/// What a hook prints is shown when it is over.
struct SilentSink;

impl CommandSink for SilentSink {
    fn terminal(&mut self, _: &str) {}

    fn output(&mut self, _: &str) {}
}
