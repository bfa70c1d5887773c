//! Skills as slash commands in the menus of all clients.

use std::sync::Arc;

use async_trait::async_trait;
use harn_model::{CommandInput, ContentBlock, SlashCommand, StopReason};
use harn_runtime::{Agent, AgentError, AgentProfile, TurnContext};

use super::SessionSkills;
use crate::{
    markdown::code,
    skills::{
        card::{Skill, check_id},
        error::SkillError,
        registry::SkillRegistry,
    },
};

/// Returns a command for each skill that people may use.
pub(super) fn commands(registry: &SkillRegistry) -> Vec<SlashCommand> {
    let skills = registry.skills().iter();
    let skills = skills.filter(|skill| skill.card.user_invocable);
    let command = |skill: &Arc<Skill>| SlashCommand {
        name: skill.command(),
        description: match skill.card.short.is_empty() {
            true => format!("The skill {}", skill.id),
            false => skill.card.short.clone(),
        },
        input: (skill.card.argument_hint.clone()).map(|hint| CommandInput { hint }),
    };
    skills.map(command).collect()
}

/// Returns the name and the arguments if a prompt is a slash command.
pub(super) fn parse_command(prompt: &[ContentBlock]) -> Option<(&str, &str)> {
    let Some(ContentBlock::Text { text }) = prompt.first() else {
        return None;
    };
    let line = text.trim_start().strip_prefix('/')?;
    let end = line.find(char::is_whitespace).unwrap_or(line.len());
    Some((&line[..end], line[end..].trim()))
}

impl SessionSkills {
    /// Returns an agent for a prompt that may be the slash command of a skill: if it is one, `agent` receives the
    /// skill's text instead of the prompt. This is decided when the turn begins, because the skill may be added or
    /// found until then.
    ///
    /// A runtime calls no boundary before this agent. It calls the boundary of the skills itself; a caller with other
    /// equipment calls that equipment's boundary.
    pub fn agent_for_command(
        self: &Arc<Self>,
        prompt: &[ContentBlock],
        agent: &Arc<dyn Agent>,
    ) -> Option<Arc<dyn Agent>> {
        let (name, _) = parse_command(prompt)?;
        check_id(&name.replace(':', "/")).ok()?;
        Some(Arc::new(SkillCommand {
            skills: self.clone(),
            agent: agent.clone(),
        }))
    }

    pub(super) fn is_command(&self, name: &str) -> bool {
        let registry = self.registry();
        let mut skills = registry.skills().iter();
        skills.any(|skill| skill.card.user_invocable && skill.command() == name)
    }
}

struct SkillCommand {
    skills: Arc<SessionSkills>,
    agent: Arc<dyn Agent>,
}

#[async_trait]
impl Agent for SkillCommand {
    fn profile(&self) -> AgentProfile {
        self.agent.profile()
    }

    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        self.skills.handle_boundary(cx).await?;
        let command = parse_command(cx.prompt()).filter(|(name, _)| self.skills.is_command(name));
        let Some((name, arguments)) = command else {
            return self.agent.turn(cx).await;
        };
        let text = match self.skills.invoke(cx, name, arguments).await {
            Ok(text) => text,
            Err(SkillError::Turn(error)) => return Err(error),
            Err(error) => {
                cx.say(format!("The skill was not used: {error}.")).await?;
                return Ok(StopReason::EndTurn);
            }
        };
        if !self.agent.profile().follows_instructions {
            let shown = code(name);
            cx.say(format!(
                "The skill {shown} is active. Its instructions for an agent are:\n\n{text}"
            ))
            .await?;
            return Ok(StopReason::EndTurn);
        }
        // Attachments of the command stay in the prompt.
        let attached = cx.prompt().iter().skip(1).cloned();
        let prompt = std::iter::once(ContentBlock::text(text)).chain(attached);
        let mut cx = cx.with_prompt(prompt.collect());
        self.agent.turn(&mut cx).await
    }
}
