//! The active skills in order of activation, and the tools that they allow.

use std::sync::Arc;

use harn_model::{AgentEvent, ToolSource, ToolSpec};
use harn_runtime::{AgentError, TurnContext};

use super::{SessionSkills, loading::LOAD_SKILL, lock};
use crate::skills::{
    card::{ANY_TOOL, Skill, SkillLayer},
    error::SkillError,
};

/// The tool that searches for tools.
pub const TOOL_SEARCH: &str = "__harn_tool_search";

/// The reason why a skill is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ActivationCause {
    /// It matches the work, and may be deactivated when it no longer does.
    Matched,
    /// A person or a model asked for it; it stays until it is deactivated.
    Wanted,
}

/// The active skills of a session, in order of activation.
#[derive(Default)]
pub(super) struct ActiveSet(Vec<ActiveSkill>);

struct ActiveSkill {
    skill: Arc<Skill>,
    cause: ActivationCause,
    /// The name at activation, which later events use too.
    name: String,
}

impl ActiveSet {
    /// Adds a skill under a name; returns whether it was inactive.
    pub(super) fn insert(
        &mut self,
        skill: Arc<Skill>,
        cause: ActivationCause,
        name: String,
    ) -> bool {
        match self.0.iter_mut().find(|it| it.skill.id == skill.id) {
            Some(active) => {
                active.skill = skill;
                if cause == ActivationCause::Wanted {
                    active.cause = cause;
                }
                false
            }
            None => {
                self.0.push(ActiveSkill { skill, cause, name });
                true
            }
        }
    }

    fn remove(&mut self, id: &str) -> Option<ActiveSkill> {
        let at = self.0.iter().position(|it| it.skill.id == id)?;
        Some(self.0.remove(at))
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.skills().any(|skill| skill.id == id)
    }

    pub(super) fn skills(&self) -> impl Iterator<Item = &Arc<Skill>> {
        self.0.iter().map(|it| &it.skill)
    }

    /// Returns the skills that may be deactivated because others match better.
    pub(super) fn matched_skills(&self) -> impl Iterator<Item = &Arc<Skill>> {
        let matched = self
            .0
            .iter()
            .filter(|it| it.cause == ActivationCause::Matched);
        matched.map(|it| &it.skill)
    }

    pub(super) fn clear(&mut self) -> Vec<Arc<Skill>> {
        self.0.drain(..).map(|it| it.skill).collect()
    }

    /// Returns the name of an active skill, and its id if they differ.
    fn name_and_id(&self, id: &str) -> (String, Option<String>) {
        let active = self.0.iter().find(|it| it.skill.id == id);
        name_and_id(active.map_or(id, |it| &it.name), id)
    }

    /// Returns the entries of `allowed_tools` that apply; an empty list allows everything.
    fn allowed_entries(&self) -> Vec<&str> {
        let entries = self.skills().flat_map(|skill| &skill.card.allowed_tools);
        let entries: Vec<_> = entries.map(String::as_str).collect();
        match entries.contains(&ANY_TOOL) {
            true => Vec::new(),
            false => entries,
        }
    }
}

impl SessionSkills {
    /// Returns the active skills, in order of activation.
    pub fn active(&self) -> Vec<Arc<Skill>> {
        lock(&self.state).active.skills().cloned().collect()
    }

    /// Whether the active skills allow a tool. If they name no tools, all are allowed.
    pub fn allows(&self, tool: &ToolSpec) -> bool {
        if [LOAD_SKILL, TOOL_SEARCH].contains(&tool.name.as_str()) {
            return true;
        }
        let state = lock(&self.state);
        let scope = state.active.allowed_entries();
        scope.is_empty() || scope.iter().any(|entry| entry_names_tool(entry, tool))
    }

    /// Activates a skill on request, with a reason. An active skill stays active.
    pub async fn activate(
        &self,
        cx: &TurnContext,
        id: &str,
        reason: &str,
    ) -> Result<(), SkillError> {
        self.check_own(cx)?;
        let skill = self.find_skill(id)?;
        let (skill, _) = self.fetch_whole(cx, &skill).await?;
        lock(&self.state).dismissed.remove(&skill.id);
        self.make_active(cx, skill, ActivationCause::Wanted, reason)
            .await?;
        Ok(())
    }

