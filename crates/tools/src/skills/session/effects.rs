//! The effects of active skills: hooks on activation and deactivation, and MCP servers meanwhile. A workspace's skills
//! have neither until the user trusts their files, and again after a change.

use std::{sync::Arc, time::Duration};

use harn_model::{ErrorCategory, McpServerSpec, ToolContent};
use harn_runtime::{
    AgentError, BoxFuture, CommandExit, CommandSink, CommandSpec, ToolHandle, ToolOutput,
    TurnContext,
};
use serde_json::Value;

use super::{SessionSkills, lock, warn};
use crate::{
    builtin::{BuiltinTool, builtin_call, run_unless_cancelled},
    skills::card::Skill,
    trust::{StartCheck, TrustRefusal, WorkspaceTrust},
};

const LOGGER: &str = "agent.skills";
const ACTIVATE: &str = "activate";
const DEACTIVATE: &str = "deactivate";
/// How many bytes of a hook's output are kept.
const KEPT: usize = 8 * 1024;
/// The time limit of a hook.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the files of a session's workspace that are trusted now. May read the disk.
pub type SkillTrust = Arc<dyn Fn() -> WorkspaceTrust + Send + Sync>;

/// Connects the MCP servers of skills.
pub trait SkillServers: Send + Sync + 'static {
    /// Connects the servers of an active skill, while a check passes. Servers of other skills and of the client are not
    /// affected.
    fn bind(&self, skill: &str, servers: Vec<McpServerSpec>, may_start: &StartCheck);

    /// Disconnects the servers of a skill that is no longer active.
    fn unbind(&self, skill: &str);
}

impl SessionSkills {
    /// Checks that a skill may run hooks and connect servers: the user trusts all its files as they are now.
    async fn check_trust(&self, skill: &Skill) -> Result<(), TrustRefusal> {
        if !skill.layer.is_from_workspace() {
            return Ok(());
        }
        let (skills, trust) = (self.config.skills.clone(), self.config.trust.clone());
        let skill = skill.clone();
        let checked =
            tokio::task::spawn_blocking(move || skills.check_skill(&skill, &trust())).await;
        checked.unwrap_or(Err(TrustRefusal::Untrusted))
    }

    /// Returns the check of a skill as it is when a server of it starts.
    fn skill_start_check(&self, skill: &Skill) -> StartCheck {
        let (trust, origin) = (self.config.trust.clone(), skill.origin.clone());
        let skills = Arc::downgrade(&self.config.skills);
        let is_from_workspace = skill.layer.is_from_workspace();
        Arc::new(move || {
            if !is_from_workspace {
                return Ok(());
            }
            let skills = skills.upgrade().ok_or(TrustRefusal::Untrusted)?;
            let found = skills.snapshot().found;
            let skill = found.skills.iter().find(|skill| skill.origin == origin);
            skills.check_skill(skill.ok_or(TrustRefusal::Untrusted)?, &trust())
        })
    }

    /// Connects or disconnects the servers of active skills after the trust in their files has changed.
    pub(super) async fn sync_bound_servers(&self, cx: &TurnContext) -> Result<(), AgentError> {
        let active = self.active().into_iter();
        for skill in active.filter(|skill| skill.layer.is_from_workspace()) {
            if skill.card.mcp_servers.is_empty() {
                continue;
            }
            let is_bound = lock(&self.state).bound.contains(&skill.id);
            match (is_bound, self.check_trust(&skill).await) {
                (true, Ok(())) | (false, Err(_)) => {}
                (true, Err(refusal)) => {
                    self.unbind(&skill);
                    let what = "its MCP servers are disconnected";
                    warn_refused(cx, &skill, &refusal, what).await?;
                }
                (false, Ok(())) => self.bind(cx, &skill).await?,
            }
        }
        Ok(())
    }

    /// Connects the servers of an activated skill and runs its hooks.
    pub(super) async fn on_activated(
        &self,
        cx: &TurnContext,
        skill: &Skill,
    ) -> Result<(), AgentError> {
        self.bind(cx, skill).await?;
        self.run_hooks(cx, skill, ACTIVATE).await
    }

    /// Disconnects the servers of a deactivated skill and runs its hooks.
    pub(super) async fn on_deactivated(
        &self,
        cx: &TurnContext,
        skill: &Skill,
    ) -> Result<(), AgentError> {
        self.unbind(skill);
        self.run_hooks(cx, skill, DEACTIVATE).await
    }

