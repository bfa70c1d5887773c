//! Which skills are active, in the order they became so, and which tools that leaves in reach.

use std::sync::Arc;

use harn_model::{AgentEvent, ToolSource, ToolSpec};
use harn_runtime::{AgentError, TurnContext};

use super::{SessionSkills, lock, using::LOAD_SKILL};
use crate::skills::{
    card::{ANY_TOOL, Layer, Skill},
    error::SkillError,
};

/// The tool that finds tools.
pub const TOOL_SEARCH: &str = "__harn_tool_search";

/// Why a skill is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// It fits what is being done, and may leave when it no longer does.
    Matched,
    /// Somebody wanted it, and has to end it.
    Wanted,
}

/// The skills that are active.
#[derive(Default)]
pub(super) struct ActiveSet(Vec<(Arc<Skill>, Cause)>);

impl ActiveSet {
    /// Adds one; says whether it was not there.
    pub(super) fn insert(&mut self, skill: Arc<Skill>, cause: Cause) -> bool {
        match self.0.iter_mut().find(|(active, _)| active.id == skill.id) {
            Some((active, old)) => {
                *active = skill;
                if cause == Cause::Wanted {
                    *old = cause;
                }
                false
            }
            None => {
                self.0.push((skill, cause));
                true
            }
        }
    }

    pub(super) fn remove(&mut self, id: &str) -> Option<Arc<Skill>> {
        let at = self.0.iter().position(|(skill, _)| skill.id == id)?;
        Some(self.0.remove(at).0)
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.0.iter().any(|(skill, _)| skill.id == id)
    }

    pub(super) fn skills(&self) -> impl Iterator<Item = &Arc<Skill>> {
        self.0.iter().map(|(skill, _)| skill)
    }

    /// Those that may leave because others fit better.
    pub(super) fn matched(&self) -> impl Iterator<Item = &Arc<Skill>> {
        let matched = self.0.iter().filter(|(_, cause)| *cause == Cause::Matched);
        matched.map(|(skill, _)| skill)
    }

    pub(super) fn clear(&mut self) -> Vec<Arc<Skill>> {
        self.0.drain(..).map(|(skill, _)| skill).collect()
    }

    /// What is in reach: everything, or what one of the entries names.
    fn scope(&self) -> Vec<&str> {
        let entries = self.skills().flat_map(|skill| &skill.card.allowed_tools);
        let entries: Vec<_> = entries.map(String::as_str).collect();
        match entries.contains(&ANY_TOOL) {
            true => Vec::new(),
            false => entries,
        }
    }
}

impl SessionSkills {
    /// Those that are active, in the order they became so.
    #[must_use]
    pub fn active(&self) -> Vec<Arc<Skill>> {
        lock(&self.state).active.skills().cloned().collect()
    }

    /// Whether a tool is in reach: what the active skills name together, or everything where they name nothing.
    #[must_use]
    pub fn allows(&self, tool: &ToolSpec) -> bool {
        if [LOAD_SKILL, TOOL_SEARCH].contains(&tool.name.as_str()) {
            return true;
        }
        let state = lock(&self.state);
        let scope = state.active.scope();
        scope.is_empty() || scope.iter().any(|entry| names(entry, tool))
    }

    /// Activates a skill because somebody wants it, and says why. One that is active stays so.
    pub async fn activate(
        &self,
        cx: &TurnContext,
        id: &str,
        reason: &str,
    ) -> Result<(), SkillError> {
        self.check_own(cx)?;
        let skill = self.wanted(id)?;
        let (skill, _) = self.whole(cx, &skill).await?;
        lock(&self.state).dismissed.remove(&skill.id);
        self.join(cx, skill, Cause::Wanted, reason).await?;
        Ok(())
    }

    /// Ends a skill; only somebody who wants it activates it again.
    pub async fn deactivate(&self, cx: &TurnContext, id: &str) -> Result<(), SkillError> {
        self.check_own(cx)?;
        let skill = self.wanted(id)?;
        lock(&self.state).dismissed.insert(skill.id.clone());
        match self.leave(cx, &skill.id).await? {
            true => Ok(()),
            false => Err(SkillError::NotActive(skill.id.clone())),
        }
    }

    pub(super) fn check_own(&self, cx: &TurnContext) -> Result<(), SkillError> {
        match self.is_own(cx) {
            true => Ok(()),
            false => Err(SkillError::OfAWorker),
        }
    }

