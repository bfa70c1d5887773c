//! Loads the text of a skill for a model or a person, with its placeholders filled in.

use std::{collections::BTreeMap, sync::Arc};

use harn_model::{SideEffectLevel, ToolAnnotations, ToolKind, ToolSource, ToolSpec};
use harn_runtime::{AgentError, BoxFuture, TurnContext};
use serde_json::json;

use super::{SessionSkills, active::ActivationCause, lock};
use crate::skills::{
    card::Skill,
    error::SkillError,
    substitute::{PlaceholderValues, substitute},
};

/// The tool with which a model loads a skill's text.
pub const LOAD_SKILL: &str = "load_skill";

impl SessionSkills {
    /// Returns the tool with which a model loads a skill's text.
    pub fn load_skill_spec() -> ToolSpec {
        ToolSpec {
            name: LOAD_SKILL.to_owned(),
            description: "Loads the instructions of a skill, and makes it active.".to_owned(),
            schema: Some(json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "The skill's id."},
                    "arguments": {"type": "string", "description": "The arguments of the skill, if its instructions require any."},
                },
                "required": ["name"],
                "additionalProperties": false,
            })),
            annotations: Some(ToolAnnotations {
                kind: ToolKind::Read,
                side_effect_level: SideEffectLevel::ReadOnly,
                ..ToolAnnotations::default()
            }),
            source: ToolSource::Builtin,
            deprecated: false,
        }
    }

    /// Loads a skill's text for a model, unless the skill is for people only. Activates the skill, except in a worker.
    pub fn load_skill<'a>(
        &'a self,
        cx: &'a TurnContext,
        name: &'a str,
        arguments: &'a str,
    ) -> BoxFuture<'a, Result<String, SkillError>> {
        Box::pin(async move {
            let skill = self.find_skill(name)?;
            self.check_for_models(&skill)?;
            let loaded = self.load_text(cx, &skill).await?;
            let skill = loaded.skill.clone();
            // The full card of a host's skill is known only now.
            self.check_for_models(&skill)?;
            let text = self.fill_placeholders(cx, &loaded, arguments);
            if self.is_own(cx) {
                lock(&self.state).dismissed.remove(&skill.id);
                self.make_active(cx, skill, ActivationCause::Wanted, "loaded by the model")
                    .await?;
            }
            Ok(text)
        })
    }

    /// Loads a skill's text for a person who typed its slash command, given without the slash. Activates the skill.
    pub fn invoke<'a>(
        &'a self,
        cx: &'a TurnContext,
        command: &'a str,
        arguments: &'a str,
    ) -> BoxFuture<'a, Result<String, SkillError>> {
        Box::pin(async move {
            self.check_own(cx)?;
            let skill = self.find_skill(command)?;
            let loaded = self.load_text(cx, &skill).await?;
            let skill = loaded.skill.clone();
            if !skill.card.user_invocable {
                return Err(SkillError::NotForUsers(skill.id.clone()));
            }
            let text = self.fill_placeholders(cx, &loaded, arguments);
            lock(&self.state).dismissed.remove(&skill.id);
            let reason = format!("the user typed /{command}");
            self.make_active(cx, skill, ActivationCause::Wanted, &reason)
                .await?;
            Ok(text)
        })
    }

    /// Finds a skill by its id, slash command or name.
    pub(super) fn find_skill(&self, words: &str) -> Result<Arc<Skill>, SkillError> {
        let registry = self.registry();
        registry.find(words).cloned().ok_or_else(|| {
            let skills = registry.skills().iter();
            SkillError::Unknown {
                id: words.to_owned(),
                names: skills.map(|skill| skill.id.clone()).collect(),
            }
        })
    }

    fn check_for_models(&self, skill: &Skill) -> Result<(), SkillError> {
        match skill.card.disable_model_invocation {
            true => Err(SkillError::NotForModels(skill.id.clone())),
            false => Ok(()),
        }
    }

    /// Returns a skill with its full card, and its text as written.
    async fn load_text(
        &self,
        cx: &TurnContext,
        skill: &Arc<Skill>,
    ) -> Result<LoadedSkill, SkillError> {
        let (skill, text) = self.fetch_whole(cx, skill).await?;
        if let Some(text) = text {
            return Ok(LoadedSkill {
                skill,
                text,
                may_see_environment: false,
            });
        }
        let (skills, trust, asked) = (
            self.config.skills.clone(),
            self.config.trust.clone(),
            skill.clone(),
        );
        let read = tokio::task::spawn_blocking(move || {
            let read = skills.text(&asked)?;
            // A workspace's text could reveal secrets of the environment.
            let may_see_environment = !asked.layer.is_from_workspace()
                || skills.check_text(&asked, read.hash, &trust()).is_ok();
            Ok::<_, SkillError>((read.body, may_see_environment))
        });
        let (text, may_see_environment) = read.await.map_err(AgentError::failed)??;
        Ok(LoadedSkill {
            skill,
            text,
            may_see_environment,
        })
    }

    fn fill_placeholders(&self, cx: &TurnContext, loaded: &LoadedSkill, arguments: &str) -> String {
        let nothing = BTreeMap::new();
        let environment = match loaded.may_see_environment {
            true => &*self.config.environment,
            false => &nothing,
        };
        let folder = loaded
            .skill
            .folder()
            .map(|folder| folder.display().to_string());
        substitute(
            &loaded.text,
            PlaceholderValues {
                arguments,
                skill_dir: folder.as_deref(),
                session_id: cx.session_id().as_str(),
                environment,
            },
        )
    }
}

/// A skill with its text.
struct LoadedSkill {
    skill: Arc<Skill>,
    text: String,
    /// Whether values of the environment may be inserted.
    may_see_environment: bool,
}