    /// Connects the servers of a skill, if it has any and is trusted.
    pub(super) async fn bind(&self, cx: &TurnContext, skill: &Skill) -> Result<(), AgentError> {
        let servers = &skill.card.mcp_servers;
        if servers.is_empty() {
            return Ok(());
        }
        if let Err(refusal) = self.check_trust(skill).await {
            let names: Vec<_> = servers.iter().map(|server| server.name.as_str()).collect();
            let what = format!("its MCP servers ({}) are not connected", names.join(", "));
            return warn_refused(cx, skill, &refusal, &what).await;
        }
        lock(&self.state).bound.insert(skill.id.clone());
        let may_start = self.skill_start_check(skill);
        self.config
            .servers
            .bind(&skill.id, servers.clone(), &may_start);
        Ok(())
    }

    pub(super) fn unbind(&self, skill: &Skill) {
        if !skill.card.mcp_servers.is_empty() {
            lock(&self.state).bound.remove(&skill.id);
            self.config.servers.unbind(&skill.id);
        }
    }

    /// Runs the hooks of a skill for an event. A denied or failed hook is reported and has no other effect.
    fn run_hooks<'a>(
        &'a self,
        cx: &'a TurnContext,
        skill: &'a Skill,
        event: &'a str,
    ) -> BoxFuture<'a, Result<(), AgentError>> {
        Box::pin(async move {
            let hooks = skill.card.hooks.iter().filter(|hook| hook.event == event);
            for hook in hooks {
                if let Err(refusal) = self.check_trust(skill).await {
                    let what = format!("its {event} hook is not run");
                    return warn_refused(cx, skill, &refusal, &what).await;
                }
                let line = self.hook_command_line(skill, &hook.command);
                let title = format!("{} ({event} hook): {}", skill.id, hook.command);
                let call = builtin_call(cx, BuiltinTool::RunCommand).title(title);
                match call.command(&line).ask().await {
                    Ok(call) => run(cx, call).await?,
                    // The call reports the reason.
                    Err(AgentError::Denied { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        })
    }

    /// Prefixes a hook's command with assignments of the variables it uses, so that the shell's own quoting applies.
    fn hook_command_line(&self, skill: &Skill, command: &str) -> String {
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

async fn warn_refused(
    cx: &TurnContext,
    skill: &Skill,
    refusal: &TrustRefusal,
    what: &str,
) -> Result<(), AgentError> {
    let (id, remedy) = (&skill.id, refusal.remedy());
    let why = match refusal {
        TrustRefusal::Untrusted => {
            format!("the skill {id} comes with the workspace, which is not trusted")
        }
        TrustRefusal::New(_) | TrustRefusal::Changed(_) | TrustRefusal::Unreadable { .. } => {
            format!("the skill {id}: {refusal}")
        }
    };
    warn(cx, LOGGER, format!("{why}, so {what}; {remedy}")).await
}

/// Runs the command of an allowed call to its end.
async fn run(cx: &TurnContext, call: ToolHandle) -> Result<(), AgentError> {
    // The person who approved the call may have changed the command.
    let Some(line) = call.input().get("command").and_then(Value::as_str) else {
        let wrong = "the arguments have no command";
        return call.fail(wrong, ErrorCategory::ToolError).await;
    };
    let spec = CommandSpec::shell(line, cx.cwd(), KEPT);
    let mut unheard = SilentSink;
    let run = tokio::time::timeout(PATIENCE, call.host().run(spec, &mut unheard));
    let (error, category, output) = match run_unless_cancelled(cx, run).await? {
        Ok(Ok(exit)) if exit.code == Some(0) => return call.complete(tool_output(exit)).await,
        Ok(Ok(exit)) => {
            let error = match (&exit.code, &exit.signal) {
                (Some(code), _) => format!("the hook failed: exit code {code}"),
                (None, Some(signal)) => format!("the hook was ended by {signal}"),
                (None, None) => "the hook failed".to_owned(),
            };
            (error, ErrorCategory::ToolError, tool_output(exit))
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

fn tool_output(exit: CommandExit) -> ToolOutput {
    ToolOutput {
        content: Some(vec![ToolContent::text(exit.output)]),
        ..ToolOutput::default()
    }
}

/// Ignores live output: a hook's output is shown when it ends.
struct SilentSink;

impl CommandSink for SilentSink {
    fn on_terminal(&mut self, _: &str) {}

    fn on_output(&mut self, _: &str) {}
}