    /// Makes a skill active and tells so, unless it is.
    pub(super) async fn join(
        &self,
        cx: &TurnContext,
        skill: Arc<Skill>,
        cause: Cause,
        reason: &str,
    ) -> Result<(), AgentError> {
        if !lock(&self.state).active.insert(skill.clone(), cause) {
            return Ok(());
        }
        cx.emit(AgentEvent::SkillActivated {
            skill_name: skill.id.clone(),
            iteration: cx.iteration(),
            reason: reason.to_owned(),
        })
        .await?;
        if skill.restricts_tools() {
            self.tell_scope(cx, &skill).await?;
        }
        self.joined(cx, &skill).await
    }

    /// Makes a skill inactive and tells so; says whether it was active.
    pub(super) async fn leave(&self, cx: &TurnContext, id: &str) -> Result<bool, AgentError> {
        let Some(skill) = lock(&self.state).active.remove(id) else {
            return Ok(false);
        };
        cx.emit(AgentEvent::SkillDeactivated {
            skill_name: skill.id.clone(),
            iteration: cx.iteration(),
        })
        .await?;
        self.left(cx, &skill).await?;
        Ok(true)
    }

    /// What the journal says is active was so when the session was closed, and still is.
    pub(super) async fn adopt(&self, cx: &TurnContext) -> Result<(), AgentError> {
        let before = {
            let mut state = lock(&self.state);
            if std::mem::replace(&mut state.adopted, true) {
                return Ok(());
            }
            cx.active_skills()
        };
        for id in before {
            let known = lock(&self.state).registry.get(&id).cloned();
            let Some(mut skill) = known else {
                cx.emit(AgentEvent::SkillDeactivated {
                    skill_name: id,
                    iteration: cx.iteration(),
                })
                .await?;
                continue;
            };
            match self.whole(cx, &skill).await {
                Ok((whole, _)) => skill = whole,
                Err(SkillError::Turn(error)) => return Err(error),
                // The list's word has to do.
                Err(_) => {}
            }
            lock(&self.state)
                .active
                .insert(skill.clone(), Cause::Wanted);
            self.bind(cx, &skill).await?;
        }
        Ok(())
    }

    /// Ends those that are no longer there, and takes over what the files of others say now.
    pub(super) async fn let_go_of_gone(&self, cx: &TurnContext) -> Result<(), AgentError> {
        let mut gone = Vec::new();
        let mut changed = Vec::new();
        {
            let mut state = lock(&self.state);
            let registry = state.registry.clone();
            for (skill, _) in &mut state.active.0 {
                match registry.get(&skill.id) {
                    None => gone.push(skill.id.clone()),
                    // A list says less than what was fetched.
                    Some(now) if now.layer == Layer::Host || now == skill => {}
                    Some(now) => {
                        let before = std::mem::replace(skill, now.clone());
                        changed.push((before, now.clone()));
                    }
                }
            }
        }
        for id in gone {
            self.leave(cx, &id).await?;
        }
        for (before, now) in changed {
            if before.card.mcp_servers != now.card.mcp_servers || before.layer != now.layer {
                self.unbind(&before);
                self.bind(cx, &now).await?;
            }
            if before.card.allowed_tools != now.card.allowed_tools && now.restricts_tools() {
                self.tell_scope(cx, &now).await?;
            }
        }
        Ok(())
    }

    async fn tell_scope(&self, cx: &TurnContext, skill: &Skill) -> Result<(), AgentError> {
        cx.emit(AgentEvent::SkillScopeTools {
            skill_name: skill.id.clone(),
            allowed_tools: skill.card.allowed_tools.clone(),
        })
        .await
    }
}

/// Whether an entry of `allowed_tools` names a tool: exactly, or by a tag.
fn names(entry: &str, tool: &ToolSpec) -> bool {
    let Some(tag) = entry.strip_prefix("namespace:") else {
        return entry == tool.name;
    };
    match &tool.source {
        ToolSource::Builtin => tag == "builtin",
        ToolSource::Host => tag == "host",
        ToolSource::Mcp(server) => {
            tag == "mcp" || tag == server || tag.strip_prefix("mcp:") == Some(server)
        }
        ToolSource::Skill(_) => tag == "skill",
        ToolSource::Provider => tag == "provider",
    }
}
