//! The skills of all layers, each id once, and the skills that they shadow.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use harn_model::McpServerSpec;

use super::{
    card::{Skill, SkillLayer, SkillOrigin},
    manifest::ManifestOrigin,
    problem::SkillProblem,
};

/// The skills of a workspace or a session at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillRegistry {
    skills: Vec<Arc<Skill>>,
    shadowed: Vec<ShadowedSkill>,
    problems: Vec<SkillProblem>,
    servers: Vec<McpServerSpec>,
}

/// A skill that another one with the same id shadows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShadowedSkill {
    /// The id of both.
    pub id: String,
    /// The layer of the skill in use.
    pub winner: SkillLayer,
    /// The layer of this skill.
    pub loser: SkillLayer,
    /// The location of this skill.
    pub origin: SkillOrigin,
}

impl SkillRegistry {
    /// Builds a registry from skills in order of precedence: of two with one id, the first wins.
    pub(super) fn assemble(
        skills: impl IntoIterator<Item = Arc<Skill>>,
        problems: Vec<SkillProblem>,
    ) -> Self {
        let mut winners: Vec<Arc<Skill>> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut shadowed = Vec::new();
        for skill in skills {
            match places.get(&skill.id) {
                None => {
                    places.insert(skill.id.clone(), winners.len());
                    winners.push(skill);
                }
                // The same folder, named twice, shadows nothing.
                Some(at) if winners[*at].origin == skill.origin => {}
                Some(at) => shadowed.push(ShadowedSkill {
                    id: skill.id.clone(),
                    winner: winners[*at].layer,
                    loser: skill.layer,
                    origin: skill.origin.clone(),
                }),
            }
        }
        winners.sort_by(|a, b| a.id.cmp(&b.id));
        // Shadowed skills with one id stay in order of precedence.
        shadowed.sort_by(|a: &ShadowedSkill, b| a.id.cmp(&b.id));
        Self {
            skills: winners,
            shadowed,
            problems,
            servers: Vec::new(),
        }
    }

    /// Returns the skills in use, by id.
    pub fn skills(&self) -> &[Arc<Skill>] {
        &self.skills
    }

    /// Returns the shadowed skills, by id.
    pub fn shadowed(&self) -> &[ShadowedSkill] {
        &self.shadowed
    }

    /// Returns the problems of the skills and manifests.
    pub fn problems(&self) -> &[SkillProblem] {
        &self.problems
    }

    /// Returns the MCP servers in the workspace's manifest, by name. Connect them only if the workspace is trusted.
    pub fn servers(&self) -> &[McpServerSpec] {
        &self.servers
    }

    /// Returns the skill with this id.
    pub fn get(&self, id: &str) -> Option<&Arc<Skill>> {
        let at = self.skills.binary_search_by(|skill| (*skill.id).cmp(id));
        at.ok().map(|at| &self.skills[at])
    }

    /// Finds a skill by its id, its slash command, or its name if only one has it.
    pub fn find(&self, words: &str) -> Option<&Arc<Skill>> {
        let by_id = self
            .get(words)
            .or_else(|| self.get(&words.replace(':', "/")));
        by_id.or_else(|| {
            let mut named = self.skills.iter().filter(|skill| skill.card.name == words);
            let first = named.next()?;
            named.next().is_none().then_some(first)
        })
    }

    /// Returns the display name of a skill: its name if that identifies it, else its id.
    pub fn display_name<'a>(&'a self, id: &'a str) -> &'a str {
        let name = self.get(id).map(|skill| &*skill.card.name);
        let leads_back = |name: &&str| self.find(name).is_some_and(|found| found.id == id);
        name.filter(leads_back).unwrap_or(id)
    }
}

/// The result of a pass over the disk, without the skills of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DiskSkills {
    /// In the order of the walk.
    pub(super) skills: Vec<Arc<Skill>>,
    pub(super) problems: Vec<SkillProblem>,
    /// Layers in order of precedence.
    pub(super) order: Vec<SkillLayer>,
    pub(super) root: PathBuf,
    /// The servers of the manifest.
    pub(super) servers: Vec<McpServerSpec>,
    /// The file of the manifest, if there is one.
    pub(super) manifest: Option<ManifestOrigin>,
}

impl DiskSkills {
    /// Builds the registry, with the host's skills in their layer.
    pub(super) fn build_registry(
        &self,
        host: &[Arc<Skill>],
        problems: &[SkillProblem],
    ) -> SkillRegistry {
        let rank = |layer: SkillLayer| self.order.iter().position(|other| *other == layer);
        let mut all: Vec<_> = self.skills.iter().chain(host).cloned().collect();
        all.retain(|skill| rank(skill.layer).is_some());
        // Stable: within a layer the order is that of the walk.
        all.sort_by_key(|skill| rank(skill.layer));
        let problems = self.problems.iter().chain(problems).cloned().collect();
        SkillRegistry {
            servers: self.servers.clone(),
            ..SkillRegistry::assemble(all, problems)
        }
    }
}