    /// Deactivates a skill; only a request activates it again.
    pub async fn deactivate(&self, cx: &TurnContext, id: &str) -> Result<(), SkillError> {
        self.check_own(cx)?;
        let skill = self.find_skill(id)?;
        lock(&self.state).dismissed.insert(skill.id.clone());
        match self.make_inactive(cx, &skill.id).await? {
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

    /// Activates a skill and emits the events, unless it is active.
    pub(super) async fn make_active(
        &self,
        cx: &TurnContext,
        skill: Arc<Skill>,
        cause: ActivationCause,
        reason: &str,
    ) -> Result<(), AgentError> {
        let name = self.registry().display_name(&skill.id).to_owned();
        let (skill_name, skill_id) = name_and_id(&name, &skill.id);
        if !lock(&self.state).active.insert(skill.clone(), cause, name) {
            return Ok(());
        }
        cx.emit(AgentEvent::SkillActivated {
            skill_name,
            skill_id,
            iteration: cx.iteration(),
            reason: reason.to_owned(),
        })
        .await?;
        if skill.restricts_tools() {
            self.emit_scope(cx, &skill).await?;
        }
        self.on_activated(cx, &skill).await
    }

    /// Deactivates a skill and emits the event; returns whether it was active.
    pub(super) async fn make_inactive(
        &self,
        cx: &TurnContext,
        id: &str,
    ) -> Result<bool, AgentError> {
        let Some(ActiveSkill { skill, name, .. }) = lock(&self.state).active.remove(id) else {
            return Ok(false);
        };
        emit_deactivated(cx, &name, id).await?;
        self.on_deactivated(cx, &skill).await?;
        Ok(true)
    }

    /// Restores the skills that, by the journal, were active when the session was closed.
    pub(super) async fn restore_active(&self, cx: &TurnContext) -> Result<(), AgentError> {
        if std::mem::replace(&mut lock(&self.state).adopted, true) {
            return Ok(());
        }
        for (id, name) in cx.active_skills() {
            let known = lock(&self.state).registry.get(&id).cloned();
            let Some(mut skill) = known else {
                emit_deactivated(cx, &name, &id).await?;
                continue;
            };
            match self.fetch_whole(cx, &skill).await {
                Ok((whole, _)) => skill = whole,
                Err(SkillError::Turn(error)) => return Err(error),
                // Use the card from the host's list.
                Err(_) => {}
            }
            lock(&self.state)
                .active
                .insert(skill.clone(), ActivationCause::Wanted, name);
            self.bind(cx, &skill).await?;
        }
        Ok(())
    }

    /// Deactivates skills that no longer exist, and applies changes to the cards of the others.
    pub(super) async fn deactivate_gone(&self, cx: &TurnContext) -> Result<(), AgentError> {
        let mut gone = Vec::new();
        let mut changed = Vec::new();
        {
            let mut state = lock(&self.state);
            let registry = state.registry.clone();
            for ActiveSkill { skill, .. } in &mut state.active.0 {
                match registry.get(&skill.id) {
                    None => gone.push(skill.id.clone()),
                    // The host's list has less than the fetched card, so the latter stays.
                    Some(now) if now.layer == SkillLayer::Host || now == skill => {}
                    Some(now) => {
                        let before = std::mem::replace(skill, now.clone());
                        changed.push((before, now.clone()));
                    }
                }
            }
        }
        for id in gone {
            self.make_inactive(cx, &id).await?;
        }
        for (before, now) in changed {
            // Trust applies to the content of a file, so a change may end it.
            let is_other = now.layer.is_from_workspace() && before.hash != now.hash;
            let servers_changed = before.card.mcp_servers != now.card.mcp_servers;
            if servers_changed || before.layer != now.layer || is_other {
                self.unbind(&before);
                self.bind(cx, &now).await?;
            }
            if before.card.allowed_tools != now.card.allowed_tools && now.restricts_tools() {
                self.emit_scope(cx, &now).await?;
            }
        }
        Ok(())
    }

    async fn emit_scope(&self, cx: &TurnContext, skill: &Skill) -> Result<(), AgentError> {
        let (skill_name, skill_id) = lock(&self.state).active.name_and_id(&skill.id);
        cx.emit(AgentEvent::SkillScopeTools {
            skill_name,
            skill_id,
            allowed_tools: skill.card.allowed_tools.clone(),
        })
        .await
    }
}

async fn emit_deactivated(cx: &TurnContext, name: &str, id: &str) -> Result<(), AgentError> {
    let (skill_name, skill_id) = name_and_id(name, id);
    cx.emit(AgentEvent::SkillDeactivated {
        skill_name,
        skill_id,
        iteration: cx.iteration(),
    })
    .await
}

/// Returns a skill's name for events, and its id if they differ.
fn name_and_id(name: &str, id: &str) -> (String, Option<String>) {
    (name.to_owned(), (name != id).then(|| id.to_owned()))
}

/// Whether an entry of `allowed_tools` names a tool, exactly or by a tag.
fn entry_names_tool(entry: &str, tool: &ToolSpec) -> bool {
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
