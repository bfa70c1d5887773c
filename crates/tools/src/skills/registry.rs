//! Which skills there are: those of all layers, each id once, and what is hidden behind them.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use harn_model::McpServerSpec;

use super::{
    card::{Skill, SkillLayer, SkillOrigin},
    problem::SkillProblem,
};

/// The skills of a workspace or a session at some moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillRegistry {
    skills: Vec<Arc<Skill>>,
    shadowed: Vec<ShadowedSkill>,
    problems: Vec<SkillProblem>,
    servers: Vec<McpServerSpec>,
}

/// A skill that another one of the same id hides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShadowedSkill {
    /// The id of both.
    pub id: String,
    /// Who brought the one that counts.
    pub winner: SkillLayer,
    /// Who brought this one.
    pub loser: SkillLayer,
    /// Where this one is.
    pub origin: SkillOrigin,
}

impl SkillRegistry {
    /// Takes skills in the order they count: of two with one id, the first.
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
                // One folder may be named twice; that hides nothing.
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
        // Those of one id stay in the order they would count.
        shadowed.sort_by(|a: &ShadowedSkill, b| a.id.cmp(&b.id));
        Self {
            skills: winners,
            shadowed,
            problems,
            servers: Vec::new(),
        }
    }

    /// Those that count, by id.
    #[must_use]
    pub fn skills(&self) -> &[Arc<Skill>] {
        &self.skills
    }

    /// Those that others hide, by id.
    #[must_use]
    pub fn shadowed(&self) -> &[ShadowedSkill] {
        &self.shadowed
    }

    /// What was found wrong on the way.
    #[must_use]
    pub fn problems(&self) -> &[SkillProblem] {
        &self.problems
    }

    /// The MCP servers that the workspace's manifest names, by name. Not to be connected unless somebody trusts
    /// the workspace.
    #[must_use]
    pub fn servers(&self) -> &[McpServerSpec] {
        &self.servers
    }

    /// The skill of an id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Arc<Skill>> {
        let at = self.skills.binary_search_by(|skill| (*skill.id).cmp(id));
        at.ok().map(|at| &self.skills[at])
    }

    /// The skill that somebody means: by its id, its slash command, or its name if only one has it.
    #[must_use]
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

    /// What others call a skill: its name where that leads back to it, else its id.
    #[must_use]
    pub fn name_of<'a>(&'a self, id: &'a str) -> &'a str {
        let name = self.get(id).map(|skill| &*skill.card.name);
        let leads_back = |name: &&str| self.find(name).is_some_and(|found| found.id == id);
        name.filter(leads_back).unwrap_or(id)
    }
}

/// What a pass over the disk found, before anything from elsewhere is added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DiskSkills {
    /// As it was found, in the order of the walk.
    pub(super) skills: Vec<Arc<Skill>>,
    pub(super) problems: Vec<SkillProblem>,
    /// Layers in the order they count.
    pub(super) order: Vec<SkillLayer>,
    pub(super) root: PathBuf,
    /// Those of its manifest.
    pub(super) servers: Vec<McpServerSpec>,
}

impl DiskSkills {
    /// The same put together, with the host's skills at their place.
    pub(super) fn registry(&self, host: &[Arc<Skill>], problems: &[SkillProblem]) -> SkillRegistry {
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
